package access

import (
	"linkledger/commands/domain"
	"linkledger/events"
)

// Role is what a person is in an account. Its text is part of the API.
type Role string

// The roles.
const (
	Owner  Role = "owner"  // may do everything
	Editor Role = "editor" // changes links and tags
	Viewer Role = "viewer" // reads links and clicks
	// Auditor reads everything, including the history.
	Auditor Role = "auditor"
)

// Roles returns all roles.
func Roles() []Role { return []Role{Owner, Editor, Viewer, Auditor} }

// scopesOfRoles are the scopes of each role. An owner has all scopes, also the scopes of later
// versions.
var scopesOfRoles = map[Role]Scopes{
	Owner: All,
	Editor: LinksRead | LinksCreate | LinksWrite | StatsRead | StatsReset | TagsWrite |
		HistoryRead,
	Viewer:  LinksRead | StatsRead,
	Auditor: LinksRead | StatsRead | HistoryRead | KeysRead | MembersRead,
}

// Terms returns the terms of an API key that has the rights of the role. A role that this version
// does not know may do nothing.
func (r Role) Terms() events.KeyTerms {
	if r == Owner {
		return events.KeyTerms{}
	}
	if scopes := scopesOfRoles[r]; scopes != 0 {
		return events.KeyTerms{Scopes: scopes.Names()}
	}
	return events.KeyTerms{Scopes: []string{"no scope"}}
}

// CheckedRole returns the role with a name. It refuses with InvalidValue.
func CheckedRole(name string) (Role, error) {
	role := Role(name)
	if scopesOfRoles[role] == 0 {
		return "", domain.Refuse(
			domain.InvalidValue, "There is no role %q; the roles are owner, editor, viewer and "+
				"auditor", name,
		)
	}
	return role, nil
}
