package proof

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzIsPlain holds the quick answer against encoding/json, whose answers are in every tree: it may leave JSON out, and must
// let nothing else in.
func FuzzIsPlain(f *testing.F) {
	for _, plain := range []string{
		`{"a":"b"}`, `{"":"ü","n":0,"m":10,"t":true,"f":false}`, `{"note":"a note","at":"2026-11-21T10:20:30.123456Z"}`, "{\"a\":\"\xff\"}",
		`{"a":{"b":"c"},"d":["e",1,true,{"f":[2]}]}`,
	} {
		if !isPlain([]byte(plain)) {
			f.Errorf("%s is not plain", plain)
		}
		f.Add([]byte(plain))
	}
	for _, other := range []string{
		`{}`, `{"a":"\""}`, `{"a":01}`, `{"a":1.5}`, `{"a":-1}`, `{"a":null}`, `{"a":[]}`, `{"a":{}}`,
		`{"a":["b",]}`, `{"a":["b"}`, `{"a":{"b"}}`, `{"a":["b":1]}`, `{"a":[[[["b"]]]]}`, `{"a":tru}`, `["a"]`, `{"a":"b",}`, `{"a":"b"} `, `{"a":"b"`, "{\"a\":\"\n\"}", `{"a":truefalse}`,
	} {
		if isPlain([]byte(other)) {
			f.Errorf("%s is plain", other)
		}
		f.Add([]byte(other))
	}
	f.Fuzz(func(t *testing.T, stored []byte) {
		if isPlain(stored) && (!json.Valid(stored) || bytes.ContainsAny(stored, "\r\n") || len(bytes.TrimSpace(stored)) != len(stored)) {
			t.Errorf("%q is plain", stored)
		}
	})
}
