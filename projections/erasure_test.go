package projections

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
	"linkledger/projections/engine/projector"
	"linkledger/projections/keystore"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
)

func masterKey(t testing.TB) *keystore.MasterKey {
	t.Helper()
	key, err := keystore.NewMasterKey(bytes.Repeat([]byte{1}, keystore.MasterKeySize), nil)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// erasedHistory is a history in which notes are sealed from some event on, and accounts are erased
// after that. Each note contains a unique secret.
type erasedHistory struct {
	*drawnHistory

	sealed int                  // index of the event from which on notes are sealed
	erased map[uuid.UUID]bool   // accounts
	given  map[uuid.UUID]string // secret of the last note, by link
	gone   []string             // secrets of erased accounts
}

// drawErasures draws an erasedHistory and creates the keys of its accounts.
func drawErasures(ctx context.Context, t *rapid.T, db *readmodel.DB) *erasedHistory {
	if _, err := db.ExecContext(ctx, "TRUNCATE linkledger_keys.account_keys"); err != nil {
		t.Fatalf("delete the keys: %v", err)
	}
	h := &erasedHistory{
		drawnHistory: &drawnHistory{t: t, most: readmodel.MaxValues, revisions: make(map[string]eventstore.Revision)},
		erased:       make(map[uuid.UUID]bool), given: make(map[uuid.UUID]string),
	}
	h.openAccount()
	steps := []func(){
		h.openAccount, h.changeAccount, h.createLink, h.createLink, h.createLink, h.editLink, h.editLink, h.editLink,
		h.editLink,
		h.deleteLink, h.restoreLink, h.createTag, h.tagLink, h.click,
	}
	plain := rapid.IntRange(0, 10).Draw(t, "plain")
	for n := range rapid.IntRange(1, 50).Draw(t, "steps") {
		if n == plain {
			h.sealed = len(h.log)
		}
		if n >= plain && rapid.IntRange(0, 9).Draw(t, "erase") == 0 {
			h.erase()
			continue
		}
		steps[rapid.IntRange(0, len(steps)-1).Draw(t, "step")]()
	}
	if h.sealed == 0 && plain > 0 {
		h.sealed = len(h.log)
	}
	for i := range h.log {
		h.note(ctx, db, i)
	}
	return h
}

func (h *erasedHistory) erase() {
	a := h.account()
	if !h.erased[a.id] {
		h.erased[a.id] = true
		h.append(events.StreamAccount+a.id.String(), events.AccountErased{At: h.at()})
	}
}

// note puts a unique secret into the note of an event and seals the note. Long URLs have no line
// breaks, like those of real links.
func (h *erasedHistory) note(ctx context.Context, db *readmodel.DB, i int) {
	r := &h.log[i]
	e, err := r.Event()
	if err != nil {
		h.t.Fatalf("event %d: %v", i, err)
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
		h.t.Fatalf("event %d: %v", i, err)
	}
	account := h.links[slices.IndexFunc(h.links, func(l *expectedLink) bool { return l.id == link })].account.id
	if _, ok := e.(events.URLRetargeted); !ok {
		h.given[link] = secret
	}
	if secret != "" && h.erased[account] {
		h.gone, h.given[link] = append(h.gone, secret), ""
	}
	if i >= h.sealed {
		if e, err = events.Seal(e, h.key(ctx, db, account), account.String(), r.Stream); err != nil {
			h.t.Fatalf("event %d: %v", i, err)
		}
	}
	r.Data = stored(e)
	if i >= h.sealed && secret != "" && bytes.Contains(r.Data, []byte(secret)) {
		h.t.Fatalf("event %d is stored as %s", i, r.Data)
	}
}

func (h *erasedHistory) key(ctx context.Context, db *readmodel.DB, account uuid.UUID) *events.SealingKey {
	secret, err := db.Keys.MakeAccountKey(ctx, account.String())
	if err != nil {
		h.t.Fatalf("key of %s: %v", account, err)
	}
	key, err := events.NewSealingKey(secret)
	if err != nil {
		h.t.Fatalf("key of %s: %v", account, err)
	}
	return key
}

// check checks that a dump contains none of the erased notes and all notes of other accounts.
func (h *erasedHistory) check(dump string) {
	dump = strings.ToLower(dump)
	for _, secret := range h.gone {
		if strings.Contains(dump, strings.ToLower(secret)) {
			h.t.Fatalf("%s was erased, and is in\n%s", secret, dump)
		}
	}
	for link, secret := range h.given {
		if !strings.Contains(dump, strings.ToLower(secret)) {
			h.t.Fatalf("%s of %s is not in\n%s", secret, link, dump)
		}
	}
}

// TestErasure checks that a projector that builds a read model after an erasure, and has no key,
// builds the same rows as one that had the key until the erasure and kept its read model up to
// date. This holds for any way of delivery. Neither read model contains an erased note.
func TestErasure(t *testing.T) {
	t.Parallel()
	for _, name := range []string{Links, History} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkshop(t, name)
			w.db.Keys.Master = masterKey(t)
			rapid.Check(t, func(t *rapid.T) {
				ctx := context.Background()
				h := drawErasures(ctx, t, w.db)
				log := w.followed(h.log)
				w.deliverBadly(ctx, t, log, false)
				live := w.dump(ctx, t)
				h.check(live)
				if found := w.verify(ctx, t, log); found.Different > 0 {
					t.Fatalf("verify finds %+v", found.Differences)
				}
				w.clear(ctx, t)
				for _, bulk := range []bool{false, true} {
					w.deliverBadly(ctx, t, log, bulk)
					if dump := w.dump(ctx, t); dump != live {
						t.Fatalf("built without keys, in bulk %t:\n%s\nwith keys:\n%s", bulk, dump, live)
					}
					w.clear(ctx, t)
				}
			})
		})
	}
}

// notedLink returns the log of a link whose note, "kept", was sealed for a stream.
func (w *workshop) notedLink(
	ctx context.Context, t *testing.T, link uuid.UUID, sealedFor string,
) []eventstore.Recorded {
	t.Helper()
	account := uuid.NewString()
	secret, err := w.db.Keys.MakeAccountKey(ctx, account)
	if err != nil {
		t.Fatal(err)
	}
	key, err := events.NewSealingKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := events.Seal(events.URLCreated{
		URLID: link.String(), Account: account, Hash: "h", LongURL: "https://example.com", Note: "kept", At: noon,
	}, key, account, sealedFor)
	if err != nil {
		t.Fatal(err)
	}
	return record(nil, events.StreamURL+link.String(), 0, sealed)
}

// TestMissingKeysStopAProjection checks that a projection stops without the right master key, and
// that it sets a link aside whose account has lost its key. It must not treat the note as erased.
func TestMissingKeysStopAProjection(t *testing.T) {
	t.Parallel()
	w, ctx := newWorkshop(t, Links), withTimeout(t)
	w.db.Keys.Master = masterKey(t)
	link := uuid.New()
	log := w.notedLink(ctx, t, link, events.StreamURL+link.String())
	refused := func(master *keystore.MasterKey, want error) {
		t.Helper()
		w.db.Keys.Master = master
		p := w.projector(ctx, t)
		if err := p.Apply(ctx, batchOf(log)); !errors.Is(err, want) || !projector.Transient(err) {
			t.Errorf("the batch ended with %v, want %v", err, want)
		}
	}
	other, err := keystore.NewMasterKey(bytes.Repeat([]byte{2}, keystore.MasterKeySize), nil)
	if err != nil {
		t.Fatal(err)
	}
	refused(nil, keystore.ErrNoMasterKey)
	refused(other, keystore.ErrOtherMasterKey)
	if _, err := w.db.ExecContext(
		ctx, "CREATE TABLE backup AS SELECT * FROM linkledger_keys.account_keys; TRUNCATE linkledger_keys.account_keys",
	); err != nil {
		t.Fatal(err)
	}
	w.db.Keys.Master = masterKey(t)
	mustHandle(ctx, t, w.projector(ctx, t), log)
	letters, err := DeadLetters(ctx, w.db, Links)
	if err != nil || len(letters) != 1 || !strings.Contains(letters[0].Error, keystore.ErrKeyLost.Error()[:20]) {
		t.Errorf("letters %+v, %v", letters, err)
	}
	if _, err := w.db.ExecContext(ctx, "INSERT INTO linkledger_keys.account_keys SELECT * FROM backup"); err != nil {
		t.Fatal(err)
	}
	if n, err := RetryDeadLetters(ctx, w.db, Links, ""); n != 1 || err != nil {
		t.Errorf("%d dead letters retried, %v", n, err)
	}
	if dump := w.dump(ctx, t); !strings.Contains(dump, "kept") {
		t.Errorf("the note is not in\n%s", dump)
	}
}

// TestLostKeysLoseNotesAlone applies a link whose account has lost its key, in a database that notes the loss. The link
// is there, and its note says what is wrong. What is sealed later, with another key, is read.
func TestLostKeysLoseNotesAlone(t *testing.T) {
	t.Parallel()
	for _, name := range []string{Links, History} {
		w, ctx := newWorkshop(t, name), withTimeout(t)
		w.db.Keys.Master = masterKey(t)
		lost := uuid.New()
		log := w.notedLink(ctx, t, lost, events.StreamURL+lost.String())
		if _, err := w.db.ExecContext(ctx, "DROP SCHEMA linkledger_keys CASCADE"); err != nil {
			t.Fatal(err)
		}
		last := log[len(log)-1].Position
		if err := w.db.Keys.CreateWithoutKeys(ctx, last.Commit); err != nil {
			t.Fatal(err)
		}
		mustHandle(ctx, t, w.projector(ctx, t), log)
		if letters, err := DeadLetters(ctx, w.db, name); err != nil || len(letters) > 0 {
			t.Errorf("%s: letters %+v, %v", name, letters, err)
		}
		if dump := w.dump(ctx, t); !strings.Contains(dump, events.LostKey) {
			t.Errorf("%s: the note does not say that its key is lost:\n%s", name, dump)
		}
	}
}

// TestMovedNoteIsPoison checks that a note that was moved to another link cannot be applied, and
// that the event is set aside.
func TestMovedNoteIsPoison(t *testing.T) {
	t.Parallel()
	w, ctx := newWorkshop(t, Links), withTimeout(t)
	w.db.Keys.Master = masterKey(t)
	log := w.notedLink(ctx, t, uuid.New(), events.StreamURL+uuid.NewString())
	mustHandle(ctx, t, w.projector(ctx, t), log)
	letters, err := DeadLetters(ctx, w.db, Links)
	if err != nil || len(letters) != 1 || !strings.Contains(letters[0].Error, "was not sealed there") {
		t.Errorf("letters %+v, %v", letters, err)
	}
}
