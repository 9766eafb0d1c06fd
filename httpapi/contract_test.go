package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"linkledger/commands/accounts"
	"linkledger/commands/domain"
	"linkledger/httpapi"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/response"
)

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
