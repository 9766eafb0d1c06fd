package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"testing"
	"time"
)

func FuzzSelection(f *testing.F) {
	for _, seed := range []string{
		"hashes=a,b", "hashes=a%2Cb&tags=c", "tags=+a;~b", "tags=a&b", "order_by=-hash&limit=5&offset=x", "limit=%zz", "hashes=,", "search=%00",
	} {
		f.Add(seed)
	}
	h := &urlHandler{
		Limits: payloadLimits{Items: 50}, Pages: pageSizes{Default: 50, Max: 1000},
		AsOf: asOfReader{Now: time.Now, Waiter: &waiter{
			Overtake: func(context.Context, string, ...string) error { return nil }, Logger: slog.New(slog.DiscardHandler),
		}},
	}
	f.Fuzz(func(t *testing.T, raw string) {
		c := &exchange{request: &http.Request{URL: &url.URL{RawQuery: raw}}}
		list, err := h.list(c)
		if err != nil {
			if f, ok := refusal(err); !ok || f.status != http.StatusBadRequest {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		if len(list.Hashes) > h.Limits.Items || list.Limit < 1 || list.Limit > h.Pages.Max || list.Offset < 0 {
			t.Fatalf("%q is read as %+v", raw, list)
		}
	})
}
