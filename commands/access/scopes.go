// Package access decides what a caller may do: the scopes of API keys, from where and until when a
// key works, and which keys a key may make. Its results depend on the arguments alone.
package access

import "math/bits"

// Scopes is a set of kinds of calls.
type Scopes uint16

// The kinds of calls. Their names are part of the API.
const (
	LinksRead    Scopes = 1 << iota // list and read links and tags
	LinksCreate                     // create links, with any tags
	LinksWrite                      // edit, delete and restore links, undo batches
	StatsRead                       // read clicks
	StatsReset                      // reset clicks
	TagsWrite                       // create, rename and delete tags
	HistoryRead                     // read the history of hashes
	Keys                            // add, change and revoke keys
	Members                         // add, change and remove members, end sessions of other persons
	KeysRead                        // list keys
	MembersRead                     // list members and sessions
	Webhooks                        // add, change and remove webhooks, make deliveries again
	WebhooksRead                    // list webhooks and their deliveries
	none                            // the end of the list

	// All is every kind of call.
	All = none - 1
)

// names are the names of the kinds of calls, in the order of their bits.
var names = []string{
	"links:read", "links:create", "links:write", "stats:read", "stats:reset", "tags:write",
	"history:read", "keys", "members", "keys:read", "members:read", "webhooks", "webhooks:read",
}

// implied has the kinds of calls that another kind includes. A caller who may change keys, members
// or webhooks may also list them.
var implied = map[Scopes]Scopes{
	Keys: KeysRead, Members: MembersRead, Webhooks: WebhooksRead,
}

// ScopesOf returns the set for the names in stored terms. An empty list means All. A name that this
// version does not know allows nothing.
func ScopesOf(stored []string) Scopes {
	if len(stored) == 0 {
		return All
	}
	var set Scopes
	for _, name := range stored {
		scope, _ := scopeOf(name)
		set |= scope | implied[scope]
	}
	return set
}

func scopeOf(name string) (Scopes, bool) {
	for i, known := range names {
		if name == known {
			return 1 << i, true
		}
	}
	return 0, false
}

// Have reports whether the set contains all kinds of calls in others.
func (s Scopes) Have(others Scopes) bool { return s&others == others }

// Names returns the names of the set, in a fixed order.
func (s Scopes) Names() []string {
	list := make([]string, 0, bits.OnesCount16(uint16(s)))
	for i, name := range names {
		if s&(1<<i) != 0 {
			list = append(list, name)
		}
	}
	return list
}
