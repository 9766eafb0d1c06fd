package proof

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// TestDeepEvents parses lines of events that are nested as deeply as JSON allows, and more deeply.
// Both the line and the line of a proof around it must be readable.
func TestDeepEvents(t *testing.T) {
	t.Parallel()
	for _, depth := range []int{1, maxNesting - 1, maxNesting, maxNesting + 1, maxNesting + 2, maxNesting + 3} {
		nested := strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1)
		if depth == 1 {
			nested = "1"
		}
		data := []byte(`{"a":"\"[[[\\","b":` + nested + `}`)
		if Verbatim(data) != (depth <= maxNesting) {
			t.Errorf("depth %d: verbatim %v", depth, Verbatim(data))
		}
		line := AppendLine(nil, logged(1, "url-deep", 0, "url.created.v1", string(data)))
		read, err := ParseLine(line)
		if err != nil || !bytes.Equal(read.Data, data) {
			t.Errorf("depth %d: %v", depth, err)
		}
		proof, err := eventLine{Index: 1, Event: line}.append(nil)
		if err != nil || !json.Valid(proof) {
			t.Errorf("depth %d: the line of the proof cannot be read: %v", depth, err)
		}
	}
}

// FuzzIsPlain compares isPlain with encoding/json, whose result determines the leaves of every
// tree. isPlain may reject valid JSON and must accept nothing else.
func FuzzIsPlain(f *testing.F) {
	for _, plain := range []string{
		`{"a":"b"}`, `{"":"ü","n":0,"m":10,"t":true,"f":false}`, `{"note":"a note","at":"2026-11-21T10:20:30.123456Z"}`,
		"{\"a\":\"\xff\"}",
		`{"a":{"b":"c"},"d":["e",1,true,{"f":[2]}]}`,
	} {
		if !isPlain([]byte(plain)) {
			f.Errorf("%s is not plain", plain)
		}
		f.Add([]byte(plain))
	}
	for _, other := range []string{
		`{}`, `{"a":"\""}`, `{"a":01}`, `{"a":1.5}`, `{"a":-1}`, `{"a":null}`, `{"a":[]}`, `{"a":{}}`,
		`{"a":["b",]}`, `{"a":["b"}`, `{"a":{"b"}}`, `{"a":["b":1]}`, `{"a":[[[["b"]]]]}`, `{"a":tru}`, `["a"]`,
		`{"a":"b",}`, `{"a":"b"} `, `{"a":"b"`, "{\"a\":\"\n\"}", `{"a":truefalse}`,
	} {
		if isPlain([]byte(other)) {
			f.Errorf("%s is plain", other)
		}
		f.Add([]byte(other))
	}
	f.Fuzz(func(t *testing.T, stored []byte) {
		if isPlain(stored) && (!json.Valid(stored) || bytes.ContainsAny(stored, "\r\n") ||
			len(bytes.TrimSpace(stored)) != len(stored)) {
			t.Errorf("%q is plain", stored)
		}
	})
}

// BenchmarkIsPlain compares isPlain with encoding/json.
func BenchmarkIsPlain(b *testing.B) {
	stored := []byte(`{"$correlationId":"01935f6e-0000-7000-8000-00000000000b","account":` +
		`"01935f6e-0000-7000-8000-00000000000b","key":"5f0c1a2b","request":"01935f6e-0000-7000-8000-00000000000b"}`)
	for name, valid := range map[string]func([]byte) bool{"own": isPlain, "library": json.Valid} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if !valid(stored) {
					b.Fatal("not valid")
				}
			}
		})
	}
}
