package caller

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// TestClicksAreCounted checks that clicks may be recorded late, but that there are not more clicks
// than redirects.
func TestClicksAreCounted(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"error":{"code":0},"urls":[{"total_clicks":2},{"total_clicks":%d}]}`, calls.Add(1))
	}))
	defer server.Close()
	c := New(server.URL, 1, Account{})
	defer c.Close()
	if counted, err := c.AwaitClicks(t.Context(), 4); counted != 4 || err != nil {
		t.Errorf("%d, %v; want 4", counted, err)
	}
	if _, err := c.AwaitClicks(t.Context(), 4); err == nil ||
		!strings.Contains(err.Error(), "5 clicks are recorded, but 4 redirects were answered") {
		t.Error(err)
	}
}
