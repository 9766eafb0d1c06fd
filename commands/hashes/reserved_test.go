package hashes

import (
	"slices"
	"strings"
	"testing"

	"linkledger/commands/domain"
)

func TestReserved(t *testing.T) {
	t.Parallel()
	for _, hash := range []string{
		"v3", "V3", "v4", "V10", "console", "Console", "CONSOLE", "api", "Api", "admin", "ADMIN", "Login", "health",
		"Metrics", "robots", "favicon", "Well-Known",
	} {
		if !Reserved(hash) || domain.KindOf(CheckNew(hash)) != domain.HashUnavailable {
			t.Errorf("%q is free", hash)
		}
	}
	for _, hash := range []string{"a", "v", "v3a", "v300", "consoles", "api2", "spring", "-", "vv", "v-3"} {
		if Reserved(hash) || CheckNew(hash) != nil {
			t.Errorf("%q is reserved", hash)
		}
	}
	for _, name := range slices.Concat(served, reserved) {
		if !Valid(name) || strings.ToLower(name) != name {
			t.Errorf("%q is no hash in lower case", name)
		}
	}
}
