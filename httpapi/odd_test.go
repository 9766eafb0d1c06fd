package httpapi_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"linkledger/httpapi/httpapitest"
)

// oddDates are dates and times at and beyond both ends of the calendar.
var oddDates = []string{
	"0000-01-01", "0000-12-31", "0000-02-29", "0001-01-01", "-0001-01-01", "9999-12-31", "10000-01-01",
	"99999999999-01-01", "2026-02-30", "2026-1-1",
	"2026-13-01", "0000-01-01T00:00:00Z", "0000-12-31T23:59:59.999999999Z", "0001-01-01T00:00:00Z",
	"0001-01-01T00:00:00+23:59",
	"0001-01-01T00:00:00-23:59", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59-23:59", "9999-12-31T23:59:59+23:59",
	"2026-05-14T24:00:00Z", "2026-05-14T11:59:60Z",
	"infinity", "-infinity", "now", "epoch", "today", "BC", "2026-05-14 BC", "1969-12-31", "4713-01-01 BC",
}

// oddTexts are texts that a client may send in any place.
var oddTexts = []string{
	"\x00", "a\x00b", "\xff", "\xed\xa0\x80", "💩", "'", `"`, `\`, "--", ";", "%", "_", "%00", "{}", "{", "[]", "$1",
	"?", "?0", "null", "NaN", "Infinity", "-0", "1e9",
	"-1", "0", "00", "0x10", "1.5", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
	"-9223372036854775809", "2147483648", "\u202e", "a\r\nb: c",
	strings.Repeat("a", 5000), strings.Repeat("é", 300), strings.Repeat("(", 40), strings.Repeat("~", 5000), "/", "..",
	"+", "&", "|", "^", ">", "<", ">0000-01-01", "<0000-01-01",
	"<9999-12-31", ">9999-12-31", "<0001-01-01", ">0001-01-01", "<-0001-01-01", "visited^visited",
}

// TestOddValuesAreNoFault checks that whatever a client sends, the response is not an internal
// error.
func TestOddValuesAreNoFault(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	c.Create(`"long_url":"https://example.com/","custom_hash":"one","tags":["t"]`)
	s.Visit(t, "GET", "/one")
	answered := func(a *httpapitest.Answer, method, path, body string) {
		t.Helper()
		if a.Status >= http.StatusInternalServerError {
			t.Errorf("%s %.100s %.100q is answered %d %s", method, path, body, a.Status, a.Body)
		}
	}
	for _, value := range oddDates {
		for _, path := range []string{
			"/v3/urls?at=", "/v3/urls/one?at=", "/v3/account?at=", "/v3/urls/one/dimensions?from=",
			"/v3/urls/one/dimensions?to=", "/v3/urls?tags=%3E", "/v3/urls?tags=%3C",
		} {
			answered(c.Call("GET", path+url.QueryEscape(value), ""), "GET", path+value, "")
		}
		body := `{"urls":[{"long_url":"https://example.com/","expiration_date":"` + value + `"}]}`
		answered(c.Call("POST", "/v3/urls", body), "POST", "/v3/urls", body)
		answered(c.Call("PATCH", "/v3/urls/one", body), "PATCH", "/v3/urls/one", body)
	}
	for _, value := range oddTexts {
		escaped := url.QueryEscape(value)
		for _, path := range []string{
			"/v3/urls?at=", "/v3/urls/one/dimensions?from=", "/v3/urls/one/dimensions?limit=",
			"/v3/urls?search=", "/v3/urls?order_by=", "/v3/urls?offset=", "/v3/urls?limit=", "/v3/urls?hashes=",
			"/v3/urls?tags=",
			"/v3/urls?at=2026-05-14T11:00:00Z&search=", "/v3/urls?at=2026-05-14T11:00:00Z&tags=",
			"/v3/urls/one/history?offset=", "/v3/urls/one/history?limit=", "/one/qr.png?size=",
			"/v3/urls?order_by=hash&offset=", "/v3/urls?order_by=clicks&offset=", "/v3/urls?search=e&offset=",
			"/v3/urls?tags=t&offset=", "/v3/urls?at=2026-05-14T11:00:00Z&offset=",
		} {
			answered(c.Call("GET", path+escaped, ""), "GET", path+escaped, "")
		}
		for _, call := range [][2]string{
			{"DELETE", "/v3/stats?hashes="}, {"DELETE", "/v3/stats?tags=~t,"}, {"DELETE", "/v3/urls?hashes=x,"},
		} {
			answered(c.Call(call[0], call[1]+escaped, ""), call[0], call[1]+escaped, "")
		}
		for _, call := range [][2]string{
			{"GET", "/v3/urls/"},
			{"GET", "/v3/stats/"},
			{"DELETE", "/v3/tags/"},
			{"POST", "/v3/batches/"},
			{"GET", "/"},
		} {
			path := call[1] + url.PathEscape(value)
			if call[0] == "POST" {
				path += "/undo"
			}
			answered(c.Call(call[0], path, ""), call[0], path, "")
		}
		answersToOdd(c, value, answered)
	}
	s.CatchUp(t)
}

// answersToOdd sends a value in each field, as a string and as raw JSON.
func answersToOdd(c *httpapitest.Client, value string, answered func(a *httpapitest.Answer, method, path, body string)) {
	c.T.Helper()
	quoted, err := json.Marshal(value)
	if err != nil {
		c.T.Fatal(err)
	}
	fields := []string{"long_url", "custom_hash", "note", "expiration_date", "max_clicks", "tags"}
	for sent, fields := range map[string][]string{string(quoted): fields, value: {"max_clicks", "email_stats"}} {
		for _, field := range fields {
			fields := `"` + field + `":` + sent
			create := `{"urls":[{"long_url":"https://example.com/",` + fields + `}]}`
			if field == "long_url" {
				create = `{"urls":[{` + fields + `}]}`
			}
			answered(c.Call("POST", "/v3/urls", create), "POST", "/v3/urls", create)
			edit := `{"urls":[{` + fields + `}]}`
			if field != "custom_hash" {
				answered(c.Call("PATCH", "/v3/urls/one", edit), "PATCH", "/v3/urls/one", edit)
			}
		}
		tags := `{"urls":[{"long_url":"https://example.com/","tags":[` + sent + `]}]}`
		answered(c.Call("POST", "/v3/urls", tags), "POST", "/v3/urls", tags)
		label := `{"label":` + sent + `}`
		answered(c.Call("POST", "/v3/tags", label), "POST", "/v3/tags", label)
		version := `{"version":` + sent + `}`
		answered(c.Call("POST", "/v3/urls/one/restore", version), "POST", "/v3/urls/one/restore", version)
	}
	form := "urls[0][long_url]=https://example.com/&urls[0][note]=" + url.QueryEscape(
		value,
	) + "&urls[0][expiration_date]=" + url.QueryEscape(value)
	answered(
		c.Call("POST", "/v3/urls", form, httpapitest.Header("Content-Type", "application/x-www-form-urlencoded")), "POST",
		"/v3/urls", form,
	)
}
