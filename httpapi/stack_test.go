package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"linkledger/commands"
	"linkledger/commands/accounts"
	"linkledger/commands/destination"
	"linkledger/commands/domain"
	"linkledger/commands/metering"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/events/proof"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
	v3 "linkledger/httpapi/v3"
	"linkledger/internal/pgserver/postgrestest"
	"linkledger/internal/soak"
	"linkledger/internal/wiring"
	"linkledger/projections"
	"linkledger/projections/connection"
	"linkledger/projections/engine"
	"linkledger/projections/keystore"
	"linkledger/projections/keystore/keyfile"
	"linkledger/projections/level"
	"linkledger/projections/readmodel"
	"linkledger/queries/cache"
	"linkledger/queries/progress"
)

func TestMain(m *testing.M) {
	soak.Checks(10, 100)
	goleak.VerifyTestMain(branchMain{postgrestest.Main{M: m}})
}

// testTimeout bounds every wait of a test.
const testTimeout = time.Minute

const (
	shortHost = "sho.rt"
	noon      = "2026-05-14T12:00:00Z"
)

// These are the limits that the service documents.
const (
	loginsWithReason  = 20   // consecutive failed logins whose response contains the reason
	tagsOfOneCall     = 1000 // different ones
	detailsLength     = 300  // code points
	operationsWaiting = 16   // per account
	operationPortion  = 25   // URLs that an operation changes at once
)

func withTimeout(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	t.Cleanup(cancel)
	return ctx
}

// stack is the handler with its own event store, database and running projections.
type stack struct {
	handler  http.Handler
	events   *eventstoretest.Server
	store    *eventstore.Store
	db       *readmodel.DB
	commands *commands.Handler
	accounts *accounts.Accounts
	calls    *metering.Meter
	waiter   *progress.Waiter
	targets  *cache.Redirects
	level    *level.Watch
	logins   *cache.Logins
	log      *lines
	queries  *queryLog
	now      atomic.Pointer[time.Time]
}

// newStack builds a stack. The short links are under http://sho.rt, and the time is noon.
func newStack(t testing.TB, adjust ...func(*Config)) *stack {
	t.Helper()
	return newStackOn(t, eventstoretest.Serve(t), adjust...)
}

// newStackOn builds a stack on a given event store.
func newStackOn(t testing.TB, server *eventstoretest.Server, adjust ...func(*Config)) *stack {
	t.Helper()
	return newStackThat(t, engine.Config{}, server, adjust...)
}

// newStackThat builds a stack on a given event store, whose projections treat events that they cannot apply as cfg
// says.
func newStackThat(
	t testing.TB, projecting engine.Config, server *eventstoretest.Server, adjust ...func(*Config),
) *stack {
	t.Helper()
	s := &stack{log: &lines{}, queries: &queryLog{}, events: server}
	s.at(t, noon)
	s.openDatabase(t)
	s.store = eventstoretest.Open(t, s.events.URL())
	clock := func() time.Time { return *s.now.Load() }
	logger := slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	parts, err := wiring.New(wiring.Config{
		Store: s.store, DB: s.db, Destinations: destination.Rules{ShortHosts: []string{shortHost}},
		Identities: []byte("identities"), SigningKey: signingKey(), CacheSize: 16 << 20, Now: clock,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.accounts, s.commands, s.calls = parts.Accounts, parts.Commands, parts.UsageMeter
	s.waiter, s.level, s.targets, s.logins = parts.Waiter, parts.Level, parts.Visits.Cache, parts.Reads.Logins
	parts.Projections.Wait = s.waiter.Wait // a test may run no projection
	s.start(t, func(ctx context.Context) error { s.waiter.Run(ctx); return nil })
	s.start(t, parts.Visits.Clicks.Run)
	s.start(t, s.calls.Run)
	s.start(t, func(ctx context.Context) error {
		projecting.DB, projecting.Store, projecting.OnCommit = s.db, s.store, s.waiter.Committed
		return engine.Run(ctx, projections.All(), projecting)
	})
	cfg := Config{
		API: true, Redirects: true, Writes: parts.Writes, Reads: parts.Reads, Visits: parts.Visits,
		Projections: parts.Projections, Usage: v3.Usage{UsageMeter: s.calls}, Sessions: s.db.Keys,
		BaseURL: "http://" + shortHost, VisitorKey: bytes.Repeat([]byte("k"), 32),
		Limits: v3.Limits{WaitTimeout: testTimeout}, RequestTimeout: testTimeout, Now: clock, Logger: logger,
	}
	for _, change := range adjust {
		change(&cfg)
	}
	if s.handler, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("failed requests: %s", s.log.matching("request failed"))
		}
	})
	return s
}

// openDatabase opens a database whose readers log their queries. Its writers do not.
func (s *stack) openDatabase(t testing.TB) {
	t.Helper()
	dsn := prepared.NewDatabase(t)
	open := func(guards ...connection.Guard) *readmodel.DB {
		db, err := readmodel.Open(withTimeout(t), dsn, 8, guards...)
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	s.db = open(func(cfg *pgx.ConnConfig) { cfg.Tracer = s.queries })
	plain := open()
	s.db.Writers, plain.Writers = plain.Writers, s.db.Writers
	if err := plain.Close(); err != nil {
		t.Fatal(err)
	}
	var err error
	if s.db.Keys.Master, err = keyfile.NewMasterKey(bytes.Repeat([]byte("m"), keyfile.MasterKeySize), nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.db.Close() }) // a test may have closed it
}

// signingKey returns the key that signs the heads of all stacks.
var signingKey = sync.OnceValue(func() string {
	private, _, err := proof.NewKey(shortHost)
	if err != nil {
		panic(err)
	}
	return private
})

var prepared = postgrestest.NewTemplate(func(ctx context.Context, dsn string) error {
	db, err := readmodel.Open(ctx, dsn, 1)
	if err != nil {
		return err
	}
	return errors.Join(projections.Prepare(ctx, db), db.Keys.Create(ctx), db.Close())
})

// start runs a part until the test ends.
func (s *stack) start(t testing.TB, run func(context.Context) error) {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("a part of the stack: %v", err)
		}
	})
}

// at sets the clock.
func (s *stack) at(t testing.TB, now string) {
	t.Helper()
	parsed, err := time.Parse(time.RFC3339, now)
	if err != nil {
		t.Fatal(err)
	}
	s.now.Store(&parsed)
}

// caughtUp waits until the read models show everything that was recorded so far. It makes a write,
// which waits for its own events.
func (s *stack) caughtUp(t testing.TB) {
	t.Helper()
	s.client(t, "marker-"+uuid.NewString()).create(`"long_url":"https://example.com/"`)
}

// client opens an account and returns a client for it.
func (s *stack) client(t testing.TB, username string) *client {
	t.Helper()
	opened, err := s.accounts.Open(withTimeout(t), domain.Request{Command: uuid.New()}, username, "free")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.waiter.Wait(withTimeout(t), projections.Accounts, opened.Position.Commit); err != nil {
		t.Fatal(err)
	}
	return &client{t: t, handler: s.handler, username: username, key: opened.Key, id: opened.Account.ID}
}

// client calls the API as an account.
type client struct {
	t             testing.TB
	handler       http.Handler
	username, key string
	id            string
}

// answer is a response of the server, decoded if it is JSON of the API.
type answer struct {
	t      testing.TB
	status int
	header http.Header
	body   string

	contract.Envelope
	URLs []item         `json:"urls"`
	Page *contract.Page `json:"page"`

	Account  contract.Account        `json:"account"`
	Activity []contract.Activity     `json:"activity"`
	Changed  []contract.ChangedURL   `json:"changed"`
	Check    contract.Check          `json:"check"`
	Deleted  []contract.DeletedURL   `json:"deleted"`
	Head     contract.Head           `json:"head"`
	History  contract.History        `json:"history"`
	Keys     []contract.AccountKey   `json:"keys"`
	Members  []contract.Member       `json:"members"`
	Proof    contract.Proof          `json:"proof"`
	Session  contract.CurrentSession `json:"session"`
	Sessions []contract.Session      `json:"sessions"`
	Stats    []contract.Stats        `json:"stats"`
	Tags     []contract.Tag          `json:"tags"`
	Undo     contract.Undo           `json:"undo"`
}

// item is a URL or a failed item.
type item struct {
	contract.URL

	LongURL    *string `json:"long_url"`
	CustomHash *string `json:"custom_hash"`
}

// code returns the code of the error of an item.
func (i item) code() apierror.Code { return apierror.Code(i.Error.Code) }

// wire returns a time as the API answers it.
func wire(at contract.Timestamp) string { return at.Format("2006-01-02T15:04:05-07:00") }

// with changes a request before it is sent.
type with func(*http.Request)

func header(name, value string) with { return func(r *http.Request) { r.Header.Set(name, value) } }

func from(address, userAgent string) with {
	return func(r *http.Request) {
		r.RemoteAddr = address
		r.Header.Set("User-Agent", userAgent)
	}
}

// call sends a JSON body with the client's credentials.
func (c *client) call(method, path, body string, changes ...with) *answer {
	c.t.Helper()
	changes = append([]with{
		func(r *http.Request) { r.SetBasicAuth(c.username, c.key) }, header("Content-Type", "application/json"),
	}, changes...)
	return send(c.t, c.handler, method, path, body, changes...)
}

// must makes a call and fails the test if the call or an item fails.
func (c *client) must(method, path, body string, changes ...with) *answer {
	c.t.Helper()
	a := c.call(method, path, body, changes...)
	a.is(http.StatusOK, apierror.CodeOK)
	for i, item := range a.URLs {
		if item.Error != nil && item.code() != apierror.CodeOK {
			c.t.Fatalf("%s %s: item %d: %+v", method, path, i, *item.Error)
		}
	}
	return a
}

// create creates one URL with the given fields.
func (c *client) create(fields string) item {
	c.t.Helper()
	return c.must(http.MethodPost, "/v3/urls", `{"urls":[{`+fields+`}]}`).URLs[0]
}

// read reads one URL.
func (c *client) read(hash string) item {
	c.t.Helper()
	return c.must(http.MethodGet, "/v3/urls/"+hash, "").URLs[0]
}

func send(t testing.TB, handler http.Handler, method, path, body string, changes ...with) *answer {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "http://"+shortHost, strings.NewReader(body))
	var err error
	if r.URL, err = url.Parse("http://" + shortHost + path); err != nil {
		t.Fatal(err)
	}
	if body == "" {
		r.Body, r.ContentLength = http.NoBody, 0
	}
	for _, change := range changes {
		change(r)
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, r)
	a := answerOf(t, recorder.Result())
	if meant := r.Header.Get("X-HTTP-Method-Override"); meant != "" && method == http.MethodPost {
		method = strings.ToUpper(meant)
	}
	if strings.HasPrefix(r.URL.Path, "/v3/") && method != http.MethodHead &&
		strings.HasPrefix(a.header.Get("Content-Type"), "application/json") {
		a.conforms(r, method, body)
	}
	return a
}

func answerOf(t testing.TB, response *http.Response) *answer {
	t.Helper()
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := &answer{t: t, status: response.StatusCode, header: response.Header, body: string(body)}
	if strings.HasPrefix(a.header.Get("Content-Type"), "application/json") && len(body) > 0 {
		if err := json.Unmarshal(body, a); err != nil {
			t.Fatalf("%v in %s", err, body)
		}
	}
	return a
}

// code returns the code of the error of a call.
func (a *answer) code() apierror.Code { return apierror.Code(a.Error.Code) }

// is checks the status and the code of an envelope.
func (a *answer) is(status int, want apierror.Code) {
	a.t.Helper()
	if a.status != status || a.code() != want || a.Version != "3.1" || a.Error.Message != want.Message() {
		a.t.Fatalf("answered %d %s; want %d and code %d", a.status, a.body, status, want)
	}
}

// has checks that the details of the error contain a text.
func (a *answer) has(details string) {
	a.t.Helper()
	if !strings.Contains(a.Error.Details, details) {
		a.t.Errorf("details are %q; want %q in them", a.Error.Details, details)
	}
}

// failed checks the code and the details of a failed item.
func (i item) failed(t testing.TB, want apierror.Code, details string) {
	t.Helper()
	if i.Error == nil || i.code() != want || i.Error.Message != want.Message() ||
		!strings.Contains(i.Error.Details, details) {
		t.Errorf("item is %+v with error %+v; want code %d and details with %q", i, i.Error, want, details)
	}
}

// equal compares two values.
func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v; want %v", what, got, want)
	}
}

// lines is a log that tests can read.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// matching returns the lines that contain all of the texts.
func (l *lines) matching(texts ...string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []string
	for line := range strings.Lines(l.text.String()) {
		all := true
		for _, text := range texts {
			all = all && strings.Contains(line, text)
		}
		if all {
			found = append(found, line)
		}
	}
	return found
}

// queryLog records the queries that the database receives.
type queryLog struct {
	mu      sync.Mutex
	queries []string
}

// TraceQueryStart implements pgx.QueryTracer.
func (q *queryLog) TraceQueryStart(ctx context.Context, _ *pgx.Conn, query pgx.TraceQueryStartData) context.Context {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.queries) < 10_000 { // more than any test makes
		q.queries = append(q.queries, fmt.Sprint(query.SQL, query.Args))
	}
	return failQuery(ctx)
}

// TraceQueryEnd implements pgx.QueryTracer.
func (q *queryLog) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// reset returns the queries since the last reset that contain a text, with the text removed, so
// that queries about different accounts can be compared.
func (q *queryLog) reset(about string) []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	var found []string
	for _, query := range q.queries {
		if strings.Contains(query, about) {
			found = append(found, strings.ReplaceAll(query, about, ""))
		}
	}
	q.queries = nil
	return found
}

// longer returns the lines with more than a number of bytes.
func (l *lines) longer(bytes int) []string {
	return slices.DeleteFunc(l.matching(), func(line string) bool { return len(line) <= bytes })
}

// batch returns a body with n items.
func batch(n int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = `{"long_url":"https://example.com/` + strconv.Itoa(i) + `"}`
	}
	return `{"urls":[` + strings.Join(items, ",") + `]}`
}

// newStackless returns a configuration without an event store and a database.
func newStackless() Config {
	parts, err := wiring.New(wiring.Config{
		DB: &readmodel.DB{Keys: keystore.New(nil)}, CacheSize: 1 << 20, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	return Config{
		API: true, Redirects: true, Writes: parts.Writes, Reads: parts.Reads, Visits: parts.Visits,
		Projections: parts.Projections, Usage: v3.Usage{UsageMeter: parts.UsageMeter}, Sessions: keystore.New(nil),
		VisitorKey: make([]byte, 16),
	}
}
