package leaf_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"linkledger/events/proof/leaf"
)

// FuzzIsPlain compares IsPlain with encoding/json, whose result determines the leaves of every
// tree. IsPlain may reject valid JSON and must accept nothing else.
func FuzzIsPlain(f *testing.F) {
	for _, plain := range []string{
		`{"a":"b"}`, `{"":"ü","n":0,"m":10,"t":true,"f":false}`, `{"note":"a note","at":"2026-11-21T10:20:30.123456Z"}`,
		"{\"a\":\"\xff\"}",
		`{"a":{"b":"c"},"d":["e",1,true,{"f":[2]}]}`,
	} {
		if !leaf.IsPlain([]byte(plain)) {
			f.Errorf("%s is not plain", plain)
		}
		f.Add([]byte(plain))
	}
	for _, other := range []string{
		`{}`, `{"a":"\""}`, `{"a":01}`, `{"a":1.5}`, `{"a":-1}`, `{"a":null}`, `{"a":[]}`, `{"a":{}}`,
		`{"a":["b",]}`, `{"a":["b"}`, `{"a":{"b"}}`, `{"a":["b":1]}`, `{"a":[[[["b"]]]]}`, `{"a":tru}`, `["a"]`,
		`{"a":"b",}`, `{"a":"b"} `, `{"a":"b"`, "{\"a\":\"\n\"}", `{"a":truefalse}`,
	} {
		if leaf.IsPlain([]byte(other)) {
			f.Errorf("%s is plain", other)
		}
		f.Add([]byte(other))
	}
	f.Fuzz(func(t *testing.T, stored []byte) {
		if leaf.IsPlain(stored) && (!json.Valid(stored) || bytes.ContainsAny(stored, "\r\n") ||
			len(bytes.TrimSpace(stored)) != len(stored)) {
			t.Errorf("%q is plain", stored)
		}
	})
}

// BenchmarkIsPlain compares IsPlain with encoding/json.
func BenchmarkIsPlain(b *testing.B) {
	stored := []byte(`{"$correlationId":"01935f6e-0000-7000-8000-00000000000b","account":` +
		`"01935f6e-0000-7000-8000-00000000000b","key":"5f0c1a2b","request":"01935f6e-0000-7000-8000-00000000000b"}`)
	for name, valid := range map[string]func([]byte) bool{"own": leaf.IsPlain, "library": json.Valid} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if !valid(stored) {
					b.Fatal("not valid")
				}
			}
		})
	}
}
