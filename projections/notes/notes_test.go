package notes_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/sealing"
	"linkledger/projections"
	"linkledger/projections/engine/deadletter"
	"linkledger/projections/engine/failure"
	"linkledger/projections/foldtest"
	"linkledger/projections/keystore/keyfile"
	"linkledger/projections/logtest"
	"linkledger/projections/projection"
	"linkledger/projections/projectionstest"
	"linkledger/projections/readmodel"
)

func masterKey(t testing.TB) *keyfile.MasterKey {
	t.Helper()
	key, err := keyfile.NewMasterKey(bytes.Repeat([]byte{1}, keyfile.MasterKeySize), nil)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// erasedHistory is a history in which notes are sealed from some event on, and accounts are erased
// after that. Each note contains a unique secret.
type erasedHistory struct {
	*logtest.History

	sealed int                  // index of the event from which on notes are sealed
	erased map[uuid.UUID]bool   // accounts
	given  map[uuid.UUID]string // secret of the last note, by link
	gone   []string             // secrets of erased accounts
}

// drawErasures draws an erasedHistory and creates the keys of its accounts.
func drawErasures(ctx context.Context, t *rapid.T, db *readmodel.DB) *erasedHistory {
	if _, err := db.ExecContext(ctx, "TRUNCATE linkledger_durable.account_keys"); err != nil {
		t.Fatalf("delete the keys: %v", err)
	}
	h := &erasedHistory{
		History: logtest.New(t, readmodel.MaxValues),
		erased:  make(map[uuid.UUID]bool), given: make(map[uuid.UUID]string),
	}
	steps := []func(){
		h.OpenAccount, h.ChangeAccount, h.CreateLink, h.CreateLink, h.CreateLink, h.EditLink, h.EditLink, h.EditLink,
		h.EditLink,
		h.DeleteLink, h.RestoreLink, h.CreateTag, h.TagLink, h.Click,
	}
	plain := rapid.IntRange(0, 10).Draw(t, "plain")
	for n := range rapid.IntRange(1, 50).Draw(t, "steps") {
		if n == plain {
			h.sealed = len(h.Log)
		}
		if n >= plain && rapid.IntRange(0, 9).Draw(t, "erase") == 0 {
			h.erase()
			continue
		}
		steps[rapid.IntRange(0, len(steps)-1).Draw(t, "step")]()
	}
	if h.sealed == 0 && plain > 0 {
		h.sealed = len(h.Log)
	}
	for i := range h.Log {
		h.note(ctx, db, i)
	}
	return h
}

func (h *erasedHistory) erase() {
	a := h.Account()
	if !h.erased[a.ID] {
		h.erased[a.ID] = true
		h.Append(events.StreamAccount+a.ID.String(), events.AccountErased{At: h.At()})
	}
}

// note puts a unique secret into the note of an event and seals the note. Long URLs have no line
// breaks, like those of real links.
func (h *erasedHistory) note(ctx context.Context, db *readmodel.DB, i int) {
	r := &h.Log[i]
	e, err := r.Event()
	if err != nil {
		h.T.Fatalf("event %d: %v", i, err)
	}
	secret := ""
	secretly := func(note string) string {
		if note == "" {
			return ""
		}
		secret = fmt.Sprintf("Secret%d;", i)
		if i >= h.sealed {
			note = events.CleanText(note) // no other text can be sealed
		}
		return note + secret
	}
	switch of := e.(type) {
	case events.URLCreated:
		of.LongURL, of.Note = strings.ReplaceAll(of.LongURL, "\n", " "), secretly(of.Note)
		e = of
	case events.URLRetargeted:
		of.LongURL = strings.ReplaceAll(of.LongURL, "\n", " ")
		e = of
	case events.URLSettingsChanged:
		note := secretly(*of.Note)
		of.Note = &note
		e = of
	default:
		return
	}
	link, err := projection.Event{Recorded: *r}.Link()
	if err != nil {
		h.T.Fatalf("event %d: %v", i, err)
	}
	account := h.Links[slices.IndexFunc(h.Links, func(l *logtest.Link) bool { return l.ID == link })].Account.ID
	if _, ok := e.(events.URLRetargeted); !ok {
		h.given[link] = secret
	}
	if secret != "" && h.erased[account] {
		h.gone, h.given[link] = append(h.gone, secret), ""
	}
	if i >= h.sealed {
		if e, err = sealing.Seal(e, h.key(ctx, db, account), account.String(), r.Stream); err != nil {
			h.T.Fatalf("event %d: %v", i, err)
		}
	}
	r.Data = logtest.Stored(e)
	if i >= h.sealed && secret != "" && bytes.Contains(r.Data, []byte(secret)) {
		h.T.Fatalf("event %d is stored as %s", i, r.Data)
	}
}

func (h *erasedHistory) key(ctx context.Context, db *readmodel.DB, account uuid.UUID) *sealing.Key {
	secret, err := db.Keys.MakeAccountKey(ctx, account.String())
	if err != nil {
		h.T.Fatalf("key of %s: %v", account, err)
	}
	key, err := sealing.NewKey(secret)
	if err != nil {
		h.T.Fatalf("key of %s: %v", account, err)
	}
	return key
}

// check checks that a dump contains none of the erased notes and all notes of other accounts.
func (h *erasedHistory) check(dump string) {
	dump = strings.ToLower(dump)
	for _, secret := range h.gone {
		if strings.Contains(dump, strings.ToLower(secret)) {
			h.T.Fatalf("%s was erased, and is in\n%s", secret, dump)
		}
	}
	for link, secret := range h.given {
		if !strings.Contains(dump, strings.ToLower(secret)) {
			h.T.Fatalf("%s of %s is not in\n%s", secret, link, dump)
		}
	}
}

// TestErasure checks that a projector that builds a read model after an erasure, and has no key,
// builds the same rows as one that had the key until the erasure and kept its read model up to
// date. This holds for any way of delivery. Neither read model contains an erased note.
func TestErasure(t *testing.T) {
	t.Parallel()
	for _, name := range []string{projections.Links, projections.History} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := foldtest.New(t, name)
			w.DB.Keys.Master = masterKey(t)
			rapid.Check(t, func(t *rapid.T) {
				ctx := context.Background()
				h := drawErasures(ctx, t, w.DB)
				log := w.Followed(h.Log)
				w.DeliverBadly(ctx, t, log, false)
				live := w.Dump(ctx, t)
				h.check(live)
				if found := w.Verify(ctx, t, log); found.Different > 0 {
					t.Fatalf("verify finds %+v", found.Differences)
				}
				w.Clear(ctx, t)
				for _, bulk := range []bool{false, true} {
					w.DeliverBadly(ctx, t, log, bulk)
					if dump := w.Dump(ctx, t); dump != live {
						t.Fatalf("built without keys, in bulk %t:\n%s\nwith keys:\n%s", bulk, dump, live)
					}
					w.Clear(ctx, t)
				}
			})
		})
	}
}

// notedLink returns the log of a link whose note, "kept", was sealed for a stream.
func notedLink(
	ctx context.Context, t *testing.T, w *foldtest.Workshop, link uuid.UUID, sealedFor string,
) []eventstore.Recorded {
	t.Helper()
	account := uuid.NewString()
	secret, err := w.DB.Keys.MakeAccountKey(ctx, account)
	if err != nil {
		t.Fatal(err)
	}
	key, err := sealing.NewKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := sealing.Seal(events.URLCreated{
		URLID: link.String(), Account: account, Hash: "h", LongURL: "https://example.com", Note: "kept", At: logtest.Noon,
	}, key, account, sealedFor)
	if err != nil {
		t.Fatal(err)
	}
	return logtest.Record(nil, events.StreamURL+link.String(), 0, sealed)
}

// TestMissingKeysStopAProjection checks that a projection stops without the right master key, and
// that it sets a link aside whose account has lost its key. It must not treat the note as erased.
func TestMissingKeysStopAProjection(t *testing.T) {
	t.Parallel()
	w, ctx := foldtest.New(t, projections.Links), projectionstest.Context(t)
	w.DB.Keys.Master = masterKey(t)
	link := uuid.New()
	log := notedLink(ctx, t, w, link, events.StreamURL+link.String())
	refused := func(master *keyfile.MasterKey, want error) {
		t.Helper()
		w.DB.Keys.Master = master
		p := w.Projector(ctx, t)
		if err := p.Apply(ctx, foldtest.BatchOf(log)); !errors.Is(err, want) || !failure.Transient(err) {
			t.Errorf("the batch ended with %v, want %v", err, want)
		}
	}
	other, err := keyfile.NewMasterKey(bytes.Repeat([]byte{2}, keyfile.MasterKeySize), nil)
	if err != nil {
		t.Fatal(err)
	}
	refused(nil, keyfile.ErrNoMasterKey)
	refused(other, keyfile.ErrOtherMasterKey)
	if _, err := w.DB.ExecContext(
		ctx, "CREATE TABLE backup AS SELECT * FROM linkledger_durable.account_keys; TRUNCATE linkledger_durable.account_keys",
	); err != nil {
		t.Fatal(err)
	}
	w.DB.Keys.Master = masterKey(t)
	foldtest.Apply(ctx, t, w.Projector(ctx, t), log)
	letters, err := deadletter.List(ctx, w.DB, projections.Links)
	if err != nil || len(letters) != 1 || !strings.Contains(letters[0].Error, keyfile.ErrKeyLost.Error()[:20]) {
		t.Errorf("letters %+v, %v", letters, err)
	}
	if _, err := w.DB.ExecContext(ctx, "INSERT INTO linkledger_durable.account_keys SELECT * FROM backup"); err != nil {
		t.Fatal(err)
	}
	if n, err := deadletter.Retry(ctx, w.DB, w.Projection); n != 1 || err != nil {
		t.Errorf("%d dead letters retried, %v", n, err)
	}
	if dump := w.Dump(ctx, t); !strings.Contains(dump, "kept") {
		t.Errorf("the note is not in\n%s", dump)
	}
}

// TestLostKeysLoseNotesAlone applies a link whose account has lost its key, in a database that notes the loss. The link
// is there, and its note says what is wrong. What is sealed later, with another key, is read.
func TestLostKeysLoseNotesAlone(t *testing.T) {
	t.Parallel()
	for _, name := range []string{projections.Links, projections.History} {
		w, ctx := foldtest.New(t, name), projectionstest.Context(t)
		w.DB.Keys.Master = masterKey(t)
		lost := uuid.New()
		log := notedLink(ctx, t, w, lost, events.StreamURL+lost.String())
		if _, err := w.DB.ExecContext(ctx, "DROP SCHEMA linkledger_durable CASCADE"); err != nil {
			t.Fatal(err)
		}
		last := log[len(log)-1].Position
		if err := w.DB.Keys.CreateWithoutKeys(ctx, last.Commit); err != nil {
			t.Fatal(err)
		}
		foldtest.Apply(ctx, t, w.Projector(ctx, t), log)
		if letters, err := deadletter.List(ctx, w.DB, name); err != nil || len(letters) > 0 {
			t.Errorf("%s: letters %+v, %v", name, letters, err)
		}
		if dump := w.Dump(ctx, t); !strings.Contains(dump, events.LostKey) {
			t.Errorf("%s: the note does not say that its key is lost:\n%s", name, dump)
		}
	}
}

// TestMovedNoteIsPoison checks that a note that was moved to another link cannot be applied, and
// that the event is set aside.
func TestMovedNoteIsPoison(t *testing.T) {
	t.Parallel()
	w, ctx := foldtest.New(t, projections.Links), projectionstest.Context(t)
	w.DB.Keys.Master = masterKey(t)
	log := notedLink(ctx, t, w, uuid.New(), events.StreamURL+uuid.NewString())
	foldtest.Apply(ctx, t, w.Projector(ctx, t), log)
	letters, err := deadletter.List(ctx, w.DB, projections.Links)
	if err != nil || len(letters) != 1 || !strings.Contains(letters[0].Error, "was not sealed there") {
		t.Errorf("letters %+v, %v", letters, err)
	}
}
