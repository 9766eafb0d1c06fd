// This file reads the internal address of a service.

package e2etest

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Scrape reads a page of the internal address.
func Scrape(t *testing.T, url string) (code int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(page)
}

// AwaitReady waits until the readiness check returns a status code and a body that contains says.
func AwaitReady(t *testing.T, admin string, code int, says string) {
	t.Helper()
	deadline := time.Now().Add(StartTimeout)
	for {
		got, body := Scrape(t, admin+"/health/ready")
		if got == code && strings.Contains(body, says) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("readiness is %d: %s, want %d and %q", got, body, code, says)
		}
		<-time.After(10 * time.Millisecond)
	}
}
