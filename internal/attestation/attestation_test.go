package attestation_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"golang.org/x/mod/sumdb/tlog"

	"linkledger/commands"
	"linkledger/commands/linkwrite"
	"linkledger/events"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/events/proof"
	"linkledger/internal/attestation"
	"linkledger/internal/auditor"
	"linkledger/internal/console"
	"linkledger/internal/installation"
	"linkledger/internal/installation/installationtest"
	"linkledger/internal/secret"
	"linkledger/internal/storeserver"
)

func TestMain(m *testing.M) { installationtest.Main(m) }

type operator = installation.Operator

// keys are the halves of a signing key, and the file of the private one.
type keys struct {
	file, public string
	private      secret.Text
}

func newKeys(t *testing.T) keys {
	t.Helper()
	k := keys{file: filepath.Join(t.TempDir(), "key")}
	k.public = strings.TrimSpace(newKey(t, k.file, "sho.rt").Has("sho.rt+"))
	private, err := os.ReadFile(k.file)
	if err != nil {
		t.Fatal(err)
	}
	k.private = secret.Text(strings.TrimSpace(string(private)))
	return k
}

func newKey(t *testing.T, file, name string) installationtest.Printed {
	t.Helper()
	return installationtest.Of(t, func(c console.Console) error { return attestation.NewKey(file, name, c.Stdout) })
}

func checkpoint(key secret.Text) installationtest.Command {
	return func(ctx context.Context, o operator) error { return attestation.Checkpoint(ctx, o, key) }
}

func prove(r attestation.ProofRequest) installationtest.Command {
	return func(ctx context.Context, o operator) error { return attestation.Prove(ctx, o, r) }
}

func verify(public string, heads ...string) installationtest.Command {
	return func(ctx context.Context, o operator) error { return attestation.Verify(ctx, o, heads, public) }
}

// checkProof verifies the text of a file of proofs.
func checkProof(t *testing.T, text, public string) installationtest.Printed {
	t.Helper()
	name := write(t, text)
	return installationtest.Of(t, func(c console.Console) error {
		return attestation.VerifyProof(name, public, c.Stdout)
	})
}

// write writes a new file and returns its name.
func write(t *testing.T, text string) (name string) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// findings are the findings of a verification as it prints them.
type findings struct {
	Events     int64
	Fitting    []int64
	Alteration *struct {
		Of          string
		First, Last struct{ Position uint64 }
		Missing     int64
		Sound       bool
	}
	Cuts []struct{ Stream, Kind, Log, Readable string }
}

// TestProofs proves the events of links against signed heads, and rebuilds the tree.
func TestProofs(t *testing.T) {
	t.Parallel()
	i, key := installationtest.New(t), newKeys(t)
	i.Create(installationtest.Link("one"), installationtest.Link("two"))
	first := i.Run(checkpoint(key.private)).Has("sho.rt")
	i.Edit(commands.EditURL{Ref: linkwrite.Ref{Hash: "one"}, CustomHash: new("uno")})
	second := i.Run(checkpoint(key.private)).Has()
	if first == second {
		t.Error("the head of a longer log is the same")
	}
	i.Rebuild("tree")
	if again := i.Run(checkpoint(key.private)).Has(); again != second {
		t.Errorf("the head after a rebuild is %s; want %s", again, second)
	}
	heads := write(t, first+second)
	since := i.Run(prove(attestation.ProofRequest{
		Hash: "one", Since: []string{heads}, SigningKey: key.private, PublicKey: key.public,
	})).Has()
	out := checkProof(t, since, key.public).Has("url.renamed.v1", "hash.claimed.v1", "index\tposition\t", " events of the signed log\n")
	if strings.Count(out, "continues the head of") != 2 {
		t.Errorf("the proofs are of\n%s", out)
	}
	only := i.Run(prove(attestation.ProofRequest{Since: []string{heads}, SigningKey: key.private, PublicKey: key.public})).Has()
	if out := checkProof(t, only, key.public).Has(" proves 0 of the ", "continues"); strings.Contains(out, "index") {
		t.Errorf("a proof of no event has\n%s", out)
	}
	by := attestation.ProofRequest{Hash: "uno", Checkpoint: write(t, first), PublicKey: key.public}
	early := i.Run(prove(by))
	if early.Has(); !strings.Contains(early.Log, "events after the head are left out") {
		t.Errorf("a proof by an older head logs %s", early.Log)
	}
	checkProof(t, early.Out, key.public).Has("url.created.v1")
	checkProof(t, strings.Replace(since, "example.com", "example.net", 1), key.public).Fails()
	exported := strings.Fields(i.Run(func(ctx context.Context, o operator) error {
		return auditor.Export(ctx, o, auditor.ExportRequest{Output: filepath.Join(t.TempDir(), "log"), Format: "ndjson"})
	}).Has("root hash"))
	i.Run(verify(key.public, heads)).Has("signed heads that fit: 2\n", exported[len(exported)-1])
	var found findings
	if err := i.JSON(&found, verify(key.public, heads)); err != nil || len(found.Fitting) != 2 || found.Alteration != nil ||
		found.Events != found.Fitting[1] || len(found.Cuts) != 0 {
		t.Errorf("found %+v, %v", found, err)
	}
}

func TestRefusals(t *testing.T) { //nolint:tparallel // its cases share one installation
	t.Parallel()
	i, key := installationtest.New(t), newKeys(t)
	signed := i.Run(checkpoint(key.private)).Has()
	newKey(t, key.file, "sho.rt").Refused("exists")
	newKey(t, key.file+"2", "two words").Refused("no name of a key")
	newKey(t, "/nowhere/key", "sho.rt").Refused("/nowhere/key")
	checkProof(t, "", "").Refused("LINKLEDGER_PUBLIC")
	checkProof(t, "", key.public).Fails("file")
	i.Run(checkpoint("")).Refused("linkledger audit key FILE")
	p := i.Run(checkpoint("secret-of-mine"))
	p.Refused("give what linkledger audit key wrote")
	if strings.Contains(p.Err.Error(), "secret-of-mine") {
		t.Errorf("the refusal shows the key: %v", p.Err)
	}
	for name, tc := range map[string]struct {
		run  installationtest.Command
		want string
	}{
		"nothing":     {prove(attestation.ProofRequest{}), "nothing to prove"},
		"no hash":     {prove(attestation.ProofRequest{Hash: "none", SigningKey: key.private}), "none"},
		"no public":   {verify("", key.file), "--public-key (LINKLEDGER_PUBLIC_KEY)"},
		"wrong key":   {verify("x", key.file), "printed"},
		"no head":     {verify(key.public, key.file), "no head that"},
		"no file":     {verify(key.public, "/nowhere"), "/nowhere"},
		"no older":    {prove(attestation.ProofRequest{Since: []string{"/nowhere"}, PublicKey: key.public}), "/nowhere"},
		"no log":      {prove(attestation.ProofRequest{Hash: "x", Checkpoint: "/nowhere", PublicKey: key.public}), "There never was"},
		"wrong since": {prove(attestation.ProofRequest{Since: []string{key.file}, PublicKey: key.public}), "no head that"},
	} {
		t.Run(name, func(t *testing.T) { i.Run(tc.run).Refused(tc.want) })
	}
	for size, want := range map[int64]string{1: "contradict each other", 1000: "the head has 1000 events"} { //nolint:paralleltest // in one installation
		foreign, err := proof.Sign(tlog.Tree{N: size}, string(key.private))
		if err != nil {
			t.Fatal(err)
		}
		heads := write(t, signed+foreign.Signed)
		run := verify(key.public, heads)
		if size > 1 {
			run = prove(attestation.ProofRequest{Since: []string{heads}, Checkpoint: heads, PublicKey: key.public})
		}
		i.Run(run).Fails(want)
	}
	foreign, err := proof.Sign(tlog.Tree{N: 1000}, string(key.private))
	if err != nil {
		t.Fatal(err)
	}
	var found findings
	err = i.JSON(&found, verify(key.public, write(t, signed), write(t, foreign.Signed)))
	if a := found.Alteration; err == nil || a == nil || a.Missing != 1000-found.Events || !a.Sound ||
		!strings.Contains(err.Error(), "the log is shorter than the head of 1000 events") ||
		!strings.Contains(err.Error(), "What the log has is unaltered") {
		t.Errorf("of a longer log: %+v, %v", found, err)
	}
}

// TestAlteredTree alters the tree in PostgreSQL.
func TestAlteredTree(t *testing.T) {
	t.Parallel()
	i, key := installationtest.New(t), newKeys(t)
	i.Create(installationtest.Link("one"))
	heads := write(t, i.Run(checkpoint(key.private)).Has())
	i.Exec("UPDATE tree_g1.tree_tiles SET hashes = overlay(hashes placing sha256('x') from 33)")
	i.Run(verify(key.public, heads)).Fails("the tree in PostgreSQL was altered from position", "run linkledger projections rebuild tree")
	i.Run(verify("")).Fails("log and tree differ from position")
}

// TestAlteredLog alters the files of the event store as the owner of the machine could. An auditor who has signed heads
// finds the event, also after the tree was built from the altered log.
func TestAlteredLog(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "events")
	i, key := installationtest.NewOn(t, eventstoretest.ServeFolder(t, folder)), newKeys(t)
	i.Create(installationtest.Link("one"), installationtest.Link("two"))
	heads := write(t, i.Run(checkpoint(key.private)).Has())
	i.StopProjections()
	i.Events.Stop()
	at := alterStored(t, folder, "example.com/two", "example.net/two")
	i.Events.Start()
	found := func(of string, heads ...string) {
		t.Helper()
		var found findings
		err := i.JSON(&found, verify(key.public, heads...))
		if a := found.Alteration; err == nil || a == nil || a.Of != of || a.First.Position > at || a.Last.Position < at {
			t.Errorf("found %+v, %v; want %s at %d", found, err, of, at)
		}
	}
	found("log or tree")
	found("log", heads)
	i.Run(prove(attestation.ProofRequest{Hash: "two", Checkpoint: heads, PublicKey: key.public})).Fails("was altered")
	i.Rebuild("tree")
	i.Run(verify("")).Has("signed heads that fit: 0") // the new tree belongs to the altered log
	found("log", heads)
}

// alterStored alters the creation of a link in the folder of a stopped event store, in the format of the files, so that
// the store's own check finds no damage. It returns the position of the event.
func alterStored(t *testing.T, folder, before, after string) (position uint64) {
	t.Helper()
	db, err := pebble.Open(folder, &pebble.Options{FormatMajorVersion: pebble.FormatNewest})
	if err != nil {
		t.Fatal(err)
	}
	stored, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte{1}, UpperBound: []byte{2}})
	if err != nil {
		t.Fatal(err)
	}
	for stored.First(); stored.Valid(); stored.Next() {
		if !bytes.Contains(stored.Value(), []byte(before)) || !bytes.Contains(stored.Value(), []byte("url.created.v1")) {
			continue
		}
		altered := bytes.Replace(stored.Value(), []byte(before), []byte(after), 1)
		body := altered[:len(altered)-4]
		binary.BigEndian.PutUint32(altered[len(body):], crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
		if err := db.Set(stored.Key(), altered, pebble.Sync); err != nil {
			t.Fatal(err)
		}
		position = binary.BigEndian.Uint64(stored.Key()[1:])
	}
	if err := stored.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if position == 0 {
		t.Fatal("no event was altered")
	}
	if _, err := storeserver.Check(t.Context(), folder); err != nil {
		t.Fatalf("the store's check finds the alteration: %v", err)
	}
	return position
}

// TestCutStreams hides events of links and hashes in every way that the store's protocol offers. The audit names each
// stream, and the log still proves all events.
func TestCutStreams(t *testing.T) {
	t.Parallel()
	i, key := installationtest.New(t), newKeys(t)
	var cut []string
	proven := make(map[string]int) // events that the log proves, by hash
	for n, way := range eventstoretest.Cuts() {
		for _, family := range []string{events.StreamURL, events.StreamHash} {
			hash := fmt.Sprintf("%s%d", family, n)
			stream := family + hash
			if link := renamed(i, hash); family == events.StreamURL {
				stream = events.LinkStream(link)
			}
			way.Apply(t, i.Events.URL(), stream)
			cut, proven[hash] = append(cut, stream), 6
		}
	}
	renamed(i, "whole")
	var found findings
	err := i.JSON(&found, verify(""))
	if err == nil || !strings.Contains(err.Error(), "hides or damages history") || found.Alteration != nil ||
		len(found.Cuts) != len(cut) {
		t.Errorf("found %+v, %v", found, err)
	}
	for _, stream := range cut {
		at := slices.IndexFunc(found.Cuts, func(c struct{ Stream, Kind, Log, Readable string }) bool {
			return c.Stream == stream
		})
		if at < 0 || found.Cuts[at].Readable == found.Cuts[at].Log || found.Cuts[at].Readable == "" {
			t.Errorf("the findings do not name %s: %+v", stream, found.Cuts)
		}
	}
	p := i.Run(verify(""))
	p.Fails("hides or damages history (", ", …")
	p.Prints("kind\tstream\tposition\tin the log\treadable\tdetails\n", cut[0])
	for hash, want := range proven {
		p := i.Run(prove(attestation.ProofRequest{Hash: hash, SigningKey: key.private}))
		p.Fails("events that the log has are proved", "was cut")
		if of, err := proof.Check(strings.NewReader(p.Out), key.public); err != nil || len(of.Events) != want {
			t.Errorf("of %s are proved %d events, %v; want %d", hash, len(of.Events), err, want)
		}
	}
	i.Run(prove(attestation.ProofRequest{Hash: "whole", SigningKey: key.private})).Has()
}

// renamed creates a link, changes its hash and changes it back. It returns the id.
func renamed(i *installationtest.Installation, hash string) string {
	link := i.Create(installationtest.Link(hash))[0]
	i.Edit(commands.EditURL{Ref: linkwrite.Ref{Hash: hash}, CustomHash: new(hash + "x")})
	i.Edit(commands.EditURL{Ref: linkwrite.Ref{Hash: hash + "x"}, CustomHash: &hash})
	return link.ID
}
