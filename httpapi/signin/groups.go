package signin

import (
	"context"
	"log/slog"
	"maps"
	"slices"

	"github.com/google/uuid"

	"linkledger/commands/access"
	"linkledger/commands/accounts"
	"linkledger/commands/domain"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/openid"
	"linkledger/queries/accountlist"
)

// applyGroups ends the memberships that a person has by groups that the person has left. Then it
// gives the person the roles of their present groups. It returns the commit position of the last
// change, or 0 if there is none.
func (h *Handler) applyGroups(
	ctx context.Context, r domain.Request, user uuid.UUID, identity openid.Identity,
) (last uint64, err error) {
	memberships, err := h.Queries.Memberships(ctx, user)
	if err != nil {
		return 0, apierror.Unavailable(err)
	}
	wanted, err := h.wantedRoles(ctx, user, identity, memberships)
	if err != nil {
		return 0, err
	}
	for _, m := range memberships {
		if _, still := wanted[m.Account.String()]; still || m.Group == "" {
			continue
		}
		if identity.GroupsMissing {
			h.Logger.WarnContext(ctx, "a person loses the role of a group, because the issuer "+
				"sends no claim with groups: see --oidc-groups-claim and --oidc-scopes",
				slog.String("user", user.String()), slog.String("group", m.Group),
				slog.String("account", m.Username))
		}
		at, err := h.Accounts.EndGroupRole(ctx, r, m.Account.String(), user.String())
		if err != nil {
			return 0, err
		}
		last = max(last, at.Commit)
	}
	for _, account := range slices.Sorted(maps.Keys(wanted)) {
		member := wanted[account]
		member.User = user.String()
		at, err := h.Accounts.SetGroupRole(ctx, r, account, member)
		if apierror.RefusedAs(err, domain.InvalidValue) {
			h.Logger.ErrorContext(
				ctx, "a person does not get the role of a group", slog.Any("error", err),
				slog.String("group", member.Group), slog.String("account", account),
			)
			continue
		}
		if err != nil {
			return 0, err
		}
		last = max(last, at.Commit)
	}
	return last, nil
}

// wantedRoles returns the roles that a person gets from groups, by the id of the account. If the
// issuer does not say which groups the person is in, the person counts as still in the groups that
// give them roles, and gets roles in no other accounts.
func (h *Handler) wantedRoles(
	ctx context.Context, user uuid.UUID, identity openid.Identity, memberships []accountlist.Member,
) (map[string]accounts.Member, error) {
	if identity.GroupsUnknown == "" {
		return h.rolesOf(ctx, identity.Groups)
	}
	h.Logger.WarnContext(ctx, "the groups of a person are unknown: the person keeps the roles of "+
		"groups", slog.String("reason", identity.GroupsUnknown),
		slog.String("user", user.String()))
	has := make(map[string]bool)
	var groups []string
	for _, m := range memberships {
		if m.Group != "" {
			has[m.Account.String()], groups = true, append(groups, m.Group)
		}
	}
	kept, err := h.rolesOf(ctx, groups)
	maps.DeleteFunc(kept, func(account string, _ accounts.Member) bool { return !has[account] })
	return kept, err
}

// rolesOf returns the roles that groups give their members, by the id of the account.
func (h *Handler) rolesOf(
	ctx context.Context, groups []string,
) (map[string]accounts.Member, error) {
	roles := make(map[string]accounts.Member)
	for _, of := range h.Groups {
		if of.Operator || !slices.Contains(groups, of.Group) {
			continue
		}
		account, err := h.Accounts.ID(ctx, of.Account)
		if apierror.RefusedAs(err, domain.AccountNotFound) {
			h.checkAccounts(ctx)
			continue
		}
		if err != nil {
			return nil, err
		}
		if _, earlier := roles[account]; !earlier {
			roles[account] = accounts.Member{Role: of.Role, Group: of.Group}
		}
	}
	return roles, nil
}

// isOperator reports whether a group of a person makes them an operator.
func (h *Handler) isOperator(identity openid.Identity) bool {
	return slices.ContainsFunc(h.Groups, func(of access.GroupRole) bool {
		return of.Operator && slices.Contains(identity.Groups, of.Group)
	})
}

// mayBeOperator reports whether a person whose groups are unknown may be in one that makes them an
// operator.
func (h *Handler) mayBeOperator(identity openid.Identity) bool {
	return identity.GroupsUnknown != "" &&
		slices.ContainsFunc(h.Groups, func(of access.GroupRole) bool { return of.Operator })
}
