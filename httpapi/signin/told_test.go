package signin_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/openid/openidtest"
	"linkledger/httpapi/signin"
)

// watchSignIn makes the node of a site look for what keeps people from signing in, until stop.
func watchSignIn(t *testing.T, s *browsertest.Site) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Server.WatchSignIn(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// faultOf returns what keeps people from signing in at a site.
func faultOf(t *testing.T, s *browsertest.Site) string {
	t.Helper()
	err, offered := s.Server.SignInFault()
	if !offered {
		t.Error("people cannot sign in")
	}
	if err == nil {
		return ""
	}
	return err.Error()
}

// wantOperatorsTold checks that the person of a refused sign-in reads that it is not their fault,
// and is not told to try again.
func wantOperatorsTold(t *testing.T, a *httpapitest.Answer, status int, code apierror.Code) {
	t.Helper()
	a.Is(status, code)
	a.Has("fault of this installation")
	a.Has("operators")
	if strings.Contains(a.Body, "try again") || strings.Contains(a.Body, "sign in again") {
		t.Errorf("the person reads %s", a.Body)
	}
}

// TestWrongIssuerIsToldAtTheStart configures an issuer that calls itself otherwise. That is known
// before anybody signs in, and over once the issuer is right.
func TestWrongIssuerIsToldAtTheStart(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	s.Issuer.CallItself("https://id.example.com/realms/a")
	waiting, release := s.Issuer.Hold(openidtest.DiscoveryPath)
	httpapitest.Equal(t, "fault before the start", faultOf(t, s), "")
	stop := watchSignIn(t, s)
	defer stop()
	<-waiting // nothing else waits for the issuer
	s.Client(t, "acme").Create(`"long_url":"https://example.com/","custom_hash":"one"`)
	if a := s.Visit(t, "GET", "/one"); a.Status != http.StatusFound {
		t.Errorf("a link answers %d while the issuer is asked", a.Status)
	}
	release()
	for range 2 {
		wantOperatorsTold(t, s.Browser(t).Call("GET", signin.BeginPath, ""), http.StatusInternalServerError, apierror.CodeUnknown)
	}
	if fault := faultOf(t, s); !strings.Contains(fault, "https://id.example.com/realms/a") || !strings.Contains(fault, s.Issuer.URL) {
		t.Errorf("the fault is %q", fault)
	}
	const begin, over = "people cannot sign in with OpenID Connect: see --oidc-issuer", "people can sign in with OpenID Connect again"
	httpapitest.Equal(t, "lines", len(s.Log.Matching(begin)), 1)
	if a := s.Visit(t, "GET", "/one"); a.Status != http.StatusFound {
		t.Errorf("a link answers %d with a wrong issuer", a.Status)
	}
	s.Issuer.CallItself(s.Issuer.URL + "/")
	s.SignIn(t, openidtest.Ada)
	httpapitest.Equal(t, "fault at the end", faultOf(t, s), "")
	httpapitest.Equal(t, "lines at the end", len(s.Log.Matching(begin))+len(s.Log.Matching(over)), 2)
}

// TestSilentIssuerIsTold is an issuer that does not answer at the start.
func TestSilentIssuerIsTold(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	s.Issuer.Fail(openidtest.DiscoveryPath, http.StatusBadGateway)
	wantOperatorsTold(t, s.Browser(t).Call("GET", signin.BeginPath, ""), http.StatusServiceUnavailable, apierror.CodeUnknown)
	if fault := faultOf(t, s); !strings.Contains(fault, "502") {
		t.Errorf("the fault is %q", fault)
	}
	s.Issuer.Override(openidtest.DiscoveryPath, nil)
	s.Issuer.Misbehave(openidtest.TokenFails)
	wantOperatorsTold(t, s.Finish(t, s.Browser(t), openidtest.Ada), http.StatusServiceUnavailable, apierror.CodeUnknown)
	httpapitest.Equal(t, "lines", len(s.Log.Matching("sign-in failed")), 2)
	httpapitest.Equal(t, "fault at the end", faultOf(t, s), "")
}

// TestWrongClientSecretIsTold is a client secret that the issuer does not know, until it does.
func TestWrongClientSecretIsTold(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	right := s.Issuer.Client()
	wrong := right
	wrong.Secret = "another"
	s.Issuer.Register(wrong)
	for range 2 {
		wantOperatorsTold(t, s.Finish(t, s.Browser(t), openidtest.Ada), http.StatusInternalServerError, apierror.CodeUnknown)
	}
	if fault := faultOf(t, s); !strings.Contains(fault, "invalid_client") || strings.Contains(fault, right.Secret) {
		t.Errorf("the fault is %q", fault)
	}
	const begin, over = "see --oidc-client-id and --oidc-client-secret", "accepts this service as its client again"
	httpapitest.Equal(t, "lines", len(s.Log.Matching(begin)), 1)
	s.Issuer.Register(right)
	s.SignIn(t, openidtest.Ada)
	httpapitest.Equal(t, "fault at the end", faultOf(t, s), "")
	httpapitest.Equal(t, "lines at the end", len(s.Log.Matching(begin))+len(s.Log.Matching(over)), 2)

	s.Issuer.Refuse("invalid_scope") // any browser can bring this, so it is no state
	a := s.Finish(t, s.Browser(t), openidtest.Ada)
	wantOperatorsTold(t, a, http.StatusForbidden, apierror.CodeAccessDenied)
	a.Has("invalid_scope")
	httpapitest.Equal(t, "fault by a browser", faultOf(t, s), "")
}

// TestUnknownAccountOfGroupIsTold names accounts in the roles of groups that do not exist yet.
func TestUnknownAccountOfGroupIsTold(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "staff=acme:viewer;other=acme:owner;engineers=labs:owner;ops=operator")
	person := openidtest.Ada
	s.Client(t, "labs")
	stop := watchSignIn(t, s)
	b, _ := s.SignIn(t, person) // who has one of the roles
	stop()
	httpapitest.Equal(t, "account", *b.Must("GET", "/v3/session", "").Session.Account, "labs")
	if fault := faultOf(t, s); !strings.HasSuffix(fault, "do not exist: acme") {
		t.Errorf("the fault is %q", fault)
	}
	const begin, over = "the account of a group does not exist: see --oidc-groups", "the accounts of all groups exist"
	httpapitest.Equal(t, "lines", len(s.Log.Matching(begin)), 1)
	s.Client(t, "acme")
	stop = watchSignIn(t, s)
	ctx, looks := httpapitest.WithTimeout(t), time.NewTicker(time.Millisecond)
	defer looks.Stop()
	for faultOf(t, s) != "" {
		select {
		case <-looks.C:
		case <-ctx.Done():
			t.Fatal("the fault lasts")
		}
	}
	stop()
	s.SignIn(t, person)
	httpapitest.Equal(t, "fault at the end", faultOf(t, s), "")
	httpapitest.Equal(t, "lines at the end", len(s.Log.Matching(begin))+len(s.Log.Matching(over)), 2)
}
