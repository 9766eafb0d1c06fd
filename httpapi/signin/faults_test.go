package signin

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"linkledger/httpapi/openid"
)

// TestFaultsAreLogged watches an issuer that cannot be right and a client that was refused, for two and a half minutes
// without sign-ins.
func TestFaultsAreLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		h := New(Config{
			OpenID: openid.Config{Issuer: "http://issuer.example", Now: time.Now},
			Logger: slog.New(slog.NewTextHandler(&out, nil)),
		})
		h.client.report(errors.New("invalid_client"))
		ctx, stop := context.WithTimeout(t.Context(), 150*time.Second)
		defer stop()
		h.Watch(ctx)
		if fault := h.Fault(); fault == nil || !strings.Contains(fault.Error(), "invalid_client") ||
			!strings.Contains(fault.Error(), "issuer.example") {
			t.Errorf("the fault is %v", fault)
		}
		h.client.report(nil)
		h.client.report(nil)
		for text, want := range map[string]int{
			"see --oidc-issuer": 3, "see --oidc-client-id": 3, "accepts this service as its client again": 1, "groups": 0,
		} {
			if n := strings.Count(out.String(), text); n != want {
				t.Errorf("%d lines say %q; want %d\n%s", n, text, want, out.String())
			}
		}
	})
}
