package openid_test

import (
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"linkledger/httpapi/openid"
	"linkledger/httpapi/openid/openidtest"
)

// clock is a clock that a test moves.
type clock struct{ passed atomic.Int64 }

func (c *clock) now() time.Time { return time.Unix(1_800_000_000+c.passed.Load(), 0) }

// TestSignInTakesTenMinutes finishes sign-ins late, in a browser that keeps the cookie for ever.
func TestSignInTakesTenMinutes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		seconds int64
		late    bool
	}{
		"at once": {0, false}, "after ten minutes": {600, false}, "a second later": {601, true},
		"an hour later": {3600, true}, "long after": {1 << 40, true},
		"at a node whose clock is slow": {-60, false}, "at a node with a wrong clock": {-3600, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var at clock
			s := newSite(t, func(cfg *openid.Config) { cfg.Now = at.now })
			s.issuer.Clock(at.now)
			started := s.begin(t, "/console")
			at.passed.Store(test.seconds)
			_, _, err := s.finish(t, started.back, started.cookie)
			if !test.late {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantError(t, err, openid.ErrInvalid, "more than 10m")
			if n := s.issuer.Requests(openidtest.TokenPath); n > 0 {
				t.Errorf("%d requests for tokens", n)
			}
		})
	}
}

// TestOtherNodes finishes sign-ins at another node: with the secret of the first, and with another.
func TestOtherNodes(t *testing.T) {
	t.Parallel()
	var first openid.Config
	s := newSite(t, func(cfg *openid.Config) { first = *cfg })
	node := func(secret string) *site {
		cfg := first
		cfg.Secret = []byte(secret)
		return &site{issuer: s.issuer, provider: openid.New(cfg), secret: s.secret}
	}
	started := s.begin(t, "/console/links")
	_, _, err := node("another secret of a node").finish(t, started.back, started.cookie)
	if !errors.Is(err, openid.ErrInvalid) {
		t.Errorf("under another secret: %v", err)
	}
	if _, to, err := node(string(first.Secret)).finish(t, started.back, started.cookie); err != nil || to != "/console/links" {
		t.Errorf("under the same secret: %q, %v", to, err)
	}
	forged := *started.cookie
	forged.Value = "1" + forged.Value[1:]
	if _, _, err := s.finish(t, started.back, &http.Cookie{Name: forged.Name, Value: forged.Value}); err == nil {
		t.Error("an altered cookie finishes a sign-in")
	}
}
