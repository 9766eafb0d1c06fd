package app_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"linkledger/commands"
	"linkledger/commands/domain"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/internal/admin"
	"linkledger/internal/app"
	"linkledger/internal/config"
	"linkledger/internal/pgserver/postgrestest"
	"linkledger/internal/secret"
	"linkledger/internal/usage"
	"linkledger/projections"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(idleMain{postgrestest.Main{M: m}}) }

// idleMain closes the connections that tests leave idle.
type idleMain struct{ postgrestest.Main }

// Run runs the tests.
func (m idleMain) Run() int {
	defer http.DefaultClient.CloseIdleConnections()
	return m.Main.Run()
}

const (
	testTimeout = time.Minute
	masterKey   = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
)

// process is the process of a service.
type process struct {
	*app.Service

	t                 *testing.T
	serving           *app.Public
	internal          *admin.Server
	public, operators string // URLs
	cfg               app.Config
}

// newProcess opens the addresses of a process, on a new event store and database.
func newProcess(t *testing.T) *process {
	t.Helper()
	logger := slog.New(slog.DiscardHandler)
	p := &process{t: t, cfg: app.Config{
		Serving: config.Serving{LogRequests: "none"},
		Backends: config.Backends{
			Eventstore: secret.Connection(eventstoretest.Serve(t).URL()),
			Database:   secret.Connection(postgrestest.NewDatabase(t)),
			Sealing:    config.Sealing{MasterKey: masterKey},
		},
		Redirecting: config.Redirecting{
			CacheSize: 1, Spool: filepath.Join(t.TempDir(), "spool"), SpoolSize: 1,
			ClickPatience: time.Second, VisitorKey: "visitor",
		},
		Projecting: config.Projecting{ReadyMaxLag: testTimeout, WaitTimeout: 8 * time.Second},
		Roles:      []config.Role{config.RoleAPI, config.RoleRedirect, config.RoleProjector},
		Logger:     logger, LostLines: func() uint64 { return 0 }, Getenv: func(string) string { return "" },
	}}
	public, private := eventstoretest.Listen(t), eventstoretest.Listen(t)
	p.public, p.operators = "http://"+public.Addr().String(), "http://"+private.Addr().String()
	p.serving, p.internal = app.ServePublic(public, p.cfg.Roles, logger), admin.Serve(private, logger)
	t.Cleanup(func() { _, _ = p.serving.Close(), p.internal.Close() })
	return p
}

func (p *process) open() (err error) {
	p.Service, err = app.Open(p.t.Context(), p.cfg, p.internal)
	return err
}

// run opens the service and runs it. The returned function ends it, and returns the error of Run.
func (p *process) run() (end func() error) {
	p.t.Helper()
	if err := p.open(); err != nil {
		p.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(p.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx, p.serving, p.internal) }()
	closed := false
	end = func() error {
		stop()
		if closed {
			return nil
		}
		closed = true
		return errors.Join(<-ended, p.Close())
	}
	p.t.Cleanup(func() { _ = end() })
	return end
}

// get returns the status and the body of an answer, and whether it is the last of its connection. The status is 0 if
// nothing answers.
func (p *process) get(address string) (status int, body string, last bool) {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		p.t.Fatal(err)
	}
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return 0, err.Error(), false
	}
	defer answer.Body.Close()
	read, err := io.ReadAll(answer.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return answer.StatusCode, string(read), answer.Close
}

// await asks until an answer has a status.
func (p *process) await(address string, want int) {
	p.t.Helper()
	deadline := time.After(testTimeout)
	for {
		status, body, _ := p.get(address)
		if status == want {
			return
		}
		select {
		case <-deadline:
			p.t.Fatalf("%s answers %d, want %d: %s", address, status, want, body)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// link makes a link of a new account, and waits until the read models show it.
func (p *process) link(hash string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), testTimeout)
	defer cancel()
	opened, err := p.Accounts.Open(ctx, domain.Request{Command: uuid.New()}, "ada", "free")
	if err != nil {
		p.t.Fatal(err)
	}
	made := p.Commands.CreateURLs(
		ctx, domain.Request{Account: opened.Account.ID, Command: uuid.New()},
		[]commands.CreateURL{{LongURL: "https://example.com/", CustomHash: hash}},
	).Items[0]
	if made.Err != nil {
		p.t.Fatal(made.Err)
	}
	if err := p.Waiter.Wait(ctx, projections.Links, made.Position.Commit); err != nil {
		p.t.Fatal(err)
	}
}

// TestService follows a service from its start to its end.
func TestService(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	p.cfg.DrainDelay = 3 * time.Second
	if status, _, _ := p.get(p.public + "/one"); status != http.StatusServiceUnavailable {
		t.Errorf("before the start a visit is answered %d", status)
	}
	end := p.run()
	p.await(p.operators+"/health/ready", http.StatusOK)
	p.link("one")
	p.await(p.public+"/one", http.StatusFound)
	if status, _, _ := p.get(p.public + "/v3/urls"); status != http.StatusBadRequest {
		t.Errorf("a call without credentials is answered %d", status)
	}

	ended := make(chan error, 1)
	go func() { ended <- end() }()
	p.await(p.operators+"/health/ready", http.StatusServiceUnavailable)
	if status, _, last := p.get(p.public + "/one"); status != http.StatusFound || !last {
		t.Errorf("while it drains a visit is answered %d, the last of its connection: %t", status, last)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for _, address := range []string{p.public, p.operators} {
		if status, _, _ := p.get(address); status != 0 {
			t.Errorf("after the end %s answers %d", address, status)
		}
	}
}

// TestHeldRequests checks that requests wait until the read models show the log, and that a failure ends the service at
// once.
func TestHeldRequests(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	p.cfg.DrainDelay = time.Hour
	if err := p.open(); err != nil {
		t.Fatal(err)
	}
	head, err := p.Store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	release, failed := make(chan struct{}), errors.New("held")
	p.HoldUntil(head, func() error { <-release; return failed })
	ended := make(chan error, 1)
	go func() { ended <- p.Run(context.WithoutCancel(t.Context()), p.serving, p.internal) }()
	if err := p.CatchUp(t.Context(), head); err != nil {
		t.Error(err)
	}
	if status, _, _ := p.get(p.public + "/one"); status != http.StatusServiceUnavailable {
		t.Errorf("a visit that is held is answered %d", status)
	}
	close(release)
	if err := <-ended; !errors.Is(err, failed) {
		t.Errorf("Run: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// TestClosedInternalAddress checks that a service without its internal address fails at once, and waits for no load
// balancer, which could not notice.
func TestClosedInternalAddress(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	p.cfg.DrainDelay = time.Hour
	if err := p.open(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Run(context.WithoutCancel(t.Context()), p.serving, p.internal) }()
	p.await(p.operators+"/health/ready", http.StatusOK)
	if err := p.internal.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "the internal address is closed") {
		t.Errorf("Run: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// TestOpenRefuses checks that a start names the flag to change.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	if err := p.open(); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	none := filepath.Join(t.TempDir(), "none")
	for name, spoil := range map[string]func(*app.Config){
		"master-key":         func(c *app.Config) { c.MasterKey = "*" },
		"eventstore":         func(c *app.Config) { c.Eventstore = "esdb://" },
		"database":           func(c *app.Config) { c.Database = "postgres://%" },
		"blocked-hosts":      func(c *app.Config) { c.BlockedHosts = none },
		"agents":             func(c *app.Config) { c.Agents = none },
		"countries":          func(c *app.Config) { c.Countries = none },
		"former-visitor-key": func(c *app.Config) { c.FormerVisitorKey = "none" },
		"signing-key":        func(c *app.Config) { c.SigningKey = "none" },
		"spool":              func(c *app.Config) { c.Spool = "/dev/null/spool" },
	} {
		cfg := p.cfg
		spoil(&cfg)
		_, err := app.Open(t.Context(), cfg, p.internal)
		plain := name == "master-key" || name == "eventstore"
		if !usage.Is(err) || !plain && !strings.Contains(err.Error(), "--"+name+" (") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSignInNeedsAMasterKey checks that a service with an issuer does not start without a master key.
func TestSignInNeedsAMasterKey(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	p.cfg.MasterKey, p.cfg.OIDCIssuer, p.cfg.OIDCClientID = "", "https://id.example", "c"
	if err := p.open(); !usage.Is(err) || !strings.Contains(err.Error(), "--master-key") {
		t.Error(err)
	}
}

// TestNoPublicAddress checks that a process without API and redirects closes its public address.
func TestNoPublicAddress(t *testing.T) {
	t.Parallel()
	listener := eventstoretest.Listen(t)
	served := app.ServePublic(listener, []config.Role{config.RoleProjector}, slog.New(slog.DiscardHandler))
	if _, err := listener.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the address accepts connections: %v", err)
	}
	if err := served.Close(); err != nil {
		t.Error(err)
	}
}
