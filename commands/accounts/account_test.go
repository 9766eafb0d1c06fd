package accounts

import (
	"strings"
	"testing"

	"github.com/google/uuid"
)

func TestKeys(t *testing.T) {
	t.Parallel()
	command := uuid.New()
	key := newAPIKey(command)
	if !SameKey(HashKey(key.key), key.hash) || SameKey(HashKey(key.key+"x"), key.hash) ||
		SameKey(HashKey(""), key.hash) || SameKey(HashKey(key.key), "") {
		t.Error("a key matches exactly its own hash")
	}
	if strings.Contains(key.key, key.hash) || len(key.id) != 12 {
		t.Errorf("id %q", key.id)
	}
	if again := newAPIKey(command); again.id != key.id || again.key == key.key {
		t.Errorf("the same command made %+v and %+v", key, again)
	}
}
