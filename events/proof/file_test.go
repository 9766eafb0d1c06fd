package proof

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"

	"linkledger/events/eventstore"
	"linkledger/events/proof/leaf"
)

func newKey(t interface{ Fatal(...any) }) (private, public string) {
	private, public, err := NewKey("sho.rt")
	if err != nil {
		t.Fatal(err)
	}
	return private, public
}

func signed(t interface{ Fatal(...any) }, log []eventstore.Recorded, private string) Head {
	tree, _ := treeOf(log)
	head, err := Sign(tree, private)
	if err != nil {
		t.Fatal(err)
	}
	return head
}

// hashesOf returns a reader of the hashes of the tree of a log.
func hashesOf(log []eventstore.Recorded) tlog.HashReader {
	var stored []tlog.Hash
	reader := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		hashes := make([]tlog.Hash, len(indexes))
		for i, index := range indexes {
			if index >= int64(len(stored)) {
				return nil, errors.New("no such hash")
			}
			hashes[i] = stored[index]
		}
		return hashes, nil
	})
	for n, r := range log {
		hashes, _ := tlog.StoredHashes(int64(n), leaf.Append(nil, r), reader) // never fails
		stored = append(stored, hashes...)
	}
	return reader
}

func TestHeads(t *testing.T) {
	t.Parallel()
	private, public := newKey(t)
	log := newLog(9)
	first, second := signed(t, log[:4], private), signed(t, log, private)
	if !strings.HasPrefix(first.Signed, "sho.rt\n4\n"+first.Hash.String()+"\n\n— sho.rt ") {
		t.Errorf("a head is %q", first.Signed)
	}
	for _, text := range []string{first.Signed + second.Signed, "\n" + first.Signed + "\n\n" + second.Signed + "\n"} {
		if heads, err := Heads([]byte(text), public); err != nil || !slices.Equal(heads, []Head{first, second}) {
			t.Errorf("read %+v, %v", heads, err)
		}
	}
	_, other := newKey(t)
	foreign, _, err := NewKey("other.host")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	misnamed, err := note.Sign(&note.Note{Text: headText("other.host", first.Tree)}, signer)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"another log": string(misnamed), "nothing": " \n", "no note": "x",
		"another size": strings.Replace(first.Signed, "\n4\n", "\n5\n", 1),
		"no signature": strings.Split(first.Signed, "— ")[0], "another name": signed(t, log, foreign).Signed,
		"one of two": first.Signed + strings.Replace(second.Signed, "\n9\n", "\n8\n", 1),
	} {
		if heads, err := Heads([]byte(text), public); err == nil {
			t.Errorf("%s: %+v", name, heads)
		}
	}
	if _, err := Heads([]byte(first.Signed), other); !errors.Is(err, ErrUnsigned) {
		t.Errorf("another key: %v", err)
	}
	if _, err := Heads([]byte(first.Signed), "key"); err == nil || errors.Is(err, ErrUnsigned) {
		t.Errorf("no key: %v", err)
	}
	if _, _, err := NewKey("two words"); err == nil {
		t.Error("a name with a space is accepted")
	}
}

// TestProofs checks that proofs are valid for every event of a log of any size, and for every older
// head.
func TestProofs(t *testing.T) {
	t.Parallel()
	private, public := newKey(t)
	rapid.Check(t, func(t *rapid.T) {
		log := newLog(rapid.IntRange(1, 40).Draw(t, "events"))
		head := signed(t, log, private)
		var file bytes.Buffer
		w, err := NewWriter(&file, head, hashesOf(log))
		if err != nil {
			t.Fatal(err)
		}
		for n := range len(log) + 1 {
			if err := w.Since(signed(t, log[:n], private)); err != nil {
				t.Fatal(err)
			}
		}
		for i, r := range log {
			if err := w.Event(r, int64(i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		proven, err := Check(&file, public)
		if err != nil || proven.Head != head || len(proven.Since) != len(log)+1 || len(proven.Events) != len(log) {
			t.Fatalf("proven %+v, %v", proven, err)
		}
		for i, e := range proven.Events {
			if e.Index != int64(i) || e.Position.Commit != log[i].Position.Commit || e.Stream != log[i].Stream ||
				!e.Time.Equal(log[i].Time) {
				t.Fatalf("event %d is %+v", i, e)
			}
		}
	})
}

// TestNoProofs checks that a Writer does not write anything that the tree does not prove.
func TestNoProofs(t *testing.T) {
	t.Parallel()
	private, _ := newKey(t)
	log := newLog(9)
	altered, _ := tamperings["other data"](slices.Clone(log), 3)
	older := signed(t, altered[:5], private)
	for name, prove := range map[string]func(w *Writer) error{
		"an event that was altered": func(w *Writer) error { return w.Event(altered[3], 3) },
		"an event elsewhere":        func(w *Writer) error { return w.Event(log[3], 4) },
		"an event behind the end":   func(w *Writer) error { return w.Event(log[3], 9) },
		"a head of an altered log":  func(w *Writer) error { return w.Since(older) },
		"a head of the same size":   func(w *Writer) error { return w.Since(signed(t, altered, private)) },
		"a head of more events":     func(w *Writer) error { return w.Since(signed(t, newLog(10), private)) },
	} {
		w, err := NewWriter(new(bytes.Buffer), signed(t, log, private), hashesOf(log))
		if err != nil {
			t.Fatal(err)
		}
		if err := prove(w); !errors.Is(err, ErrUnproven) {
			t.Errorf("%s: %v", name, err)
		}
	}
	w, err := NewWriter(new(bytes.Buffer), signed(t, log, private), hashesOf(altered))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Event(log[5], 5); !errors.Is(err, ErrUnproven) {
		t.Errorf("with the hashes of another tree: %v", err)
	}
}

// TestCheckFindsForgeries checks that a file that was altered anywhere proves nothing.
func TestCheckFindsForgeries(t *testing.T) {
	t.Parallel()
	private, public := newKey(t)
	log := newLog(9)
	var written bytes.Buffer
	w, err := NewWriter(&written, signed(t, log, private), hashesOf(log))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Since(signed(t, log[:5], private)), w.Event(log[6], 6), w.Close()); err != nil {
		t.Fatal(err)
	}
	file := written.String()
	lines := strings.SplitAfter(file, "\n")
	for name, forged := range map[string]string{
		"nothing":          "",
		"no head":          strings.Join(lines[1:], ""),
		"another size":     strings.Replace(file, `rt\n9\n`, `rt\n8\n`, 1),
		"other older size": strings.Replace(file, `rt\n5\n`, `rt\n4\n`, 1),
		"other data":       strings.Replace(file, `{"n":6}`, `{"n":7}`, 1),
		"a space":          strings.Replace(file, `{"n":6}`, `{"n": 6}`, 1),
		"another stream":   strings.Replace(file, `"url-0"`, `"url-1"`, 1),
		"another index":    strings.Replace(file, `"index":6`, `"index":5`, 1),
		"no index":         strings.Replace(file, `"index":6`, `"index":-1`, 1),
		"shorter proof":    strings.Replace(lines[0]+lines[2], `"proof":["`, `"proof":[],"x":["`, 1),
		"no proof of old":  strings.Replace(lines[0]+lines[1], `"proof":["`, `"proof":[],"x":["`, 1),
		"no JSON":          file + "x\n",
		"nothing proven":   file + "{}\n",
	} {
		if forged == file {
			t.Fatalf("%s: nothing was forged", name)
		}
		if proven, err := Check(strings.NewReader(forged), public); err == nil {
			t.Errorf("%s: %+v", name, proven)
		}
	}
	if _, err := Check(strings.NewReader(file), public); err != nil {
		t.Errorf("not forged: %v", err)
	}
}
