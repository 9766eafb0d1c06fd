// Package fastpath answers the plainest requests at the least cost: a GET for a short path over
// HTTP/1.1, without a body and without anything that asks for more of the protocol. Every other
// connection goes to net/http, with all that it has sent so far and for as long as it lasts.
//
// A visit of a short link takes a few microseconds to decide and rests until its click is durable.
// net/http spends several times that on what such a request never needs: watching for clients that
// leave, bodies, trailers, chunks, hijacking.
//
// A handler that is called from here knows nothing of clients that leave: its request has no
// context that ends. What it writes is collected and sent when it returns, with Date,
// Content-Length and Connection of the fast path's own; it sets the Content-Type, takes no status
// below 200, and can neither flush nor hijack. Connections are plain TCP.
//
// What is taken is a strict subset of RFC 9112, read the same way by net/http; a fuzz test holds
// the two against each other. Whatever is malformed, unusual or large is left to net/http to judge.
package fastpath
