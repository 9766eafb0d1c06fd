package request_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"

	"linkledger/httpapi/request"
)

// ids are the ids that a client may send, and whether the service accepts them.
var ids = map[string]struct {
	sent     string
	accepted bool
}{
	"word":              {"build-7.retry_2", true},
	"as long as can be": {strings.Repeat("a", 64), true},
	"too long":          {strings.Repeat("a", 65), false},
	"none":              {"", false},
	"space":             {"a b", false},
	"line break":        {"a\nlevel=ERROR", false},
	"break at the end":  {"a\n", false},
	"other letters":     {"\u00e4", false},
}

func with(t *testing.T, method, header, value string) *request.Context {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "/", nil)
	r.Header.Set(header, value)
	return request.New(httptest.NewRecorder(), r)
}

// TestIDOfRequest checks that a request has the id that its client sends, or a random one in place of an id that is
// not accepted.
func TestIDOfRequest(t *testing.T) {
	t.Parallel()
	for name, tc := range ids {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := with(t, http.MethodGet, request.HeaderID, tc.sent)
			if tc.accepted {
				if first.ID != tc.sent {
					t.Errorf("the id is %q, want %q", first.ID, tc.sent)
				}
				return
			}
			second := with(t, http.MethodGet, request.HeaderID, tc.sent)
			if _, err := uuid.Parse(first.ID); err != nil || first.ID == second.ID {
				t.Errorf("the ids are %q and %q, want two random ones", first.ID, second.ID)
			}
		})
	}
}

// TestRename checks that a request and its response get another id if it is accepted, and otherwise keep theirs.
func TestRename(t *testing.T) {
	t.Parallel()
	for name, tc := range ids {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := with(t, http.MethodGet, request.HeaderID, "before")
			want, wantHeader := "before", ""
			if tc.accepted {
				want, wantHeader = tc.sent, tc.sent
			}
			c.Rename(tc.sent)
			if got := c.Header().Get(request.HeaderID); c.ID != want || got != wantHeader {
				t.Errorf("the id is %q with the header %q, want %q and %q", c.ID, got, want, wantHeader)
			}
		})
	}
}
