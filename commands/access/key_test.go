package access_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"linkledger/commands/access"
	"linkledger/events"
)

// TestKeys compares a key with hashes, and makes it again by the same command.
func TestKeys(t *testing.T) {
	t.Parallel()
	command := uuid.New()
	key := access.MakeKey(command)
	if !access.SameKey(access.HashKey(key.Secret), key.Hash) || access.SameKey(access.HashKey(key.Secret+"x"), key.Hash) ||
		access.SameKey(access.HashKey(""), key.Hash) || access.SameKey(access.HashKey(key.Secret), "") {
		t.Error("a key matches exactly its own hash")
	}
	if strings.Contains(key.Secret, key.Hash) || len(key.ID) != 12 {
		t.Errorf("id %q", key.ID)
	}
	if again := access.MakeKey(command); again.ID != key.ID || again.Secret == key.Secret {
		t.Errorf("the same command made %+v and %+v", key, again)
	}
}

// TestExcluded checks which labels a key has to hold after a change of its terms.
func TestExcluded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tags, before string
		want         []string
	}{
		"of a new key":            {tags: "docs&~old", want: []string{"old"}},
		"of a changed expression": {tags: "~old", before: "docs&~old", want: []string{"old"}},
		"of the same expression":  {tags: "docs&~old", before: "docs&~old"},
		"of no expression":        {before: "docs&~old"},
		"of one without an end":   {tags: "docs&"},
	} {
		got := access.Excluded(events.KeyTerms{Tags: test.tags}, events.KeyTerms{Tags: test.before})
		if !slices.Equal(got, test.want) {
			t.Errorf("labels %s: %q, want %q", name, got, test.want)
		}
	}
}

// TestTermsChange checks that a change replaces the fields that it has, and no other ones.
func TestTermsChange(t *testing.T) {
	t.Parallel()
	terms := events.KeyTerms{
		Name: "n", Scopes: []string{"links:read"}, Tags: "docs", Networks: []string{"192.0.2.0/24"}, Expires: "2027-01-31",
	}
	if got := (access.TermsChange{}).Apply(terms); !access.Within(got, terms) || !access.Within(terms, got) || got.Name != "n" {
		t.Errorf("no change makes %+v", got)
	}
	got := access.TermsChange{
		Name: new("m"), Scopes: new([]string{"keys"}), Tags: new(""), Networks: &[]string{}, Expires: new("2027-02-01"),
	}.Apply(terms)
	if got.Name != "m" || !slices.Equal(got.Scopes, []string{"keys"}) {
		t.Errorf("name %q, scopes %q", got.Name, got.Scopes)
	}
	if got.Tags != "" || len(got.Networks) > 0 || got.Expires != "2027-02-01" {
		t.Errorf("tags %q, networks %q, expires %q", got.Tags, got.Networks, got.Expires)
	}
}
