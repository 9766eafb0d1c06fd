package httpapi

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"linkledger/commands/domain"
	"linkledger/commands/restoring"
	"linkledger/events/archive"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
)

func (c *client) check(file string) contract.Check {
	c.t.Helper()
	body, err := json.Marshal(contract.ProofPayload{File: file})
	if err != nil {
		c.t.Fatal(err)
	}
	return c.must(http.MethodPost, "/v3/proofs", string(body)).Check
}

// TestProofs proves what an account did to a link, and checks the proof, also of a log that differs.
func TestProofs(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c, other := s.client(t, "acme"), s.client(t, "other")
	c.create(`"long_url":"https://example.com/1","custom_hash":"one"`)
	c.must("PATCH", "/v3/urls/one", `{"urls":[{"note":"changed"}]}`)
	p := c.must("GET", "/v3/urls/one/proof", "").Proof
	equal(t, "events proved", p.Events, 3)
	found := c.check(p.File)
	if !found.Valid || !found.InLog || len(found.Events) != 3 {
		t.Fatalf("the check says %+v", found)
	}
	last := found.Events[2]
	if last.Type != "url.settings_changed.v1" || !strings.HasPrefix(last.Stream, "url-") || strings.Contains(last.Data, "changed\"") {
		t.Errorf("proves %+v; notes are sealed", last)
	}
	page := c.must("GET", "/v3/urls/one/proof?offset=2&limit=1", "").Proof
	if page.Events != 1 || !c.check(page.File).Valid {
		t.Errorf("a page proves %+v", page)
	}

	// What others did is left out. They cannot prove the link at all.
	outcome := s.commands.RestoreURL(
		withTimeout(t), domain.Request{Operator: true, Command: uuid.New(), ID: uuid.NewString()},
		restoring.RestoreURL{Hash: "one", Version: new(int64(0))},
	)
	if outcome.Err != nil {
		t.Fatal(outcome.Err)
	}
	p = c.must("GET", "/v3/urls/one/proof", "").Proof
	if p.Events != 3 || p.LeftOut == 0 {
		t.Errorf("after a change by an operator %d events are proved, and %d left out", p.Events, p.LeftOut)
	}
	other.call("GET", "/v3/urls/one/proof", "").is(http.StatusNotFound, apierror.CodeURLNotFound)
	other.call("GET", "/v3/urls/!/proof", "").is(http.StatusBadRequest, apierror.CodeInvalidHash)

	// Another head of the same log continues it. A change of one character proves nothing.
	if head := c.must("GET", "/v3/head", "").Head; head.Events < p.Head.Events || head.PublicKey != p.Head.PublicKey {
		t.Errorf("the head %+v comes after %+v", head, p.Head)
	}
	for what, file := range map[string]string{
		"a changed event":    strings.Replace(p.File, "url.created.v1", "url.created.v2", 1),
		"a changed root":     strings.Replace(p.File, `\n\n`, `\nx\n`, 1),
		"a file of text":     "proof",
		"an empty file":      "",
		"a file cut in half": p.File[:len(p.File)/2],
	} {
		if got := c.check(file); got.Valid || got.Reason == "" {
			t.Errorf("%s: %+v", what, got)
		}
	}
	c.call("POST", "/v3/proofs", `{}`).is(http.StatusBadRequest, apierror.CodeMissingInput)

	// A proof of another log with the same key is no proof of this one.
	foreign := newStack(t).client(t, "acme")
	for range 20 {
		foreign.create(`"long_url":"https://example.com/"`)
	}
	foreign.create(`"long_url":"https://example.com/1","custom_hash":"one"`)
	if got := c.check(foreign.must("GET", "/v3/urls/one/proof", "").Proof.File); !got.Valid || got.InLog {
		t.Errorf("a proof of another log: %+v", got)
	}
}

// exported returns the file of the events of an account, or of all with the empty account, in a format.
func (s *stack) exported(t *testing.T, format archive.Format, account string) string {
	t.Helper()
	s.caughtUp(t)
	var file strings.Builder
	export, err := archive.Begin(withTimeout(t), s.store, &file, archive.Header{Format: format, Account: account})
	if err == nil {
		_, err = export.Run(withTimeout(t), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file.String()
}

// TestExportsAreChecked checks exports: whole ones of this log, one of another, and damaged ones.
func TestExportsAreChecked(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	c := s.client(t, "acme")
	c.create(`"long_url":"https://example.com/1","custom_hash":"one","tags":["news"]`)
	b := s.browser(t)
	b.signInBy(c)
	for format, account := range map[archive.Format]string{archive.NDJSON: c.id, archive.CSV: ""} {
		file := s.exported(t, format, account)
		got := c.check(file)
		if !got.Valid || !got.InLog || got.Export == nil || got.Export.Events < 4 || got.Export.Root == "" ||
			(got.Export.Account == nil) != (account == "") {
			t.Errorf("an export as %s: %+v %+v", format, got, got.Export)
		}
		if page := b.upload(file); !strings.Contains(page.body, "The export is as its manifest says") ||
			!strings.Contains(textOf(page.body), "The log has each of its") {
			t.Errorf("an export as %s: %d\n%s", format, page.status, page.body)
		}
		for what, damaged := range map[string]string{
			"a changed event": strings.Replace(file, "example.com", "example.org", 1), "half of it": file[:len(file)/2],
			"nothing but its beginning": `{"export":`,
		} {
			if got := c.check(damaged); got.Valid || got.InLog || got.Reason == "" || got.Export != nil {
				t.Errorf("%s: %+v", what, got)
			}
		}
	}
	foreign := newStack(t)
	stranger := foreign.client(t, "acme")
	if got := stranger.check(s.exported(t, archive.NDJSON, "")); !got.Valid || got.InLog {
		t.Errorf("an export of a longer log: %+v", got)
	}
	stranger.create(`"long_url":"https://example.com/1","custom_hash":"one"`)
	file := foreign.exported(t, archive.NDJSON, "")
	if got := c.check(file); !got.Valid || got.InLog {
		t.Errorf("an export of another log: %+v", got)
	}
	if page := b.upload(file); !strings.Contains(textOf(page.body), "The log does not have all of its") {
		t.Errorf("an export of another log: %d\n%s", page.status, page.body)
	}
}

// TestNoProofOfAnAlteredTree changes the leaf of an event in PostgreSQL. The answer is neither a proof, nor that the
// link is not found, nor that the call should be repeated.
func TestNoProofOfAnAlteredTree(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(t, "acme")
	c.create(`"long_url":"https://example.com/1","custom_hash":"one"`)
	c.must("GET", "/v3/urls/one/proof", "")
	if _, err := s.db.NewRaw(
		"UPDATE linkledger.tree_tiles SET hashes = decode(repeat('00', length(hashes)), 'hex') WHERE level = 0",
	).Exec(withTimeout(t)); err != nil {
		t.Fatal(err)
	}
	c.call("GET", "/v3/urls/one/proof", "").is(http.StatusInternalServerError, apierror.CodeUnknown)
	if len(s.log.matching("audit verify says where")) == 0 {
		t.Error("the log does not say what was altered")
	}
}

// TestProofsWithoutAKey checks that a service without a key says so.
func TestProofsWithoutAKey(t *testing.T) {
	t.Parallel()
	c := newStack(t, func(cfg *Config) { cfg.Prover = nil }).client(t, "acme")
	c.create(`"long_url":"https://example.com/1","custom_hash":"one"`)
	for _, call := range []string{"GET /v3/head", "GET /v3/urls/one/proof", "POST /v3/proofs"} {
		method, path, _ := strings.Cut(call, " ")
		a := c.call(method, path, `{"file":""}`)
		a.is(http.StatusBadRequest, apierror.CodeWrongInput)
		if !strings.Contains(a.body, "--signing-key") {
			t.Errorf("%s: %s", call, a.body)
		}
	}
}
