package proofs_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"linkledger/commands/domain"
	"linkledger/commands/restoring"
	"linkledger/events/archive"
	"linkledger/httpapi"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
)

// TestProofs proves what an account did to a link, and checks the proof, also of a log that differs.
func TestProofs(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c, other := s.Client(t, "acme"), s.Client(t, "other")
	c.Create(`"long_url":"https://example.com/1","custom_hash":"one"`)
	c.Must("PATCH", "/v3/urls/one", `{"urls":[{"note":"changed"}]}`)
	p := c.Must("GET", "/v3/urls/one/proof", "").Proof
	httpapitest.Equal(t, "events proved", p.Events, 3)
	found := c.Check(p.File)
	if !found.Valid || !found.InLog || len(found.Events) != 3 {
		t.Fatalf("the check says %+v", found)
	}
	last := found.Events[2]
	if last.Type != "url.settings_changed.v1" || !strings.HasPrefix(last.Stream, "url-") || strings.Contains(last.Data, "changed\"") {
		t.Errorf("proves %+v; notes are sealed", last)
	}
	page := c.Must("GET", "/v3/urls/one/proof?offset=2&limit=1", "").Proof
	if page.Events != 1 || !c.Check(page.File).Valid {
		t.Errorf("a page proves %+v", page)
	}

	// What others did is left out. They cannot prove the link at all.
	outcome := s.Commands.RestoreURL(
		httpapitest.WithTimeout(t), domain.Request{Operator: true, Command: uuid.New(), ID: uuid.NewString()},
		restoring.RestoreURL{Hash: "one", Version: new(int64(0))},
	)
	if outcome.Err != nil {
		t.Fatal(outcome.Err)
	}
	p = c.Must("GET", "/v3/urls/one/proof", "").Proof
	if p.Events != 3 || p.LeftOut == 0 {
		t.Errorf("after a change by an operator %d events are proved, and %d left out", p.Events, p.LeftOut)
	}
	other.Call("GET", "/v3/urls/one/proof", "").Is(http.StatusNotFound, apierror.CodeURLNotFound)
	other.Call("GET", "/v3/urls/!/proof", "").Is(http.StatusBadRequest, apierror.CodeInvalidHash)

	// Another head of the same log continues it. A change of one character proves nothing.
	if head := c.Must("GET", "/v3/head", "").Head; head.Events < p.Head.Events || head.PublicKey != p.Head.PublicKey {
		t.Errorf("the head %+v comes after %+v", head, p.Head)
	}
	for what, file := range map[string]string{
		"a changed event":    strings.Replace(p.File, "url.created.v1", "url.created.v2", 1),
		"a changed root":     strings.Replace(p.File, `\n\n`, `\nx\n`, 1),
		"a file of text":     "proof",
		"an empty file":      "",
		"a file cut in half": p.File[:len(p.File)/2],
	} {
		if got := c.Check(file); got.Valid || got.Reason == "" {
			t.Errorf("%s: %+v", what, got)
		}
	}
	c.Call("POST", "/v3/proofs", `{}`).Is(http.StatusBadRequest, apierror.CodeMissingInput)

	// A proof of another log with the same key is no proof of this one.
	foreign := httpapitest.New(t).Client(t, "acme")
	for range 20 {
		foreign.Create(`"long_url":"https://example.com/"`)
	}
	foreign.Create(`"long_url":"https://example.com/1","custom_hash":"one"`)
	if got := c.Check(foreign.Must("GET", "/v3/urls/one/proof", "").Proof.File); !got.Valid || got.InLog {
		t.Errorf("a proof of another log: %+v", got)
	}
}

// TestExportsAreChecked checks exports: whole ones of this log, one of another, and damaged ones.
func TestExportsAreChecked(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "acme")
	c.Create(`"long_url":"https://example.com/1","custom_hash":"one","tags":["news"]`)
	for format, account := range map[archive.Format]string{archive.NDJSON: c.ID, archive.CSV: ""} {
		file := s.Exported(t, format, account)
		got := c.Check(file)
		if !got.Valid || !got.InLog || got.Export == nil || got.Export.Events < 4 || got.Export.Root == "" ||
			(got.Export.Account == nil) != (account == "") {
			t.Errorf("an export as %s: %+v %+v", format, got, got.Export)
		}
		for what, damaged := range map[string]string{
			"a changed event": strings.Replace(file, "example.com", "example.org", 1), "half of it": file[:len(file)/2],
			"nothing but its beginning": `{"export":`,
		} {
			if got := c.Check(damaged); got.Valid || got.InLog || got.Reason == "" || got.Export != nil {
				t.Errorf("%s: %+v", what, got)
			}
		}
	}
	foreign := httpapitest.New(t)
	stranger := foreign.Client(t, "acme")
	if got := stranger.Check(s.Exported(t, archive.NDJSON, "")); !got.Valid || got.InLog {
		t.Errorf("an export of a longer log: %+v", got)
	}
	stranger.Create(`"long_url":"https://example.com/1","custom_hash":"one"`)
	file := foreign.Exported(t, archive.NDJSON, "")
	if got := c.Check(file); !got.Valid || got.InLog {
		t.Errorf("an export of another log: %+v", got)
	}
}

// TestNoProofOfAnAlteredTree changes the leaf of an event in PostgreSQL. The answer is neither a proof, nor that the
// link is not found, nor that the call should be repeated.
func TestNoProofOfAnAlteredTree(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "acme")
	c.Create(`"long_url":"https://example.com/1","custom_hash":"one"`)
	c.Must("GET", "/v3/urls/one/proof", "")
	if _, err := s.DB.NewRaw(
		"UPDATE linkledger.tree_tiles SET hashes = decode(repeat('00', length(hashes)), 'hex') WHERE level = 0",
	).Exec(httpapitest.WithTimeout(t)); err != nil {
		t.Fatal(err)
	}
	c.Call("GET", "/v3/urls/one/proof", "").Is(http.StatusInternalServerError, apierror.CodeUnknown)
	if len(s.Log.Matching("audit verify says where")) == 0 {
		t.Error("the log does not say what was altered")
	}
}

// TestProofsWithoutAKey checks that a service without a key says so.
func TestProofsWithoutAKey(t *testing.T) {
	t.Parallel()
	c := httpapitest.New(t, func(cfg *httpapi.Config) { cfg.Prover = nil }).Client(t, "acme")
	c.Create(`"long_url":"https://example.com/1","custom_hash":"one"`)
	for _, call := range []string{"GET /v3/head", "GET /v3/urls/one/proof", "POST /v3/proofs"} {
		method, path, _ := strings.Cut(call, " ")
		a := c.Call(method, path, `{"file":""}`)
		a.Is(http.StatusBadRequest, apierror.CodeWrongInput)
		if !strings.Contains(a.Body, "--signing-key") {
			t.Errorf("%s: %s", call, a.Body)
		}
	}
}
