package access

import (
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"linkledger/commands/domain"
	"linkledger/events"
	"linkledger/tagexpr"
)

// Limits of the terms of a key.
const (
	MaxName     = 100 // code points
	MaxNetworks = 50
)

// Checked returns terms in their stored form: each scope and each network once, in a fixed order.
// It refuses with InvalidValue and InvalidDate.
func Checked(terms events.KeyTerms) (events.KeyTerms, error) {
	terms.Name = strings.TrimSpace(terms.Name)
	if utf8.RuneCountInString(terms.Name) > MaxName {
		return terms, domain.Refuse(
			domain.InvalidValue, "The name of a key has at most %d characters", MaxName,
		)
	}
	var err error
	if terms.Scopes, err = checkedScopes(terms.Scopes); err != nil {
		return terms, err
	}
	if terms.Networks, err = checkedNetworks(terms.Networks); err != nil {
		return terms, err
	}
	if terms.Tags = strings.TrimSpace(terms.Tags); terms.Tags != "" {
		if _, err := Bound(terms.Tags); err != nil {
			return terms, err
		}
	}
	return terms, domain.CheckDate(terms.Expires)
}

// Bound parses the tag expression of a key. The key sees only links that match the expression.
// Bound refuses with InvalidValue an expression that cannot be parsed or that depends on clicks:
// commands check whether a link matches, and do not know its clicks.
func Bound(tags string) (*tagexpr.Expr, error) {
	expr, err := tagexpr.Parse(tags)
	if err != nil {
		return nil, domain.Refuse(domain.InvalidValue, "tags cannot be read %v", err)
	}
	if expr.DependsOnClicks() {
		return nil, domain.Refuse(
			domain.InvalidValue, "A key cannot be bound to clicks: leave out visited",
		)
	}
	return expr, nil
}

func checkedScopes(list []string) ([]string, error) {
	if len(list) == 0 {
		return nil, nil
	}
	var set Scopes
	for _, name := range list {
		scope, known := scopeOf(name)
		if !known {
			return nil, domain.Refuse(
				domain.InvalidValue, "There is no scope %q; the scopes are %s", name,
				strings.Join(names, ", "),
			)
		}
		set |= scope
	}
	return set.Names(), nil
}

func checkedNetworks(list []string) ([]string, error) {
	if len(list) > MaxNetworks {
		return nil, domain.Refuse(
			domain.InvalidValue, "A key has at most %d networks, not %d", MaxNetworks, len(list),
		)
	}
	var networks []string
	for _, text := range list {
		network, ok := parseNetwork(strings.TrimSpace(text))
		if !ok {
			return nil, domain.Refuse(
				domain.InvalidValue, "A network is an address or a prefix such as 192.0.2.0/24 "+
					"or 2001:db8::/32, not %q", text,
			)
		}
		networks = append(networks, network.String())
	}
	slices.Sort(networks)
	return slices.Compact(networks), nil
}

// parseNetwork parses a network. A single address is a network of its own.
func parseNetwork(text string) (netip.Prefix, bool) {
	if network, err := netip.ParsePrefix(text); err == nil {
		return network.Masked(), !network.Addr().Is4In6()
	}
	address, err := netip.ParseAddr(text)
	if err != nil || address.Zone() != "" {
		return netip.Prefix{}, false
	}
	address = address.Unmap()
	return netip.PrefixFrom(address, address.BitLen()), true
}

// AllowFrom reports whether a key with these networks may be used from an address. If networks is
// empty, every address is allowed. A stored network that cannot be parsed allows nothing.
func AllowFrom(networks []string, address string) bool {
	if len(networks) == 0 {
		return true
	}
	client, err := netip.ParseAddr(address)
	return err == nil && slices.ContainsFunc(networks, func(text string) bool {
		network, ok := parseNetwork(text)
		return ok && network.Contains(client.Unmap().WithZone(""))
	})
}

// Over reports whether the last day of a key, YYYY-MM-DD in UTC, is over. If lastDay is empty, the
// key has no last day.
func Over(lastDay string, now time.Time) bool {
	return lastDay != "" && lastDay < now.UTC().Format(time.DateOnly)
}

// Within reports whether a key with the terms has no rights that a key with the other terms lacks.
func Within(terms, other events.KeyTerms) bool {
	return ScopesOf(other.Scopes).Have(ScopesOf(terms.Scopes)) &&
		// An empty list includes the scopes of later versions, so no other list has them all.
		(len(terms.Scopes) > 0 || len(other.Scopes) == 0) &&
		(other.Tags == "" || terms.Tags == other.Tags) &&
		networksWithin(terms.Networks, other.Networks) &&
		(other.Expires == "" || terms.Expires != "" && terms.Expires <= other.Expires)
}

func networksWithin(networks, others []string) bool {
	if len(others) == 0 {
		return true
	}
	return len(networks) > 0 && !slices.ContainsFunc(networks, func(text string) bool {
		network, ok := parseNetwork(text)
		return !ok || !slices.ContainsFunc(others, func(text string) bool {
			other, ok := parseNetwork(text)
			return ok && other.Bits() <= network.Bits() && other.Contains(network.Addr())
		})
	})
}

// Excluded returns the labels that the tag expression of terms excludes. It returns none if was,
// the terms before a change, has the same expression.
func Excluded(terms, was events.KeyTerms) []string {
	if terms.Tags == "" || terms.Tags == was.Tags {
		return nil
	}
	bound, err := Bound(terms.Tags)
	if err != nil { // Checked has refused it
		return nil
	}
	return bound.Excluded()
}

// TermsChange is a change of the terms of a key. Nil fields change nothing.
type TermsChange struct {
	Name     *string
	Scopes   *[]string
	Tags     *string
	Networks *[]string
	Expires  *string
}

// Apply returns the terms with the change. In the former name and tags, it replaces characters that
// an event may no longer have. A former version may have stored such characters, and they MUST NOT
// make a change of other terms fail.
func (c TermsChange) Apply(terms events.KeyTerms) events.KeyTerms {
	terms.Name, terms.Tags = events.CleanText(terms.Name), events.CleanText(terms.Tags)
	set(&terms.Name, c.Name)
	set(&terms.Scopes, c.Scopes)
	set(&terms.Tags, c.Tags)
	set(&terms.Networks, c.Networks)
	set(&terms.Expires, c.Expires)
	return terms
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}
