package config

import (
	"linkledger/commands/access"
	"linkledger/httpapi"
	"linkledger/internal/secret"
)

// SignIn configures how people sign in with OpenID Connect.
type SignIn struct {
	OIDCIssuer string `help:"${oidc_issuer}" placeholder:"URL" validate:"omitempty,issuer"`

	OIDCClientID     string      `help:"${oidc_client}" validate:"required_with=OIDCIssuer"`
	OIDCClientSecret secret.Text `help:"${oidc_secret}"`

	OIDCScopes      []string   `help:"${oidc_scopes}" placeholder:"SCOPE"`
	OIDCGroupsClaim string     `help:"${oidc_claim}" default:"groups"`
	OIDCGroups      GroupRoles `help:"${oidc_groups}" placeholder:"ROLES"`
}

// Public returns the configuration of the public listener, or nil if no issuer is configured.
func (s SignIn) Public() *httpapi.SignIn {
	if s.OIDCIssuer == "" {
		return nil
	}
	return &httpapi.SignIn{
		Issuer: s.OIDCIssuer, ClientID: s.OIDCClientID, ClientSecret: string(s.OIDCClientSecret),
		Scopes: s.OIDCScopes, GroupsClaim: s.OIDCGroupsClaim, Groups: s.OIDCGroups.Roles,
	}
}

// GroupRoles are the roles that the members of the issuer's groups have in this service.
type GroupRoles struct {
	Roles []access.GroupRole
	text  string // as it was given
}

// String implements fmt.Stringer.
func (g GroupRoles) String() string { return g.text }

// UnmarshalText reads roles as access.ParseGroupRoles does.
func (g *GroupRoles) UnmarshalText(text []byte) (err error) {
	g.text = string(text)
	g.Roles, err = access.ParseGroupRoles(g.text)
	return err
}
