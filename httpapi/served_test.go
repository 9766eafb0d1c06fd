package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"linkledger/httpapi"
	"linkledger/httpapi/httpapitest"
)

// TestTablesOfAnotherVersion sends requests while the read models of this version are built.
func TestTablesOfAnotherVersion(t *testing.T) {
	t.Parallel()
	served := make(chan struct{})
	s := httpapitest.New(t, func(cfg *httpapi.Config) { cfg.Served, cfg.WaitTimeout = served, 10*time.Millisecond })
	for _, path := range []string{"/v3/urls", "/pg", "/console"} {
		w := httptest.NewRecorder()
		s.Server.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "builds its read models") {
			t.Errorf("GET %s: got %d %s", path, w.Code, w.Body)
		}
	}
	close(served)
	w := httptest.NewRecorder()
	s.Server.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/pg", nil))
	if w.Code != http.StatusNotFound {
		t.Errorf("then a visit is answered %d", w.Code)
	}
}
