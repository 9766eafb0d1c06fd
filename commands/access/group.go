package access

import (
	"fmt"
	"slices"
	"strings"
)

// GroupRole is the role that all members of one of the issuer's groups have here. The issuer is the
// server that signs people in.
type GroupRole struct {
	Group    string
	Account  string // user name of the account in which the members have the role; empty: none
	Role     Role
	Operator bool // the members are operators of the installation
}

// GroupNames returns the names of the groups that have roles, each once.
func GroupNames(of []GroupRole) []string {
	var names []string
	for _, role := range of {
		if !slices.Contains(names, role.Group) {
			names = append(names, role.Group)
		}
	}
	return names
}

// operator takes the place of ACCOUNT:ROLE in the text of a GroupRole.
const operator = "operator"

// ParseGroupRoles reads roles of groups in the form
// "marketing=acme:editor;audit=acme:auditor;ops=operator".
func ParseGroupRoles(text string) ([]GroupRole, error) {
	var roles []GroupRole
	for entry := range strings.SplitSeq(text, ";") {
		if strings.TrimSpace(entry) == "" {
			continue
		}
		// The name of a group may contain = itself.
		entry = strings.TrimSpace(entry)
		end := strings.LastIndexByte(entry, '=')
		if end < 1 {
			return nil, fmt.Errorf(
				"%q is no role of a group: give GROUP=ACCOUNT:ROLE or GROUP=operator", entry,
			)
		}
		of := GroupRole{Group: strings.TrimSpace(entry[:end])}
		account, role, found := strings.Cut(strings.TrimSpace(entry[end+1:]), ":")
		if !found && account == operator {
			of.Operator = true
			roles = append(roles, of)
			continue
		}
		var err error
		if of.Role, err = CheckedRole(strings.TrimSpace(role)); err != nil || account == "" {
			return nil, fmt.Errorf(
				"%q: give GROUP=ACCOUNT:ROLE where ROLE is owner, editor, viewer or auditor, "+
					"or GROUP=operator", entry,
			)
		}
		of.Account = account
		roles = append(roles, of)
	}
	return roles, nil
}
