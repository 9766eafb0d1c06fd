package proof

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzIsFlat holds the quick answer against encoding/json, whose answers are in every tree: it may leave JSON out, and must
// let nothing else in.
func FuzzIsFlat(f *testing.F) {
	for _, flat := range []string{
		`{"a":"b"}`, `{"":"ü","n":0,"m":10,"t":true,"f":false}`, `{"note":"a note","at":"2026-11-21T10:20:30.123456Z"}`, "{\"a\":\"\xff\"}",
	} {
		if !isFlat([]byte(flat)) {
			f.Errorf("%s is not flat", flat)
		}
		f.Add([]byte(flat))
	}
	for _, other := range []string{`{}`, `{"a":"\""}`, `{"a":01}`, `{"a":1.5}`, `{"a":-1}`, `{"a":null}`, `{"a":[]}`, `{"a":"b",}`, `{"a":"b"} `, `{"a":"b"`, "{\"a\":\"\n\"}", `{"a":truefalse}`} {
		if isFlat([]byte(other)) {
			f.Errorf("%s is flat", other)
		}
		f.Add([]byte(other))
	}
	f.Fuzz(func(t *testing.T, stored []byte) {
		if isFlat(stored) && (!json.Valid(stored) || bytes.ContainsAny(stored, "\r\n") || len(bytes.TrimSpace(stored)) != len(stored)) {
			t.Errorf("%q is flat", stored)
		}
	})
}
