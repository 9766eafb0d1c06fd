package accounts

import (
	"strings"
	"testing"
)

func TestKeys(t *testing.T) {
	t.Parallel()
	key := newAPIKey()
	if !SameKey(HashKey(key.key), key.hash) || SameKey(HashKey(key.key+"x"), key.hash) ||
		SameKey(HashKey(""), key.hash) || SameKey(HashKey(key.key), "") {
		t.Error("a key matches exactly its own hash")
	}
	if strings.Contains(key.key, key.hash) || len(key.id) != 8 {
		t.Errorf("id %q", key.id)
	}
}
