// Package fastpath serves the plainest requests at the least cost: a GET for a short path over
// HTTP/1.1, without a body and without a header that changes the protocol. At the first request
// that is not eligible, the connection goes to net/http, with the received bytes that are not
// answered yet, and stays there.
//
// A visit of a short link needs a few microseconds of processor time, and then waits until its
// click is durable. net/http spends several times that on work that such a request never needs:
// detecting clients that disconnect, bodies, trailers, chunks, hijacking.
//
// Handlers have these restrictions. The context of a request is never canceled when the client
// disconnects. The response is collected and sent when the handler returns. The fast path sets
// Date, Content-Length and Connection itself. A handler MUST set Content-Type, MUST NOT use a
// status below 200, and can neither flush nor hijack. Connections are plain TCP.
//
// The eligible requests are a strict subset of RFC 9112 that net/http parses to the same result. A
// fuzz test compares the two parsers. Requests that are malformed, unusual or large are left to
// net/http. net/http gets them unchanged, except for paths that it could not parse: see Mend.
package fastpath
