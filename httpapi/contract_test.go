package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"linkledger/commands/accounts"
	"linkledger/commands/domain"
	"linkledger/httpapi"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/response"
)

// row is a row of the API's contract: a call, the required response, and the result of a read after
// it.
type row struct {
	rule     string
	call     string // method and path
	body     string
	status   int
	code     apierror.Code
	want     string // JSON that the response must contain, see within; after "= ", the whole response
	then     string // path to read afterwards, if not empty
	thenWant string
}

// hold checks rows in order.
func hold(c *httpapitest.Client, rows []row) {
	c.T.Helper()
	for _, r := range rows {
		method, path, _ := strings.Cut(r.call, " ")
		a := c.Call(method, path, r.body)
		if a.Status != r.status || a.Code() != r.code || a.Error.Message != r.code.Message() || a.Version != "3.1" {
			c.T.Fatalf(
				"%s: %s is answered %d %s; want %d and code %d", r.rule, r.call, a.Status, a.Body, r.status, r.code,
			)
		}
		holds(a, r.rule, r.want)
		if r.then != "" {
			holds(c.Must(http.MethodGet, r.then, ""), r.rule+", then "+r.then, r.thenWant)
		}
	}
}

// holds checks that a response contains some JSON.
func holds(a *httpapitest.Answer, rule, want string) {
	a.T.Helper()
	whole, exact := strings.CutPrefix(want, "= ")
	if exact && whole+"\n" != a.Body {
		a.T.Errorf("%s: answered %.300s; want %s", rule, a.Body, whole)
	}
	if exact || want == "" {
		return
	}
	var wanted, got any
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		a.T.Fatalf("%s: %v in %s", rule, err, want)
	}
	if err := json.Unmarshal([]byte(a.Body), &got); err != nil {
		a.T.Fatalf("%s: %v in %s", rule, err, a.Body)
	}
	if wrong := within("", wanted, got); wrong != "" {
		a.T.Errorf("%s: %s\n%.300s", rule, wrong, a.Body)
	}
}

// within describes how a response differs from what is wanted, or returns an empty string. Objects
// may have more fields, arrays must have the same length, and a text that begins with ~ is a
// pattern.
func within(path string, want, got any) string {
	switch want := want.(type) {
	case map[string]any:
		fields, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s is %v; want an object", path, got)
		}
		for name, value := range want {
			field, given := fields[name]
			if !given {
				return fmt.Sprintf("%s.%s is missing", path, name)
			}
			if wrong := within(path+"."+name, value, field); wrong != "" {
				return wrong
			}
		}
		return ""
	case []any:
		items, ok := got.([]any)
		if !ok || len(items) != len(want) {
			return fmt.Sprintf("%s is %v; want %v", path, got, want)
		}
		for i := range want {
			if wrong := within(fmt.Sprintf("%s[%d]", path, i), want[i], items[i]); wrong != "" {
				return wrong
			}
		}
		return ""
	case string:
		if text, ok := got.(string); ok && strings.HasPrefix(want, "~") &&
			regexp.MustCompile(want[1:]).MatchString(text) {
			return ""
		}
	}
	if !reflect.DeepEqual(want, got) {
		return fmt.Sprintf("%s is %v; want %v", path, got, want)
	}
	return ""
}

// contractCodes is the contract's table of errors.
const contractCodes = `101 Unknown error
1102 Invalid username
1204 Not a valid Short URL hash
1206 URL you tried to shorten was invalid
1215 Short URL is not correct or existed
1216 URL you tried to shorten is not allowed
1217 Access Denied
1218 Short URL is not correct
1219 Target server on cooldown
1220 URLs limit has been reached
1221 Exceeded limit of batch operation
1300 Invalid API key
1301 Invalid resource
1302 Method not supported
1303 API call limit reached
1305 Missing input parameters
1306 URL not found in DB
1307 Wrong number of input parameters
1308 HTTP error
1309 Tag not found
1310 Too big POST data
1311 Invalid or duplicate tag label
1312 Invalid date
1313 Domain not found
1314 Invalid webhook parameter`

// unprovoked are the codes that this service never returns, with the reason.
var unprovoked = map[apierror.Code]string{
	apierror.CodeCooldown:       "the destination is not visited when a link is made",
	apierror.CodeHTTPError:      "no call of the API makes one over HTTP",
	apierror.CodeInvalidWebhook: "there are no webhooks",
}

// TestEveryCodeOfTheContract checks that every code of the contract has its message and is either
// returned by a call here or has a reason not to be. Errors of items are returned with the status
// 200.
func TestEveryCodeOfTheContract(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t, func(cfg *httpapi.Config) {
		cfg.BodyLimit, cfg.GroupLimit, cfg.Plans = 4000, 3, map[string]domain.Plan{"small": {URLs: 1}}
	})
	c, small := s.Client(t, "alice"), s.Client(t, "small")
	s.EditAccount(t, "small", accounts.Change{Plan: new("small")})
	small.Create(`"long_url":"https://example.com/"`)
	c.Create(`"long_url":"https://example.com/","custom_hash":"kept","tags":["t"]`)
	c.Must("PATCH", "/v3/urls/kept", `{"urls":[{"protected":true}]}`)
	stranger, wrong := *c, *c
	stranger.Username, wrong.Key = "nobody", "lk_wrong"
	provoked := make(map[apierror.Code]bool)
	call := func(c *httpapitest.Client, want apierror.Code, status int, method, path, body string) {
		t.Helper()
		a := c.Call(method, path, body)
		provoked[want] = true
		if status == http.StatusOK {
			a.Is(http.StatusOK, apierror.CodeOK)
			a.URLs[0].Failed(t, want, "")
			return
		}
		a.Is(status, want)
	}
	long := `{"urls":[{"long_url":"https://example.com/"`
	call(&stranger, 1102, 400, "GET", "/v3/account", "")
	call(c, 1204, 400, "GET", "/v3/urls/a.b", "")
	call(c, 1206, 200, "POST", "/v3/urls", `{"urls":[{"long_url":"ftp://example.com/"}]}`)
	call(c, 1215, 200, "POST", "/v3/urls", long+`,"custom_hash":"kept"}]}`)
	call(c, 1216, 200, "POST", "/v3/urls", `{"urls":[{"long_url":"https://sho.rt/kept"}]}`)
	call(c, 1217, 403, "DELETE", "/v3/urls/kept", "")
	call(small, 1220, 200, "POST", "/v3/urls", httpapitest.Batch(1))
	changed := c.Must("PATCH", "/v3/urls/kept", `{"urls":[{"note":"x"}]}`).Header.Get(response.HeaderBatchID)
	c.Must("PATCH", "/v3/urls/kept", `{"urls":[{"note":"y"}]}`)
	call(c, 1218, 200, "POST", "/v3/batches/"+changed+"/undo", "")
	call(c, 1221, 400, "POST", "/v3/urls", httpapitest.Batch(4))
	call(&wrong, 1300, 400, "GET", "/v3/account", "")
	call(c, 1301, 404, "GET", "/v3/nothing", "")
	call(c, 1302, 405, "PUT", "/v3/urls", "")
	call(c, 1305, 400, "POST", "/v3/urls", "{}")
	call(c, 1306, 404, "GET", "/v3/urls/none", "")
	call(c, 1307, 400, "GET", "/v3/urls?limit=0", "")
	call(c, 1309, 404, "DELETE", "/v3/tags/none", "")
	call(c, 1313, 404, "GET", "/v3/tags?domain=other.example", "")
	call(c, 1310, 413, "POST", "/v3/urls", httpapitest.Batch(3)+strings.Repeat(" ", 4000))
	call(c, 1311, 400, "POST", "/v3/tags", `{"label":"a\"b"}`)
	call(c, 1312, 200, "POST", "/v3/urls", long+`,"expiration_date":"2026-02-30"}]}`)
	httpapitest.Equal(t, "URLs", c.Must("GET", "/v3/urls", "").Page.TotalCount, 1)
	for range httpapitest.LoginsWithReason - 1 {
		wrong.Call("GET", "/v3/account", "")
	}
	call(&wrong, 1303, 429, "GET", "/v3/account", "")
	s.SetTime(t, "2026-05-14T12:01:00Z")
	s.DB.Pool.Close()
	call(c, 101, 503, "GET", "/v3/tags", "")

	known := 1 // success
	for line := range strings.Lines(contractCodes) {
		var number apierror.Code
		if _, err := fmt.Sscan(line, &number); err != nil {
			t.Fatal(err)
		}
		known++
		httpapitest.Equal(t, "message", fmt.Sprintf("%d %s", number, number.Message()), strings.TrimSpace(line))
		if _, reasoned := unprovoked[number]; provoked[number] == reasoned {
			t.Errorf("code %d: returned: %t; has a reason not to be: %t", number, provoked[number], reasoned)
		}
	}
	messages := 1
	for c := range apierror.Code(10_000) {
		if c.Message() != "" {
			messages++
		}
	}
	httpapitest.Equal(t, "codes", messages, known)
}
