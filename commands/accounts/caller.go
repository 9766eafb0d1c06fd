package accounts

import (
	"linkledger/commands/access"
	"linkledger/commands/domain"
	"linkledger/events"
)

// caller returns what the caller of a command may do now. The cached login may be stale, so caller
// checks the stream of the account again. It refuses with AccessDenied a revoked key, a removed
// member, and a caller that is neither operator, key nor person. An operator may do everything.
func (a *Account) caller(r domain.Request) (events.KeyTerms, error) {
	switch {
	case r.Operator:
		return events.KeyTerms{}, nil
	case r.Key != "":
		key, err := a.working(r.Key)
		if err != nil {
			return events.KeyTerms{}, domain.Refuse(
				domain.AccessDenied, "The key of this call has been revoked",
			)
		}
		return key.KeyTerms, nil
	case r.User != "":
		member := a.member(r.User)
		if member == nil {
			return events.KeyTerms{}, domain.Refuse(
				domain.AccessDenied, "The caller is no longer a member of the account",
			)
		}
		return member.Role.Terms(), nil
	}
	return events.KeyTerms{}, domain.Refuse(domain.AccessDenied, "The call has no caller")
}

// mayCall returns what the caller may do now. It refuses with AccessDenied if a scope is missing.
func (a *Account) mayCall(r domain.Request, needed access.Scopes) (events.KeyTerms, error) {
	own, err := a.caller(r)
	if err == nil && !access.ScopesOf(own.Scopes).Have(needed) {
		err = domain.Refuse(domain.AccessDenied, "The caller may not make this call any more")
	}
	return own, err
}

// mayGrant refuses as mayCall does. It also refuses with AccessDenied if the terms include a right
// that the caller lacks.
func (a *Account) mayGrant(r domain.Request, needed access.Scopes, terms events.KeyTerms) error {
	own, err := a.mayCall(r, needed)
	if err != nil || access.Within(terms, own) {
		return err
	}
	return domain.Refuse(
		domain.AccessDenied, "A caller can only give what it has: the scopes, tags, networks and "+
			"expiration date must lie within those of its own key or role",
	)
}
