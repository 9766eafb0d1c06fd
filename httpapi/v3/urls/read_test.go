package urls

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"testing"
	"time"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/request"
	"linkledger/httpapi/v3/asof"
	"linkledger/httpapi/v3/catchup"
	"linkledger/httpapi/v3/payload"
	"linkledger/httpapi/v3/selection"
)

func FuzzSelection(f *testing.F) {
	for _, seed := range []string{
		"hashes=a,b", "hashes=a%2Cb&tags=c", "tags=+a;~b", "tags=a&b", "order_by=-hash&limit=5&offset=x", "limit=%zz",
		"hashes=,", "search=%00",
	} {
		f.Add(seed)
	}
	h := &Handler{
		Limits: payload.Limits{Items: 50}, Pages: selection.PageSizes{Default: 50, Max: 1000},
		AsOf: asof.Reader{Now: time.Now, Waiter: &catchup.Waiter{
			Projections: catchup.Projections{
				WaitForOthers: func(context.Context, string, ...string) error { return nil },
			},
			Logger: slog.New(slog.DiscardHandler),
		}},
	}
	f.Fuzz(func(t *testing.T, raw string) {
		c := &request.Context{Request: &http.Request{URL: &url.URL{RawQuery: raw}}}
		list, err := h.listQuery(c)
		if err != nil {
			if f, ok := apierror.Refusal(err); !ok || f.Status != http.StatusBadRequest {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		if len(list.Hashes) > h.Limits.Items || list.Limit < 1 || list.Limit > h.Pages.Max || list.Offset < 0 {
			t.Fatalf("%q is read as %+v", raw, list)
		}
	})
}
