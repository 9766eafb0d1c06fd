package commands

import (
	"bytes"
	"errors"
	"testing"

	"linkledger/commands/accounts"
	"linkledger/commands/audit"
	"linkledger/commands/audit/audittest"
	"linkledger/commands/commandstest"
	"linkledger/commands/domain"
	"linkledger/commands/hashes"
	"linkledger/commands/restoring"
	"linkledger/commands/streams"
	"linkledger/events"
)

// sealing returns a stack that seals its notes, another stack on the same log with no key in its
// memory, and an account.
func sealing(t *testing.T) (s, fresh *stack, keys *commandstest.SealingKeys, account string) {
	t.Helper()
	keys = commandstest.NewSealingKeys()
	s = newStack(t)
	s, fresh = s.again(keys), s.again(keys)
	opened, err := s.Open(t.Context(), request(""), "erin", "free")
	if err != nil {
		t.Fatal(err)
	}
	return s, fresh, keys, opened.Account.ID
}

func TestEraseAccount(t *testing.T) {
	t.Parallel()
	s, fresh, keys, account := sealing(t)
	plain := newStackOn(s)
	plain.create(
		t, request(account), CreateURL{LongURL: "https://example.com/1", CustomHash: "one", Note: "never sealed"},
	)
	if _, err := s.edit(t, request(account), "one", EditURL{Note: new("first")}); err != nil {
		t.Fatal(err)
	}
	edit := ownBatch(account)
	if url, err := s.edit(t, edit, "one", EditURL{Note: new("second")}); err != nil || url.Note != "second" ||
		url.NoteErased() {
		t.Fatalf("edited to %+v, %v", url, err)
	}
	if loaded, err := s.store.Load(t.Context(), s.streamOf(t, "one")); err != nil ||
		bytes.Contains(loaded[2].Data, []byte("second")) {
		t.Fatalf("stored as %s, %v", loaded[2].Data, err)
	}
	audittest.WantEntries(t, fresh.history(t, audit.HistoryQuery{Hash: "one"}).Entries[1:],
		`url.created.v1 by "`+account+
			`" hash: <nil> -> one long_url: <nil> -> https://example.com/1 note: <nil> -> never sealed`,
		`url.settings_changed.v1 by "`+account+`" note: never sealed -> first`,
		`url.settings_changed.v1 by "`+account+`" note: first -> second`)

	keys.Fail = errors.New("the database is away")
	if _, err := s.Erase(t.Context(), request(""), "erin"); err == nil {
		t.Fatal("an erasure succeeded although its key was not deleted")
	}
	for range 2 { // the first call completes the erasure, the second does nothing
		if outcome, err := s.Erase(t.Context(), request(""), "erin"); err != nil || !outcome.Account.Erased {
			t.Fatalf("erased: %+v, %v", outcome, err)
		}
	}
	if key, err := keys.AccountKey(t.Context(), account); key != nil || err != nil {
		t.Error("the key is still there")
	}
	if outcome, err := s.RotateKey(t.Context(), request(""), "erin"); domain.KindOf(err) != domain.AccountGone ||
		outcome.Key != "" {
		t.Errorf("an erased account has a new key: %+v, %v", outcome, err)
	}
	s.wantTypes(t, events.StreamAccount+account, "account.opened.v1", "account.erased.v1")
	for name, s := range map[string]*stack{"who remembers the key": s, "who does not": fresh} {
		entries := s.history(t, audit.HistoryQuery{Hash: "one", Account: account}).Entries[1:]
		audittest.WantEntries(t, entries,
			`url.created.v1 by "`+account+
				`" hash: <nil> -> one long_url: <nil> -> https://example.com/1 note: <nil> -> erased`,
			`url.settings_changed.v1 by "`+account+`" note: erased -> erased`,
			`url.settings_changed.v1 by "`+account+`" note: erased -> erased`)
		if changes := entries[0].Changes; changes[1].Erased || !changes[2].Erased || !entries[2].Changes[0].Erased {
			t.Errorf("%s: the wrong changes are marked as erased: %+v", name, entries)
		}
		found, err := s.LinkAsOf(t.Context(), audit.AsOfQuery{Hash: "one", Time: entries[0].Time})
		if err != nil || found.Link.Note != events.Erased || !found.Link.NoteErased() {
			t.Errorf("%s, the link as of the first entry: %+v, %v", name, found, err)
		}
	}
	fresh = s.again(keys) // has no key in its memory
	if _, err := fresh.edit(
		t, request(account), "one", EditURL{Note: new("too late")},
	); domain.KindOf(err) != domain.AccountGone {
		t.Errorf("a note after the erasure: %v", err)
	}
}

// TestRestoreWithoutErasedNotes checks that an operator can restore links of an erased account,
// without their notes.
func TestRestoreWithoutErasedNotes(t *testing.T) {
	t.Parallel()
	s, fresh, _, account := sealing(t)
	plain := newStackOn(s)
	plain.create(
		t, request(account), CreateURL{LongURL: "https://example.com/1", CustomHash: "one", Note: "never sealed"},
	)
	edit := ownBatch(account)
	if _, err := s.edit(
		t, edit, "one", EditURL{Note: new("sealed"), LongURL: new("https://example.com/2")},
	); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Erase(t.Context(), request(""), "erin"); err != nil {
		t.Fatal(err)
	}
	operator := ownBatch("")
	operator.Operator = true
	outcome := fresh.RestoreURL(t.Context(), operator, restoring.RestoreURL{Hash: "one", Version: new(int64(0))})
	if outcome.Err != nil || outcome.URL.LongURL != "https://example.com/1" {
		t.Fatalf("restored: %+v", outcome)
	}
	s.wantTypes(
		t, s.streamOf(t, "one"), "url.created.v1", "url.retargeted.v1", "url.settings_changed.v1", "url.retargeted.v1",
	)
	undoing := ownBatch("")
	undoing.Operator = true
	if outcome := fresh.Undo(t.Context(), toUndo(undoing, operator.Batch), []string{outcome.URL.ID})[0]; outcome.Err != nil ||
		outcome.URL.LongURL != "https://example.com/2" {
		t.Fatalf("undone: %+v", outcome)
	}
}

func TestEraseAccountRefuses(t *testing.T) {
	t.Parallel()
	s, _, _, _ := sealing(t)
	if _, err := s.Erase(t.Context(), request(""), "nobody"); domain.KindOf(err) != domain.AccountNotFound {
		t.Errorf("erasing an unknown account: %v", err)
	}
	if _, err := newStackOn(s).Erase(t.Context(), request(""), "erin"); !errors.Is(err, accounts.ErrNothingSealed) {
		t.Errorf("erasing without keys: %v", err)
	}
}

// TestSealedNoteNeedsItsKey checks that reading a sealed note fails if its key is not available.
func TestSealedNoteNeedsItsKey(t *testing.T) {
	t.Parallel()
	s, fresh, keys, account := sealing(t)
	s.create(t, request(account), CreateURL{LongURL: "https://example.com/1", CustomHash: "one", Note: "n"})
	if _, err := newStackOn(s).History(
		t.Context(), audit.HistoryQuery{Hash: "one"},
	); !errors.Is(err, streams.ErrNoKeys) {
		t.Errorf("without keys: %v", err)
	}
	keys.Lose()
	if _, err := fresh.History(t.Context(), audit.HistoryQuery{Hash: "one"}); err == nil || domain.KindOf(err) != 0 {
		t.Errorf("with a lost key: %v", err)
	}
}

// newStackOn returns a stack on the same log that does not seal notes.
func newStackOn(s *stack) *stack { return s.again(nil) }

// streamOf returns the stream of the link that last claimed a hash.
func (s *stack) streamOf(t *testing.T, hash string) string {
	t.Helper()
	loaded, err := s.streams.Load(t.Context(), events.StreamHash+hash)
	if err != nil {
		t.Fatal(err)
	}
	claimants := hashes.LastClaimants(loaded.Events, "")
	return events.StreamURL + claimants[len(claimants)-1]
}
