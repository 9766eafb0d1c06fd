// Package httpapi serves the public listener: version 3 of the REST API under /v3, and the short
// links with their QR images at the root.
//
// A request passes three stages. The server (serve.go) gives it an id, a deadline and a canonical
// path, recovers from panics and writes failures. A router finds the handler: package redirect
// handles visits, v3 handles API calls, and openapi serves the API's description. A handler decodes
// the request, runs commands or queries, and returns the response. Handlers of the API never write
// the response themselves.
//
// Packages v3 and redirect MUST NOT import each other. They share request, response, apierror,
// shortlink and peer.
//
// The server differs from the router's defaults in these points:
//
//   - A trailing slash changes nothing. There is no redirect to the path without it. Paths with
//     empty segments or dot segments are not found.
//   - Segments are compared and used unescaped: /%61bc is /abc.
//   - Every route for GET answers HEAD too. OPTIONS returns the methods of a path and needs no
//     credentials. Every 405 has the header Allow.
//   - If the client disconnects, a read stops. A write continues until its own deadline, because
//     half of a command is of no use.
//   - If the event store or the database is unavailable, the status is 503 and the client may
//     repeat the call. Every other fault is a 500.
package httpapi
