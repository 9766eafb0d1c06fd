// This file reads the internal address of a service.

package e2etest

import (
	"errors"
	"io"
	"net/http"
	"slices"
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

// AwaitReady waits until one answer about readiness has a status and all of the texts.
func AwaitReady(t *testing.T, admin string, code int, says ...string) {
	t.Helper()
	deadline := time.Now().Add(StartTimeout)
	for {
		got, body := Scrape(t, admin+"/health/ready")
		lacks := func(text string) bool { return !strings.Contains(body, text) }
		if got == code && !slices.ContainsFunc(says, lacks) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("readiness is %d: %s, want %d and %q", got, body, code, says)
		}
		<-time.After(10 * time.Millisecond)
	}
}
