// Package page has what all pages of the console share: the session, the calls of the API, the
// typed fields, and how a page is written, redirected or refused. It knows no page.
package page
