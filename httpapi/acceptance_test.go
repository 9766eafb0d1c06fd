package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"linkledger/httpapi"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
)

// TestWhateverIsAcceptedReadsBack checks that every accepted value can be read back as it was
// confirmed, and that no value leads to an internal error. A value that is accepted but that the
// read models cannot store would stop them for all accounts.
func TestWhateverIsAcceptedReadsBack(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t, func(cfg *httpapi.Config) { cfg.WaitTimeout = 10 * time.Second })
	c := s.Client(t, "demo")
	rapid.Check(t, func(t *rapid.T) {
		label := rapid.StringOfN(rapid.RuneFrom([]rune("aZ9 _-.ßÄ中\u0301,+\x00")), 1, 8, -1)
		fields := map[string]any{
			"long_url":        "https://example.com/" + rapid.String().Draw(t, "path"),
			"note":            rapid.String().Draw(t, "note"),
			"expiration_date": date(t),
			"max_clicks":      rapid.Int64().Draw(t, "max clicks"),
			"tags":            rapid.SliceOfN(label, 0, 3).Draw(t, "tags"),
		}
		body, err := json.Marshal(map[string]any{"urls": []any{fields}})
		if err != nil {
			t.Fatal(err)
		}
		created := c.Call(http.MethodPost, "/v3/urls", string(body))
		if created.Status >= http.StatusInternalServerError || created.Code() == apierror.CodeUnknown {
			t.Fatalf("response to %s: %d %s", body, created.Status, created.Body)
		}
		if created.Code() != apierror.CodeOK || created.URLs[0].Code() != apierror.CodeOK {
			return
		}
		written, read := created.URLs[0], c.Read(created.URLs[0].Hash)
		if *read.LongURL != *written.LongURL || read.Note != written.Note || read.MaxClicks != written.MaxClicks ||
			!slices.Equal(read.Tags, written.Tags) || httpapitest.Deref(read.ExpirationDate) != httpapitest.Deref(written.ExpirationDate) {
			t.Fatalf("answered %+v, reads %+v", written, read)
		}
	})
}

// date draws dates and texts that look like dates, including both ends of the calendar.
func date(t *rapid.T) string {
	year := rapid.OneOf(rapid.SampledFrom([]int{0, 1, 9999}), rapid.IntRange(0, 9999)).Draw(t, "year")
	return fmt.Sprintf(
		"%04d-%02d-%02d", year, rapid.IntRange(0, 13).Draw(t, "month"), rapid.IntRange(0, 32).Draw(t, "day"),
	)
}
