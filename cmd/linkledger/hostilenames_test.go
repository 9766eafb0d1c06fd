package main

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/internal/pgserver/postgrestest"
	"linkledger/projections"
	"linkledger/projections/engine"
	"linkledger/projections/keystore"
	"linkledger/projections/keystore/keyfile"
	"linkledger/projections/keystore/signedin"
	"linkledger/projections/readmodel"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Run(m)) }

var prepared = postgrestest.NewTemplate(func(ctx context.Context, dsn string) error {
	db, err := readmodel.Open(ctx, dsn, 1)
	if err != nil {
		return err
	}
	return errors.Join(projections.Prepare(ctx, db), db.Keys.Create(ctx), db.Close())
})

// controls is a part of a name that a terminal would execute or that turns the text around it:
// colour, bell, return, end of line, right to left, control sequence, delete, and a line separator.
const controls = "\x1b[31m\a\r\nADMIN\tok\u202e\u009b2J\x7f\u2028\u061c\ufeff"

// hostileLog is an installation whose log has such names in every text that its commands print. A
// program wrote them past the checks of this one.
type hostileLog struct {
	t     *testing.T
	flags []string // that name the installation
	keys  *keystore.Keys
	url   string // of the event store
	store *eventstore.Store

	account, key, user, batch uuid.UUID
	name                      string // of another account
}

// newHostileLog returns such an installation, with projections that have read its log.
func newHostileLog(t *testing.T) *hostileLog {
	t.Helper()
	master := bytes.Repeat([]byte("m"), keyfile.MasterKeySize)
	dsn := prepared.NewDatabase(t)
	server := eventstoretest.Serve(t)
	db, err := readmodel.Open(t.Context(), dsn, 8)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if db.Keys.Master, err = keyfile.NewMasterKey(master, nil); err != nil {
		t.Fatal(err)
	}
	h := &hostileLog{
		t: t, keys: db.Keys, url: server.URL(), store: eventstoretest.Open(t, server.URL()),
		account: uuid.New(), key: uuid.New(), user: uuid.New(), batch: uuid.New(), name: "bob" + controls,
		flags: []string{
			"--eventstore=" + server.URL(), "--database=" + dsn,
			"--master-key=" + base64.StdEncoding.EncodeToString(master),
		},
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() {
		ended <- engine.Run(ctx, projections.All(), engine.Config{DB: db, Store: h.store})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the projections: %v", err)
		}
	})
	h.fill()
	head, err := h.store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wait, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, name := range projections.Names() {
		if err := projections.Await(wait, db, h.store, name, head); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return h
}

// append writes events as another program can, also events that this program would refuse.
func (h *hostileLog) append(stream string, written ...events.Event) {
	h.t.Helper()
	metadata, err := json.Marshal(events.Metadata{
		CorrelationID: "r" + controls, Account: h.account.String(), Key: h.key.String(), Via: "v" + controls,
		Address: "a" + controls, RequestID: "r" + controls, BatchID: h.batch.String(), TraceParent: controls,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, e := range written {
		body, err := json.Marshal(e)
		if err != nil {
			h.t.Fatal(err)
		}
		_, err = eventstoretest.Client(h.t, h.url).AppendToStream(
			h.t.Context(), stream, esdb.AppendToStreamOptions{ExpectedRevision: esdb.Any{}},
			esdb.EventData{
				EventType: e.EventType(), ContentType: esdb.ContentTypeJson, Data: body, Metadata: metadata,
			},
		)
		if err != nil {
			h.t.Fatalf("append %s to %s: %v", e.EventType(), stream, err)
		}
	}
}

// sealed returns details of a person as the program stores them, without its checks.
func (h *hostileLog) sealed(details events.Details, stream string) *events.Sealed {
	h.t.Helper()
	secret, err := h.keys.MakeAccountKey(h.t.Context(), h.user.String())
	if err != nil {
		h.t.Fatal(err)
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		h.t.Fatal(err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		h.t.Fatal(err)
	}
	text, err := json.Marshal(details)
	if err != nil {
		h.t.Fatal(err)
	}
	bound := []byte("details\n" + h.user.String() + "\n" + stream)
	return &events.Sealed{Account: h.user.String(), Box: aead.Seal(nil, nil, text, bound)}
}

// fill writes the names.
func (h *hostileLog) fill() {
	h.t.Helper()
	now, account, link, tag := time.Now(), h.account.String(), uuid.New(), uuid.NewString()
	h.append(events.StreamUsername+"eve", events.UsernameClaimed{Username: "eve", Account: account, At: now})
	other := uuid.NewString()
	h.append(events.StreamAccount+other, events.AccountOpened{
		Account: other, Username: h.name, Plan: "free", KeyID: uuid.NewString(), KeyHash: strings.Repeat("2", 64), At: now,
	})
	user := events.StreamUser + h.user.String()
	h.append(user, events.UserKnown{User: h.user.String(), At: now, Sealed: h.sealed(events.Details{
		Issuer: "https://i.example/" + controls, Subject: "s" + controls, Mail: "m" + controls, Name: "n" + controls,
	}, user)})
	h.append(
		events.StreamAccount+account,
		events.AccountOpened{
			Account: account, Username: "eve", Plan: "free" + controls, KeyID: h.key.String(), KeyHash: strings.Repeat("0", 64),
			At: now,
		},
		events.KeyAdded{KeyID: uuid.NewString(), KeyHash: strings.Repeat("1", 64), At: now, KeyTerms: events.KeyTerms{
			Name: "k" + controls, Scopes: []string{"s" + controls}, Tags: "t" + controls, Networks: []string{"n" + controls},
		}},
		events.KeyChanged{KeyID: h.key.String(), KeyTerms: events.KeyTerms{Name: "first" + controls}, At: now},
		events.MemberSet{User: h.user.String(), Role: "owner" + controls, Group: "g" + controls, At: now},
	)
	h.append(events.StreamTags+account, events.TagCreated{TagID: tag, Account: account, Label: "l" + controls, At: now})
	note := "changed" + controls
	h.append(events.StreamHash+"bad", events.HashClaimed{Hash: "bad", URLID: link.String(), Account: account, At: now})
	h.append(
		events.StreamURL+link.String(),
		events.URLCreated{
			URLID: link.String(), Account: account, Hash: "bad", LongURL: "https://example.com/" + controls,
			Note: "note" + controls, Tags: []string{tag}, At: now,
		},
		events.URLSettingsChanged{Note: &note, At: now},
		events.URLRetargeted{LongURL: "https://example.org/" + controls, At: now},
	)
	gone := uuid.NewString()
	h.append(
		events.StreamHash+"gone", events.HashClaimed{Hash: "gone", URLID: gone, Account: account, At: now},
		events.HashReleased{Hash: "gone", URLID: gone, Account: account, At: now},
	)
	h.append(
		events.StreamURL+gone,
		events.URLCreated{
			URLID: gone, Account: account, Hash: "gone", LongURL: "https://example.com/" + controls, At: now,
		},
		events.URLDeleted{Account: account, Hash: "gone", At: now},
	)
	if _, _, err := h.keys.StartSession(h.t.Context(), signedin.Session{
		Account: h.account, Key: h.key.String(), Operator: true, Agent: "browser" + controls,
	}, now); err != nil {
		h.t.Fatal(err)
	}
	// An event that no projection can apply: it becomes a dead letter.
	h.append(
		events.StreamTags+uuid.NewString()+controls,
		events.TagRenamed{TagID: "t" + controls, Label: "x" + controls, At: now},
	)
}

// commands are the commands that print something of the log.
func (h *hostileLog) commands() [][]string {
	proof := filepath.Join(h.t.TempDir(), "proof\x1b[31m"+controls)
	const name = "--username=eve"
	return [][]string{
		{"account", "list"},
		{"account", "show", name},
		{"account", "show", "--username=" + h.name},
		{"account", "key", "list", name},
		{"account", "key", "add", name, "--name=new"},
		{"account", "member", "list", name},
		{"account", "member", "set", name, h.user.String(), "viewer"},
		{"account", "member", "remove", name, h.user.String()},
		{"account", "key", "revoke", name, h.key.String()},
		{"account", "edit", name, "--plan=free"},
		{"account", "deactivate", name},
		{"account", "reactivate", name},
		{"account", "rotate-key", name},
		{"account", "show", "--username=nobody" + controls},
		{"account", "create", name},
		{"person", "list"},
		{"person", "erase", "x" + controls},
		{"console", "session", "list"},
		{"console", "session", "end", "x" + controls},
		{"console", "link", name, "--base-url=https://sho.rt"},
		{"projections", "list"},
		{"projections", "status"},
		{"projections", "verify", "--all"},
		{"projections", "verify", controls},
		{"projections", "dead-letters"},
		{"projections", "dead-letters", "retry", projections.Tags},
		{"projections", "dead-letters", "discard", projections.Tags},
		{"audit", "history", "bad"},
		{"audit", "history", "bad", "--clicks"},
		{"audit", "history", "bad", "--format=json"},
		{"audit", "history", "bad", "--format=ndjson"},
		{"audit", "history", "bad", "--format=csv"},
		{"audit", "history", "none" + controls},
		{"audit", "at", "bad", "--time=" + time.Now().Add(time.Hour).Format(time.RFC3339)},
		{"audit", "restore", "bad", "--revision=0"},
		{"audit", "restore", "gone"},
		{"audit", "undo", h.batch.String()},
		{"audit", "verify"},
		{"audit", "verify", proof},
		{"audit", "import-check", proof},
		{"audit", "export", "--output=" + proof},
		{"audit", "import-check", proof},
		{"config", "serve", "--listen=" + controls},
		{controls},
	}
}

// TestNamesDoNotReachTerminals checks that no command prints a control character of a name, neither
// in its output nor in its errors and logs, and that each name is printed.
func TestNamesDoNotReachTerminals(t *testing.T) {
	t.Parallel()
	h := newHostileLog(t)
	shown := 0
	for _, command := range h.commands() {
		forms := [][]string{{"--log-format=text"}}
		if slices.ContainsFunc(command, func(word string) bool {
			return slices.Contains([]string{"list", "show", "status", "dead-letters", "at"}, word)
		}) {
			forms = append(forms, []string{"--json", "--log-format=json"})
		}
		for _, form := range forms {
			args := slices.Concat(form, command)
			if len(command) > 1 && command[0] != "config" && command[1] != "import-check" {
				args = slices.Concat(command, form, h.flags)
			}
			var stdout, stderr bytes.Buffer
			if err := run(t.Context(), args, nil, &stdout, &stderr); err != nil {
				printError(&stderr, err)
			}
			for _, printed := range []string{stdout.String(), stderr.String()} {
				if strings.Contains(printed, "unknown flag") {
					t.Errorf("%q: %s", args, printed)
				}
				if strings.Contains(printed, "ADMIN") {
					shown++
				}
				checkShown(t, args, printed)
			}
		}
	}
	if shown < 30 {
		t.Errorf("only %d outputs have a name", shown)
	}
}

// checkShown checks that a terminal that gets an output shows it and executes nothing of it. No name
// begins a line.
func checkShown(t *testing.T, args []string, printed string) {
	t.Helper()
	for line := range strings.Lines(printed) {
		if strings.HasPrefix(line, "ADMIN") {
			t.Errorf("%q prints a line of another: %q", args, line)
		}
		for _, r := range line {
			if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 ||
				strings.ContainsRune("\u202e\u2028\u061c\ufeff", r) {
				t.Errorf("%q prints %q raw: %q", args, r, line)
				return
			}
		}
	}
}

// TestExportKeepsBytes checks that a file of exported events has the bytes of the log.
func TestExportKeepsBytes(t *testing.T) {
	t.Parallel()
	h := newHostileLog(t)
	var stdout, stderr bytes.Buffer
	args := append([]string{"audit", "export"}, h.flags...)
	if err := run(t.Context(), args, nil, &stdout, &stderr); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(stdout.String(), "\u009b2J\x7f") {
		t.Error("the export has other bytes than the log")
	}
	file := filepath.Join(t.TempDir(), "export")
	if err := os.WriteFile(file, stdout.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := runWith(t, nil, "audit", "import-check", file); err != nil {
		t.Error(err)
	}
}
