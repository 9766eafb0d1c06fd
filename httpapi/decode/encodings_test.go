package decode_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
)

// multipartBody returns a multipart form with names and values, and its content type.
func multipartBody(t testing.TB, pairs ...string) (body, contentType string) {
	t.Helper()
	var buffer bytes.Buffer
	form := multipart.NewWriter(&buffer)
	for i := 0; i < len(pairs); i += 2 {
		if err := form.WriteField(pairs[i], pairs[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.String(), form.FormDataContentType()
}

func TestEncodings(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	form := httpapitest.Header("Content-Type", httpapitest.FormType)

	created := c.Must("POST", "/v3/urls", "urls[0][long_url]=https%3A%2F%2Fexample.com%2F%3Fa%3D1%26b&urls[0][custom_hash]=f1"+
		"&urls[0][tags][]=a+b&urls[0][tags][]=c&urls[0][email_stats]=1&urls[0][max_clicks]=5"+
		"&urls[10][long_url]=https://example.com/10&urls[2][long_url]=https://example.com/2&urls[2][email_stats]=false&x=1", form)
	httpapitest.Equal(t, "items", len(created.URLs), 3)
	first := created.URLs[0]
	httpapitest.Equal(t, "long_url", *first.LongURL, "https://example.com/?a=1&b")
	httpapitest.Equal(t, "tags", strings.Join(first.Tags, ","), "a b,c")
	httpapitest.Equal(t, "max_clicks", first.MaxClicks, 5)
	if !first.EmailStats || created.URLs[1].EmailStats {
		t.Error("email_stats is wrong")
	}
	httpapitest.Equal(
		t, "order", *created.URLs[1].LongURL+" "+*created.URLs[2].LongURL,
		"https://example.com/2 https://example.com/10",
	)

	body, contentType := multipartBody(t, "urls[0][long_url]", "https://example.com/m", "urls[0][custom_hash]", "m1",
		"urls[0][tags][1]", "second", "urls[0][tags][0]", "first")
	multi := c.Must("POST", "/v3/urls", body, httpapitest.Header("Content-Type", contentType)).URLs[0]
	httpapitest.Equal(t, "tags", strings.Join(multi.Tags, ","), "first,second")

	patch := httpapitest.Header("X-HTTP-Method-Override", "PATCH")
	edited := c.Must(
		"POST", "/v3/urls/f1", "urls[0][protected]=true&urls[0][tags]=-c&urls[0][expiration_date]=", form, patch,
	).URLs[0]
	if !edited.Protected || strings.Join(edited.Tags, ",") != "a b" {
		t.Errorf("result of an edit by form: %+v", edited)
	}
	c.Must("POST", "/v3/urls/f1", `{"urls":[{"protected":false}]}`, patch)
	body, contentType = multipartBody(t, "label", "d")
	httpapitest.Equal(
		t, "renamed", c.Must("POST", "/v3/tags/c", body, httpapitest.Header("Content-Type", contentType), patch).Tags[0].Label, "d",
	)
	httpapitest.Equal(t, "read", c.Must("POST", "/v3/urls/f1", "", httpapitest.Header("X-HTTP-Method-Override", "get")).URLs[0].Hash, "f1")
	c.Must("POST", "/v3/urls/f1", "a=b", form, httpapitest.Header("X-HTTP-Method-Override", "DELETE"))
	c.Call("GET", "/v3/urls/f1", "").Is(http.StatusNotFound, apierror.CodeURLNotFound)
	c.Must("GET", "/v3/urls/m1", "", httpapitest.Header("X-HTTP-Method-Override", "DELETE"))
	c.Read("m1")
	c.Must("POST", "/v3/tags", `{"label":"no type"}`, func(r *http.Request) { r.Header.Del("Content-Type") })
	for i, contentType := range []string{
		"Application/JSON; charset=utf-8", "application/json; charset=", "application/json;charset",
		"application/json; charset=\"utf-8",
		"application/json;", "application/json; charset=utf-8; charset=utf-8", "Application/JSON ; =",
	} {
		c.Must("POST", "/v3/tags", fmt.Sprintf(`{"label":"type %d"}`, i), httpapitest.Header("Content-Type", contentType))
	}
	c.Must("POST", "/v3/tags", "label=empty+charset", httpapitest.Header("Content-Type", httpapitest.FormType+"; charset="))
	c.Must("POST", "/v3/tags", "\ufeff{\"label\":\"marked JSON\"}")
	c.Must("POST", "/v3/tags", "\ufefflabel=marked+form", form)
	c.Must("GET", "/v3/tags", "\ufeff")
}

func TestWrongEncodings(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	file := "--b\r\nContent-Disposition: form-data; name=\"label\"; filename=\"x\"\r\n\r\nx\r\n--b--\r\n"
	for _, tc := range []struct{ method, path, contentType, body, details string }{
		{"POST", "/v3/urls", "text/plain", `{}`, `"text/plain" is not supported`},
		{"POST", "/v3/urls", "application/", `{}`, "Content-Type"},
		{"POST", "/v3/urls", "a/b; c", `{}`, "Content-Type"},
		{"POST", "/v3/urls", "application/json x; charset=", `{}`, "Content-Type"},
		{"POST", "/v3/urls", "multipart/form-data; boundary=", `{}`, "Content-Type"},
		{"POST", "/v3/urls", "application/json", "\ufeff\ufeff{}", "not JSON"},
		{"PATCH", "/v3/tags/a", httpapitest.FormType, "label=b", "X-HTTP-Method-Override: PATCH"},
		{"POST", "/v3/tags", httpapitest.FormType, "label=a&label=b", "label must be a string"},
		{"POST", "/v3/tags", httpapitest.FormType, "label=%zz", "percent-encode"},
		{"POST", "/v3/tags", httpapitest.FormType, "label=%ff", "UTF-8"},
		{"POST", "/v3/tags", httpapitest.FormType, "label[=x", `"label[" cannot be read`},
		{"POST", "/v3/tags", httpapitest.FormType, "label]=x", "cannot be read"},
		{"POST", "/v3/tags", httpapitest.FormType, "[label]=x", "cannot be read"},
		{"POST", "/v3/tags", httpapitest.FormType, "a[b][c][d][e]=x", "cannot be read"},
		{"POST", "/v3/tags", httpapitest.FormType, "a[[b]]=x", "cannot be read"},
		{"POST", "/v3/tags", httpapitest.FormType, "a" + strings.Repeat("[]", 1<<15), "The form key"},
		{"POST", "/v3/urls", httpapitest.FormType, "urls[][long_url]=x", "cannot be read"},
		{"POST", "/v3/urls", httpapitest.FormType, "urls=x&urls[0][long_url]=x", "in two ways"},
		{"POST", "/v3/urls", httpapitest.FormType, "urls=x", "urls must be an array"},
		{"POST", "/v3/urls", httpapitest.FormType, "urls[long_url]=x", "urls must be an array"},
		{"POST", "/v3/urls", httpapitest.FormType, "urls[0]=x", "urls[0] must be an object"},
		{"POST", "/v3/urls", httpapitest.FormType, "urls[0][email_stats]=yes", "urls[0].email_stats must be true or false"},
		{"POST", "/v3/urls", httpapitest.FormType, "urls[0][max_clicks]=", "urls[0].max_clicks must be an integer"},
		{"POST", "/v3/urls", httpapitest.FormType, "urls[0][tags][x]=a", "urls[0].tags must be an array"},
		{"POST", "/v3/tags", "multipart/form-data", "x", "multipart"},
		{"POST", "/v3/tags", "multipart/form-data; boundary=b", "x", "multipart"},
		{"POST", "/v3/tags", "multipart/form-data; boundary=b", file, "is a file"},
		{
			"POST", "/v3/tags", "multipart/form-data; boundary=b",
			strings.Replace(file[:len(file)-7], "; filename", "; x", 1), "multipart",
		},
	} {
		a := c.Call(tc.method, tc.path, tc.body, httpapitest.Header("Content-Type", tc.contentType))
		if a.Status != http.StatusBadRequest || a.Code() != apierror.CodeWrongInput ||
			!strings.Contains(a.Error.Details, tc.details) {
			t.Errorf("%+v is answered %s", tc, a.Body)
		}
	}
	httpapitest.Equal(t, "tags", len(c.Must("GET", "/v3/tags", "").Tags), 0)
}

func TestBodyLimit(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	served := httptest.NewServer(s.Server)
	defer served.Close()
	client := served.Client()
	post := func(body io.Reader, contentType string) *httpapitest.Answer {
		t.Helper()
		r, err := http.NewRequestWithContext(httpapitest.WithTimeout(t), http.MethodPost, served.URL+"/v3/urls", body)
		if err != nil {
			t.Fatal(err)
		}
		r.SetBasicAuth(c.Username, c.Key)
		r.Header.Set("Content-Type", contentType)
		response, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		return httpapitest.AnswerOf(t, response)
	}
	padded := func(size int) string {
		body := `{"urls":[{"long_url":"https://example.com/"}],"x":""}`
		return strings.Replace(body, `""`, `"`+strings.Repeat("x", size-len(body))+`"`, 1)
	}
	for _, contentType := range []string{"application/json", httpapitest.FormType, "multipart/form-data; boundary=b"} {
		post(strings.NewReader(padded(3<<20)), contentType).Is(
			http.StatusRequestEntityTooLarge, apierror.CodeBodyTooLarge,
		)
		unsized := io.MultiReader(strings.NewReader(padded(1<<20 + 1)))
		post(unsized, contentType).Is(http.StatusRequestEntityTooLarge, apierror.CodeBodyTooLarge)
	}
	post(strings.NewReader(padded(1<<20)), "application/json").Is(http.StatusOK, apierror.CodeOK)
	httpapitest.Equal(t, "URLs", c.Must("GET", "/v3/urls", "").Page.TotalCount, 1)
}

func TestLargestBatch(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	httpapitest.Equal(t, "items", len(c.Must("POST", "/v3/urls", httpapitest.Batch(50)).URLs), 50)
	labels := make([]string, httpapitest.TagsOfOneCall)
	for i := range labels {
		labels[i] = `"` + strings.Repeat("𐐷", 46) + string(rune('a'+i/100)) + string(rune('a'+i/10%10)) + string(
			rune('a'+i%10),
		) + `"`
	}
	const most = 100 // the maximum number of tags of one URL
	var items []string
	for some := range slices.Chunk(labels, most) {
		items = append(items, `{"long_url":"https://example.com/","tags":[`+strings.Join(some, ",")+`]}`)
	}
	for _, made := range c.Must("POST", "/v3/urls", `{"urls":[`+strings.Join(items, ",")+`]}`).URLs {
		httpapitest.Equal(t, "tags", len(made.Tags), most)
		httpapitest.Equal(t, "tags read", len(c.Read(made.Hash).Tags), most)
	}
	more := fmt.Sprintf(`{"urls":[{"long_url":"https://example.com/","tags":[%s,"one more"]},{"long_url":"https://example.com/kept"}]}`,
		strings.Join(labels[:most], ","))
	answer := c.Call("POST", "/v3/urls", more)
	answer.Is(http.StatusOK, apierror.CodeOK)
	httpapitest.Equal(t, "code of one with too many tags", answer.URLs[0].Code(), apierror.CodeInvalidLabel)
	httpapitest.Equal(t, "its details", answer.URLs[0].Error.Details,
		"A URL has at most 100 tags, and this would make it 101: give it fewer, or detach some first")
	httpapitest.Equal(t, "code of the other", answer.URLs[1].Code(), apierror.CodeOK)
}

func TestOddTextsAreKept(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	for sent, stored := range map[string]string{
		`a\u0000b`: "ab", `\ud800`: "\uFFFD", `"; DROP TABLE links; --`: "", `'?0 ?schema`: "'?0 ?schema",
		`<b>&amp;`: "<b>&amp;",
		`日本語 é`:    "日本語 é",
	} {
		if strings.HasPrefix(sent, `"`) {
			sent, stored = `\`+sent, sent
		}
		made := c.Create(`"long_url":"https://example.com/?q='%00","note":"` + sent + `"`)
		read := c.Read(made.Hash)
		httpapitest.Equal(t, "long_url", *read.LongURL, "https://example.com/?q='%00")
		httpapitest.Equal(t, "note of "+sent, read.Note, stored)
	}
}

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

// TestOddValuesAreNoFault checks that no value of a client makes the response an internal error.
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
