// This file opens pages of the console.

package e2etest

import (
	"errors"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"regexp"
	"testing"
)

// Browser signs a browser in by the link that dev prints, and returns a function that opens an
// address in that browser.
func (d *Dev) Browser(t *testing.T) func(method, url string) string {
	t.Helper()
	cookies, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: cookies}
	open := func(method, url string) string {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := browser.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil ||
			response.StatusCode != http.StatusOK {
			t.Fatalf("%s %s answers %s: %v\n%s", method, url, response.Status, err, body)
		}
		return html.UnescapeString(string(body))
	}
	open(http.MethodPost, regexp.MustCompile(`http://\S+/console/sign-in/\S+`).FindString(d.Greeting))
	return open
}
