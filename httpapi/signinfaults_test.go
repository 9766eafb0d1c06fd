package httpapi

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/openid/openidtest"
	"linkledger/httpapi/signin"
)

// watchSignIn makes the node of a site look for what keeps people from signing in, until stop.
func (s *site) watchSignIn(t *testing.T) (stop func()) {
	t.Helper()
	server, ok := s.handler.(*Server)
	if !ok {
		t.Fatalf("%T is no server", s.handler)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.WatchSignIn(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// fault returns what keeps people from signing in at a site.
func (s *site) fault(t *testing.T) string {
	t.Helper()
	err, offered := s.handler.(*Server).SignInFault()
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
func wantOperatorsTold(t *testing.T, a *answer, status int, code apierror.Code) {
	t.Helper()
	a.is(status, code)
	a.has("fault of this installation")
	a.has("operators")
	if strings.Contains(a.body, "try again") || strings.Contains(a.body, "sign in again") {
		t.Errorf("the person reads %s", a.body)
	}
}

// TestWrongIssuerIsToldAtTheStart configures an issuer that calls itself otherwise. That is known
// before anybody signs in, and over once the issuer is right.
func TestWrongIssuerIsToldAtTheStart(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	s.issuer.CallItself("https://id.example.com/realms/a")
	waiting, release := s.issuer.Hold(openidtest.DiscoveryPath)
	equal(t, "fault before the start", s.fault(t), "")
	stop := s.watchSignIn(t)
	defer stop()
	<-waiting // nothing else waits for the issuer
	s.client(t, "acme").create(`"long_url":"https://example.com/","custom_hash":"one"`)
	if a := s.visit(t, "GET", "/one"); a.status != http.StatusFound {
		t.Errorf("a link answers %d while the issuer is asked", a.status)
	}
	release()
	for range 2 {
		wantOperatorsTold(t, s.browser(t).call("GET", signin.BeginPath, ""), http.StatusInternalServerError, apierror.CodeUnknown)
	}
	if fault := s.fault(t); !strings.Contains(fault, "https://id.example.com/realms/a") || !strings.Contains(fault, s.issuer.URL) {
		t.Errorf("the fault is %q", fault)
	}
	const begin, over = "nobody can sign in with OpenID Connect: see --oidc-issuer", "people can sign in with OpenID Connect again"
	equal(t, "lines", len(s.log.matching(begin)), 1)
	if a := s.visit(t, "GET", "/one"); a.status != http.StatusFound {
		t.Errorf("a link answers %d with a wrong issuer", a.status)
	}
	s.issuer.CallItself(s.issuer.URL + "/")
	s.signIn(t, openidtest.Ada)
	equal(t, "fault at the end", s.fault(t), "")
	equal(t, "lines at the end", len(s.log.matching(begin))+len(s.log.matching(over)), 2)
}

// TestSilentIssuerIsTold is an issuer that does not answer at the start.
func TestSilentIssuerIsTold(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	s.issuer.Fail(openidtest.DiscoveryPath, http.StatusBadGateway)
	wantOperatorsTold(t, s.browser(t).call("GET", signin.BeginPath, ""), http.StatusServiceUnavailable, apierror.CodeUnknown)
	if fault := s.fault(t); !strings.Contains(fault, "502") {
		t.Errorf("the fault is %q", fault)
	}
	s.issuer.Override(openidtest.DiscoveryPath, nil)
	s.issuer.Misbehave(openidtest.TokenFails)
	wantOperatorsTold(t, s.finish(t, s.browser(t), openidtest.Ada), http.StatusServiceUnavailable, apierror.CodeUnknown)
	equal(t, "lines", len(s.log.matching("sign-in failed")), 2)
	equal(t, "fault at the end", s.fault(t), "")
}

// TestWrongClientSecretIsTold is a client secret that the issuer does not know, until it does.
func TestWrongClientSecretIsTold(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	right := s.issuer.Client()
	wrong := right
	wrong.Secret = "another"
	s.issuer.Register(wrong)
	for range 2 {
		wantOperatorsTold(t, s.finish(t, s.browser(t), openidtest.Ada), http.StatusInternalServerError, apierror.CodeUnknown)
	}
	if fault := s.fault(t); !strings.Contains(fault, "invalid_client") || strings.Contains(fault, right.Secret) {
		t.Errorf("the fault is %q", fault)
	}
	const begin, over = "see --oidc-client-id and --oidc-client-secret", "accepts this service as its client again"
	equal(t, "lines", len(s.log.matching(begin)), 1)
	s.issuer.Register(right)
	s.signIn(t, openidtest.Ada)
	equal(t, "fault at the end", s.fault(t), "")
	equal(t, "lines at the end", len(s.log.matching(begin))+len(s.log.matching(over)), 2)

	s.issuer.Refuse("invalid_scope") // any browser can bring this, so it is no state
	a := s.finish(t, s.browser(t), openidtest.Ada)
	wantOperatorsTold(t, a, http.StatusForbidden, apierror.CodeAccessDenied)
	a.has("invalid_scope")
	equal(t, "fault by a browser", s.fault(t), "")
}

// TestUnknownAccountOfGroupIsTold names accounts in the roles of groups that do not exist yet.
func TestUnknownAccountOfGroupIsTold(t *testing.T) {
	t.Parallel()
	s := newSite(t, "staff=acme:viewer;other=acme:owner;engineers=labs:owner;ops=operator")
	person := openidtest.Ada
	s.client(t, "labs")
	stop := s.watchSignIn(t)
	b, _ := s.signIn(t, person) // who has one of the roles
	stop()
	equal(t, "account", *b.must("GET", "/v3/session", "").Session.Account, "labs")
	if fault := s.fault(t); !strings.HasSuffix(fault, "do not exist: acme") {
		t.Errorf("the fault is %q", fault)
	}
	const begin, over = "the account of a group does not exist: see --oidc-groups", "the accounts of all groups exist"
	equal(t, "lines", len(s.log.matching(begin)), 1)
	s.client(t, "acme")
	stop = s.watchSignIn(t)
	ctx, looks := withTimeout(t), time.NewTicker(time.Millisecond)
	defer looks.Stop()
	for s.fault(t) != "" {
		select {
		case <-looks.C:
		case <-ctx.Done():
			t.Fatal("the fault lasts")
		}
	}
	stop()
	s.signIn(t, person)
	equal(t, "fault at the end", s.fault(t), "")
	equal(t, "lines at the end", len(s.log.matching(begin))+len(s.log.matching(over)), 2)
}
