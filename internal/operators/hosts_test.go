package operators_test

import (
	"testing"

	"linkledger/internal/operators"
)

// TestHosts checks the host names that open the console: names that no foreign page can have.
func TestHosts(t *testing.T) {
	t.Parallel()
	hosts := operators.Hosts{"ops.example"}
	for host, want := range map[string]bool{
		"127.0.0.1:8081": true, "[::1]:8081": true, "::1": true, "LOCALHOST:8081": true, "192.0.2.7": true,
		"localhost": true, "Ops.Example:80": true, "ops.example": true,
		"": false, "evil.example": false, "localhost.evil.example": false, "127.0.0.1.evil.example:8081": false,
		"fe80::1%evil.example": false, "sub.ops.example": false,
	} {
		if got := hosts.Knows(host); got != want {
			t.Errorf("the host %q is known: %t, want %t", host, got, want)
		}
	}
	if hosts.Has("localhost") || !hosts.Has("ops.example:443") {
		t.Error("a name that was not given is one, or one that was is none")
	}
}
