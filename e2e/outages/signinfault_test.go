package outages_test

import (
	"net/http"
	"path/filepath"
	"testing"

	"linkledger/e2e/e2etest"
	"linkledger/httpapi/openid/openidtest"
)

// TestSignInFaultsAreTold starts with an issuer that calls itself otherwise, and with a group for an account that does
// not exist. Both are known before anybody signs in, and the service is ready and serves.
func TestSignInFaultsAreTold(t *testing.T) {
	t.Parallel()
	issuer := openidtest.New(t)
	issuer.CallItself("https://id.example.com/realms/other")
	d := e2etest.StartDev(
		t, filepath.Join(t.TempDir(), "data"), "--oidc-issuer", issuer.URL, "--oidc-client-id", "linkledger",
		"--oidc-groups", "staff=nowhere:viewer",
	)
	e2etest.AwaitReady(t, d.Admin, http.StatusOK, `is the issuer \"https://id.example.com/realms/other\"; groups have roles in accounts `+
		`that do not exist: nowhere"`)
	e2etest.AwaitReady(t, d.Admin, http.StatusOK, `"sign-in":"degraded: the issuer and the configuration do not fit: `)
	d.Call("POST", "/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"one"}]}`)
	issuer.CallItself(issuer.URL + "/")
	// The issuer is asked again every ten seconds.
	e2etest.AwaitReady(t, d.Admin, http.StatusOK, `"sign-in":"degraded: groups have roles in accounts that do not exist: nowhere"`)
	d.Interrupt()
}
