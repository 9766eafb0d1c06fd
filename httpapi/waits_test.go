package httpapi_test

import (
	"strings"
	"testing"

	"linkledger/httpapi"
	"linkledger/httpapi/httpapitest"
)

// TestLogLinesAreBounded checks that only a little of a long request is logged or returned.
func TestLogLinesAreBounded(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t, func(cfg *httpapi.Config) { cfg.LogRequests = httpapi.LogAll })
	c := s.Client(t, "alice")
	long := strings.Repeat("X", 20_000)
	for name, changes := range map[string][]httpapitest.With{
		"override":     {httpapitest.Header("X-HTTP-Method-Override", long)},
		"request id":   {httpapitest.Header("X-Request-Id", long)},
		"traceparent":  {httpapitest.Header("Traceparent", "00-"+long), httpapitest.Header("Tracestate", "a="+long)},
		"user agent":   {httpapitest.Header("User-Agent", long), httpapitest.Header("Referer", "https://"+long)},
		"content type": {httpapitest.Header("Content-Type", "application/"+long)},
		"key":          {httpapitest.Header("Idempotency-Key", long)},
		"accept":       {httpapitest.Header("Accept", long)},
		"forwarded":    {httpapitest.Header("X-Forwarded-For", long)},
		"user name":    {httpapitest.Header("Authorization", "Basic "+long)},
	} {
		for _, path := range []string{"/v3/urls", "/v3/" + long, "/v3/urls?order_by=" + long, "/one"} {
			for _, method := range []string{"GET", "POST", long} {
				a := c.Call(method, path, `{"urls":[{"hash":"`+long+`"}],"label":"`+long+`"}`, changes...)
				if len(a.Error.Details) > 4*httpapitest.DetailsLength {
					t.Errorf(
						"%s: %.5s %.20s is answered with %d bytes of details", name, method, path, len(a.Error.Details),
					)
				}
			}
		}
	}
	for _, line := range s.Log.Longer(1000) {
		t.Errorf("a line of %d bytes: %.300s", len(line), line)
	}
}
