package hashes

import (
	"strings"
	"testing"
	"time"

	"linkledger/commands/commandstest"
	"linkledger/commands/domain"
	"linkledger/events"
)

func TestCheckCustomHash(t *testing.T) {
	t.Parallel()
	tests := map[string]domain.Kind{
		"a": 0, "Ab9_-": 0, strings.Repeat("x", 25): 0,
		"": domain.HashUnavailable, strings.Repeat("x", 26): domain.HashUnavailable, "a b": domain.HashUnavailable,
		"a/b": domain.HashUnavailable,
		"é":   domain.HashUnavailable, "a\n": domain.HashUnavailable, "v3": 0,
	}
	for hash, want := range tests {
		if got := domain.KindOf(CheckCustomHash(hash)); got != want {
			t.Errorf("%q: got %d, want %d", hash, got, want)
		}
	}
}

func TestGenerateHash(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for range 1000 {
		hash := Generate()
		if len(hash) != generatedLength || !Valid(hash) || strings.ContainsAny(hash, "01lio") {
			t.Fatalf("generated %q", hash)
		}
		seen[hash] = true
	}
	if len(seen) < 999 {
		t.Errorf("only %d of 1000 generated hashes differ", len(seen))
	}
}

func TestHolderOf(t *testing.T) {
	t.Parallel()
	claim := Fold(
		"summer", []events.Event{events.HashClaimed{Hash: "summer", URLID: "u", Account: "a", At: commandstest.At}},
	)
	renamed := events.URLRenamed{From: "spring", To: "summer", ClaimRevision: 0, At: commandstest.At}
	away := events.URLRenamed{From: "summer", To: "autumn", ClaimRevision: 1, At: commandstest.At}
	abandoned := events.ClaimAbandoned{Hash: "summer", ClaimRevision: 0, At: commandstest.At}
	tests := map[string]struct {
		given []events.Event
		age   time.Duration
		want  claimStatus
	}{
		"no link yet":        {want: claimPending},
		"no link for long":   {age: ClaimTimeout, want: claimExpired},
		"far ahead":          {age: -events.MaxLead - 1, want: claimExpired},
		"no link, abandoned": {given: []events.Event{abandoned}, want: claimAbandoned},
		"renaming":           {given: []events.Event{commandstest.Created()}, want: claimPending},
		"never renamed": {
			given: []events.Event{commandstest.Created()}, age: ClaimTimeout, want: claimExpired,
		},
		"renaming was abandoned": {given: []events.Event{commandstest.Created(), abandoned}, want: claimAbandoned},
		"renamed": {
			given: []events.Event{commandstest.Created(), renamed}, age: time.Hour, want: claimInUse,
		},
		"renamed away": {given: []events.Event{commandstest.Created(), renamed, away}, want: claimLeft},
		"deleted": {
			given: []events.Event{
				commandstest.Created(), renamed, events.URLDeleted{Account: "a", Hash: "summer", At: commandstest.At},
			}, want: claimLeft,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := claim.statusFor(domain.FoldLink(test.given), commandstest.At.Add(test.age)); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}
