// Package httpapi serves the public listener: the REST API, version 3, under /v3, and the short
// links with their QR images at the root.
//
// A request passes three places. The server gives it an id, a deadline and a canonical path,
// recovers from panics and writes what went wrong (serve.go). A router finds the handler: redirect
// has those of visitors, v3 those of the API, and openapi those of its description. A handler
// decodes, calls commands or queries, and returns what to answer; it never writes the answer of the
// API itself.
//
// v3 and redirect do not know each other. What both need lies below them: request, response,
// apierror, shortlink, peer.
//
// What the server decides where the router would do something else:
//
//   - A trailing slash changes nothing; there is no redirect to the path without it. Empty segments
//     and dot segments are not found.
//   - Segments are compared and used unescaped: /%61bc is /abc.
//   - HEAD answers wherever GET does. OPTIONS tells the methods, without credentials. Every 405 has
//     Allow.
//   - Writes go on when their client hangs up, until their own deadline: half of a command helps
//     nobody. Reads stop.
//   - Where the event store or the database cannot be asked the answer is 503 and may be tried
//     again. Whatever else goes wrong is 500.
package httpapi
