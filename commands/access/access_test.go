package access

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"linkledger/commands/domain"
	"linkledger/events"
)

func TestScopes(t *testing.T) {
	t.Parallel()
	if got := All.Names(); !slices.Equal(got, names) || ScopesOf(names) != All || ScopesOf(nil) != All {
		t.Errorf("all scopes are %v", got)
	}
	if set := ScopesOf([]string{"links:read", "of a newer version"}); set != LinksRead {
		t.Errorf("an unknown scope allows something: %v", set.Names())
	}
	if set := ScopesOf([]string{"of a newer version"}); set != 0 || set.Have(LinksRead) || !set.Have(0) {
		t.Errorf("only an unknown scope: %v", set.Names())
	}
	if Keys.Names()[0] != "keys" || LinksWrite.Names()[0] != "links:write" {
		t.Error("a name is not that of its scope")
	}
}

func TestCheckedTerms(t *testing.T) {
	t.Parallel()
	got, err := Checked(events.KeyTerms{
		Name: " a ", Scopes: []string{"keys", "links:read", "keys"}, Expires: "2028-02-29",
		Networks: []string{"192.0.2.7/24", " 2001:DB8::/32", "::ffff:192.0.2.1", "192.0.2.0/24"},
	})
	if want := "{a [links:read keys]  [192.0.2.0/24 192.0.2.1/32 2001:db8::/32] 2028-02-29}"; err != nil ||
		fmt.Sprint(got) != want {
		t.Errorf("%v, %v; want %s", got, err, want)
	}
	for _, network := range []string{"", "x", "192.0.2.0/33", "192.0.2", "::ffff:192.0.2.0/120", "fe80::1%eth0"} {
		if _, err := Checked(events.KeyTerms{Networks: []string{network}}); domain.KindOf(err) != domain.InvalidValue {
			t.Errorf("network %q: %v", network, err)
		}
	}
	if _, err := Checked(events.KeyTerms{Networks: make([]string, MaxNetworks+1)}); domain.KindOf(err) != domain.InvalidValue {
		t.Errorf("too many networks: %v", err)
	}
}

func TestAllowFrom(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		networks []string
		address  string
		want     bool
	}{
		{nil, "192.0.2.1", true},
		{nil, "no address", true},
		{[]string{"192.0.2.0/24"}, "192.0.2.255", true},
		{[]string{"192.0.2.0/24"}, "::ffff:192.0.2.255", true},
		{[]string{"192.0.2.0/24"}, "192.0.3.0", false},
		{[]string{"192.0.2.0/24"}, "2001:db8::1", false},
		{[]string{"0.0.0.0/0"}, "::1", false},
		{[]string{"192.0.2.0/24"}, "no address", false},
		{[]string{"192.0.2.0/24"}, "", false},
		{[]string{"fe80::/10"}, "fe80::1%eth0", true},
		{[]string{"damaged"}, "192.0.2.1", false},
	} {
		if got := AllowFrom(tc.networks, tc.address); got != tc.want {
			t.Errorf("%v from %s: %t", tc.networks, tc.address, got)
		}
	}
}

func TestOver(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 14, 23, 59, 59, 0, time.UTC)
	for lastDay, want := range map[string]bool{"": false, "2026-05-13": true, "2026-05-14": false, "2026-05-15": false} {
		if got := Over(lastDay, now); got != want {
			t.Errorf("%q: %t", lastDay, got)
		}
	}
}

// TestWithin checks Within against its meaning: if a key is within another, the other may do everything that the key
// may do, at any day and from any address.
func TestWithin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		terms, other := drawTerms(t, "terms"), drawTerms(t, "other")
		within := Within(terms, other)
		for _, day := range []string{"2026-01-01", "2026-06-01", "2027-06-01"} {
			for _, address := range []string{"192.0.2.1", "192.0.2.200", "198.51.100.1", "2001:db8::1"} {
				for bit := range names {
					if within && may(terms, 1<<bit, day, address) && !may(other, 1<<bit, day, address) {
						t.Fatalf("%+v is within %+v, but may %s on %s from %s", terms, other, names[bit], day, address)
					}
				}
			}
		}
		if !Within(terms, terms) || !Within(terms, events.KeyTerms{}) {
			t.Fatalf("%+v is not within itself or everything", terms)
		}
	})
}

func may(terms events.KeyTerms, scope Scopes, day, address string) bool {
	now, _ := time.Parse(time.DateOnly, day)
	return ScopesOf(terms.Scopes).Have(scope) && !Over(terms.Expires, now) && AllowFrom(terms.Networks, address)
}

func drawTerms(t *rapid.T, label string) events.KeyTerms {
	return events.KeyTerms{
		Scopes: rapid.SampledFrom([][]string{
			nil, {"links:read"}, {"links:read", "keys"}, {"stats:read"}, {"of a newer version"},
		}).Draw(t, label+" scopes"),
		Networks: rapid.SampledFrom([][]string{
			nil, {"192.0.2.0/24"}, {"192.0.2.0/25"}, {"192.0.2.1/32", "2001:db8::/32"}, {"0.0.0.0/0"}, {"::/0"},
		}).Draw(t, label+" networks"),
		Expires: rapid.SampledFrom([]string{"", "2026-02-01", "2026-12-31"}).Draw(t, label+" expires"),
	}
}
