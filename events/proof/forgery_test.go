package proof

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"linkledger/internal/soak"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"
)

// proofFile returns a file that proves older heads and events of a log, with the keys of its head.
func proofFile(t *testing.T) (file, private, public string) {
	t.Helper()
	private, public = newKey(t)
	log := newLog(9)
	var written bytes.Buffer
	w, err := NewWriter(&written, signed(t, log, private), hashesOf(log))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(
		w.Since(signed(t, nil, private)), w.Since(signed(t, log[:5], private)), w.Since(signed(t, log, private)),
		w.Event(log[2], 2), w.Event(log[6], 6), w.Close(),
	); err != nil {
		t.Fatal(err)
	}
	return written.String(), private, public
}

// TestForgedSpelling checks that Check rejects files that another JSON reader would read as
// something other than what is proven.
func TestForgedSpelling(t *testing.T) {
	t.Parallel()
	file, private, public := proofFile(t)
	if proven, err := Check(strings.NewReader(file), public); err != nil || len(proven.Events) != 2 ||
		len(proven.Since) != 3 {
		t.Fatalf("not forged: %+v, %v", proven, err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(file, "\n"), "\n")
	event := lines[len(lines)-1]
	_, real, _ := strings.Cut(event, `"event":`)
	real = strings.TrimSuffix(real, "}")
	const forged = `{"position":{"commit":1,"prepare":1},"stream":"url-forged"}`
	replaced := func(from, to string) string { return strings.Replace(file, from, to, 1) }
	cosigned := cosign(t, lines[0], private)
	forgeries := map[string]string{
		"event twice, forged first":        replaced(`"event":`+real, `"event":`+forged+`,"event":`+real),
		"event twice, forged last":         replaced(`"event":`+real, `"event":`+real+`,"event":`+forged),
		"event in another case first":      replaced(`"event":`+real, `"EVENT":`+forged+`,"event":`+real),
		"event in another case last":       replaced(`"event":`+real, `"event":`+forged+`,"EVENT":`+real),
		"event in another case only":       replaced(`"event":`+real, `"Event":`+real),
		"event by an escaped key":          replaced(`"event":`+real, `"event":`+forged+`,"\u0065vent":`+real),
		"event by the Kelvin sign's kin":   replaced(`"checkpoint":`, `"checKpoint":`),
		"index twice":                      replaced(`{"index":6`, `{"index":5,"index":6`),
		"index in another case":            replaced(`{"index":6`, `{"index":5,"Index":6`),
		"index with an exponent":           replaced(`{"index":6`, `{"index":6e0`),
		"index with a fraction":            replaced(`{"index":6`, `{"index":6.0`),
		"index with a leading zero":        replaced(`{"index":6`, `{"index":06`),
		"index as a text":                  replaced(`{"index":6`, `{"index":"6"`),
		"proof twice":                      replaced(`"proof":[`, `"proof":[],"proof":[`),
		"an unknown key":                   replaced(`{"index":6`, `{"note":"x","index":6`),
		"an unknown key behind":            file[:len(file)-2] + `,"note":"x"}` + "\n",
		"a space behind a colon":           replaced(`{"index":6`, `{"index": 6`),
		"a space behind a line":            strings.TrimSuffix(file, "\n") + " \n",
		"a tab before a line":              strings.TrimSuffix(file, event+"\n") + "\t" + event + "\n",
		"a carriage return":                strings.ReplaceAll(file, "\n", "\r\n"),
		"a byte order mark":                "\ufeff" + file,
		"an empty line":                    file + "\n",
		"no end of the last line":          strings.TrimSuffix(file, "\n"),
		"JSON behind JSON":                 strings.TrimSuffix(file, "\n") + "{}\n",
		"a NUL at the end":                 file + "\x00",
		"a hash spelled otherwise":         replaced(`"proof":["`, `"proof":["\u0020`),
		"a null proof":                     replaced(`"proof":[]`, `"proof":null`),
		"a proof of the empty log":         replaced(`"proof":[]`, `"proof":["`+tlog.Hash{}.String()+`"]`),
		"the checkpoint twice":             replaced(`{"checkpoint":`, `{"checkpoint":"x","checkpoint":`),
		"the checkpoint in another case":   replaced(`{"checkpoint":`, `{"Checkpoint":`),
		"a since beside the checkpoint":    replaced(`"}`+"\n", `","since":""}`+"\n"),
		"the checkpoint escaped":           replaced(`{"checkpoint":"s`, `{"checkpoint":"\u0073`),
		"the checkpoint with invalid text": replaced(`{"checkpoint":"sho`, "{\"checkpoint\":\"\xff"+`sho`),
		"a line before the head":           replaced(`{"checkpoint":"`, `{"checkpoint":"\n`),
		"a line behind the head":           replaced(`\n"}`, `\n\n"}`),
		"two heads in one":                 replaced(`\n"}`+"\n", `\n`+headOf(t, lines[0])+`"}`+"\n"),
		"a signature of somebody else":     replaced(lines[0], cosigned),
		"another spelling of a signature":  replaced(lines[0], respelled(t, lines[0])),
		"an event twice":                   file + event + "\n",
		"events in another order":          strings.Join(lines[:len(lines)-2], "") + event + "\n" + lines[len(lines)-2],
		"an older head behind events":      file + lines[1],
		"another head in the middle":       file + lines[0],
	}
	if len(forgeries) < 17 {
		t.Errorf("%d forgeries", len(forgeries))
	}
	for name, forgery := range forgeries {
		if forgery == file {
			t.Fatalf("%s: nothing was forged", name)
		}
		if proven, err := Check(strings.NewReader(forgery), public); err == nil {
			t.Errorf("%s: %+v", name, proven)
		}
	}
}

// headOf returns the head in a line, byte for byte.
func headOf(t *testing.T, line string) string {
	t.Helper()
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), `{"checkpoint":"`), `"}`)
}

// relined applies change to the head in a line.
func relined(t *testing.T, line string, change func(signed string) string) string {
	t.Helper()
	var read headLine
	if err := json.Unmarshal([]byte(line), &read); err != nil {
		t.Fatal(err)
	}
	written, err := json.Marshal(headLine{change(read.Checkpoint)})
	if err != nil {
		t.Fatal(err)
	}
	return string(written) + "\n"
}

// cosign adds the signature of another key to a head.
func cosign(t *testing.T, line, private string) string {
	t.Helper()
	other, _, err := NewKey("witness.example")
	if err != nil {
		t.Fatal(err)
	}
	return relined(t, line, func(signed string) string {
		text, _, _ := strings.Cut(signed, "\n\n")
		var signers []note.Signer
		for _, key := range []string{private, other} {
			signer, err := note.NewSigner(key)
			if err != nil {
				t.Fatal(err)
			}
			signers = append(signers, signer)
		}
		both, err := note.Sign(&note.Note{Text: text + "\n"}, signers...)
		if err != nil {
			t.Fatal(err)
		}
		return string(both)
	})
}

// respelled changes the unused last bits of a base64 signature.
func respelled(t *testing.T, line string) string {
	t.Helper()
	return relined(t, line, func(signed string) string {
		const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
		text := strings.TrimSuffix(signed, "=\n")
		last := strings.IndexByte(alphabet, text[len(text)-1])
		return text[:len(text)-1] + string(alphabet[last^1]) + "=\n"
	})
}

// TestAnyByteCounts changes, removes and adds bytes anywhere in a file. The result either proves
// nothing, or proves the same as a prefix of the file.
func TestAnyByteCounts(t *testing.T) {
	t.Parallel()
	whole, _, public := proofFile(t)
	lines := strings.SplitAfter(whole, "\n")
	file := lines[0] + lines[2] + lines[len(lines)-2] // one line of each kind
	if _, err := Check(strings.NewReader(file), public); err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(file); at += soak.N(7, 1) {
		for _, forged := range []string{
			file[:at] + string(file[at]^1) + file[at+1:], file[:at] + string(file[at]^0x20) + file[at+1:],
			file[:at] + file[at+1:],
			file[:at] + " " + file[at:],
		} {
			if proven, err := Check(strings.NewReader(forged), public); err == nil {
				t.Fatalf("byte %d, %q: %+v", at, forged[max(0, at-10):min(len(forged), at+10)], proven)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.IntRange(0, len(file)).Draw(t, "at")
		end := min(len(file), at+rapid.IntRange(0, 30).Draw(t, "length"))
		forged := file[:at] + string(rapid.SliceOfN(rapid.Byte(), 1, 30).Draw(t, "bytes")) + file[end:]
		if forged == file {
			return
		}
		if proven, err := Check(strings.NewReader(forged), public); err == nil {
			t.Fatalf("%q: %+v", forged, proven)
		}
	})
}
