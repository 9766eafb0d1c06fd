package redirect

import (
	"bytes"
	"cmp"
	"html/template"
	"net/http"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
)

// notice is the page for visitors whose link cannot be followed.
var notice = template.Must(template.New("notice").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>{{.Title}}</title>
<style>
body {
  font: 1rem/1.5 system-ui, sans-serif; color: #222; background: #fff;
  max-width: 32rem; margin: 20vh auto 0; padding: 0 1rem;
}
h1 { font-size: 1.5rem; }
small { color: #666; }
@media (prefers-color-scheme: dark) {
  body { color: #ddd; background: #161616; }
  small { color: #999; }
}
</style>
</head>
<body>
<h1>{{.Title}}</h1>
<p>{{.Text}}</p>
{{with .Request}}<p><small>Request {{.}}</small></p>
{{end}}</body>
</html>
`))

// WriteFailure writes the failure of a visit: as JSON if the client prefers it, else as a page.
func WriteFailure(c *request.Context, f apierror.Failure) {
	header := c.Header()
	header.Set("Vary", "Accept")
	if c.PrefersJSON() {
		response.WriteFailure(c, f)
		return
	}
	content := struct{ Title, Text, Request string }{
		Title: http.StatusText(f.Status), Text: cmp.Or(f.Details, f.Code.Message()),
	}
	if f.Status >= http.StatusInternalServerError {
		content.Request = c.ID
	}
	response.SetRetryAfter(header, f)
	var page bytes.Buffer
	_ = notice.Execute(&page, content) // three strings and a buffer cannot fail
	header.Set("Cache-Control", "no-store")
	response.WritePage(c, f.Status, page.Bytes())
}
