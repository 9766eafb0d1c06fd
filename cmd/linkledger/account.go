package main

import (
	"context"

	"linkledger/internal/accountadmin"
	"linkledger/internal/usage"
)

// accountCommand groups the commands that open and manage accounts.
type accountCommand struct {
	Create     accountCreate     `cmd:"" help:"Open an account and print its id and API key."`
	List       accountList       `cmd:"" help:"List all accounts."`
	RotateKey  accountRotateKey  `cmd:"" help:"Revoke all API keys and make a new one."`
	Key        accountKey        `cmd:"" help:"Add, list and revoke API keys."`
	Member     accountMember     `cmd:"" help:"List, set and remove the members of an account."`
	Deactivate accountDeactivate `cmd:"" help:"Close the API to an account and stop its links."`
	Reactivate accountReactivate `cmd:"" help:"Undo deactivate."`
	Edit       accountEdit       `cmd:"" help:"Change the plan or the last day of an account."`
	Erase      accountErase      `cmd:"" help:"${erase_command}"`
	Show       accountShow       `cmd:"" help:"Show an account and what it has used."`
}

type accountCreate struct {
	operatorFlags
	Username string `help:"User name: 1 to 64 of a-z 0-9 . _ -" required:""`
	Plan     string `help:"Plan of the account. See serve --plans." default:"free"`
}

// Run opens an account and prints its id and API key.
func (c *accountCreate) Run(ctx context.Context, p *process) error {
	return accountadmin.Open(ctx, c.by(p), c.Username, c.Plan)
}

type accountRotateKey struct {
	operatorFlags
	Username string `help:"User name of the account." required:""`
}

// Run replaces the API key of an account and prints the new one.
func (c *accountRotateKey) Run(ctx context.Context, p *process) error {
	return accountadmin.RotateKey(ctx, c.by(p), c.Username)
}

// accountKey groups the commands about the API keys of an account.
type accountKey struct {
	Add    accountKeyAdd    `cmd:"" help:"Add an API key and print it."`
	List   accountKeyList   `cmd:"" help:"List the API keys that are not revoked."`
	Revoke accountKeyRevoke `cmd:"" help:"Revoke an API key for ever."`
}

type accountKeyAdd struct {
	operatorFlags
	Username string   `help:"User name of the account." required:""`
	Name     string   `help:"Name of the key, which lists and histories show."`
	Scopes   []string `help:"${scopes}" placeholder:"SCOPE"`
	Tags     string   `help:"${tags}" placeholder:"EXPRESSION"`
	Networks []string `help:"${networks}" placeholder:"NETWORK"`
	Expires  string   `help:"Last day of the key: YYYY-MM-DD, UTC." placeholder:"DATE"`
}

// Run adds an API key and prints it.
func (c *accountKeyAdd) Run(ctx context.Context, p *process) error {
	return accountadmin.AddKey(ctx, c.by(p), c.Username, accountadmin.KeyTerms{
		Name: c.Name, Scopes: c.Scopes, Tags: c.Tags, Networks: c.Networks, Expires: c.Expires,
	})
}

type accountKeyList struct {
	operatorFlags
	Username string `help:"User name of the account." required:""`
}

// Run lists the API keys of an account.
func (c *accountKeyList) Run(ctx context.Context, p *process) error {
	return accountadmin.ListKeys(ctx, c.by(p), c.Username)
}

type accountKeyRevoke struct {
	operatorFlags
	Username string `help:"User name of the account." required:""`
	ID       string `arg:"" help:"Id of the key."`
}

// Run revokes an API key of an account.
func (c *accountKeyRevoke) Run(ctx context.Context, p *process) error {
	return accountadmin.RevokeKey(ctx, c.by(p), c.Username, c.ID)
}

// accountMember groups the commands about the members of an account.
type accountMember struct {
	List   accountMemberList   `cmd:"" help:"List the members of an account."`
	Set    accountMemberSet    `cmd:"" help:"Give a person a role in an account."`
	Remove accountMemberRemove `cmd:"" help:"End the membership of a person."`
}

type accountMemberList struct {
	operatorFlags
	Username string `help:"User name of the account." required:""`
}

// Run lists the members of an account.
func (c *accountMemberList) Run(ctx context.Context, p *process) error {
	return accountadmin.ListMembers(ctx, c.by(p), c.Username)
}

type accountMemberSet struct {
	operatorFlags
	Username string `help:"User name of the account." required:""`
	ID       string `arg:"" help:"Id of the person, as person list shows it."`
	Role     string `arg:"" help:"Role: owner, editor, viewer or auditor."`
}

// Run gives a person a role in an account.
func (c *accountMemberSet) Run(ctx context.Context, p *process) error {
	return accountadmin.SetMember(ctx, c.by(p), c.Username, c.ID, c.Role)
}

type accountMemberRemove struct {
	operatorFlags
	Username string `help:"User name of the account." required:""`
	ID       string `arg:"" help:"Id of the person."`
}

// Run ends the membership of a person in an account.
func (c *accountMemberRemove) Run(ctx context.Context, p *process) error {
	return accountadmin.RemoveMember(ctx, c.by(p), c.Username, c.ID)
}

type accountDeactivate struct {
	operatorFlags
	Username string `help:"User name of the account." required:""`
}

// Run closes the API to an account and stops its links.
func (c *accountDeactivate) Run(ctx context.Context, p *process) error {
	return accountadmin.Deactivate(ctx, c.by(p), c.Username)
}

type accountReactivate struct {
	operatorFlags
	Username string `help:"User name of the account." required:""`
}

// Run opens the API to a deactivated account and starts its links again.
func (c *accountReactivate) Run(ctx context.Context, p *process) error {
	return accountadmin.Reactivate(ctx, c.by(p), c.Username)
}

type accountEdit struct {
	operatorFlags
	Username string  `help:"User name of the account." required:""`
	Plan     *string `help:"Plan of the account. See serve --plans."`
	Expires  *string `help:"${expires}" placeholder:"DATE"`
}

// Run changes the plan or the last day of an account. It refuses to change neither.
func (c *accountEdit) Run(ctx context.Context, p *process) error {
	if c.Plan == nil && c.Expires == nil {
		return usage.Errorf("nothing to change: give --plan or --expires")
	}
	return accountadmin.Edit(ctx, c.by(p), c.Username, c.Plan, c.Expires)
}

type accountErase struct {
	operatorFlags
	Username string `arg:"" help:"User name of the account."`
}

// Run closes an account for ever and makes its notes unreadable.
func (c *accountErase) Run(ctx context.Context, p *process) error {
	return accountadmin.Erase(ctx, c.by(p), c.Username)
}

type accountList struct {
	operatorFlags
}

// Run prints all accounts.
func (c *accountList) Run(ctx context.Context, p *process) error {
	return accountadmin.List(ctx, c.by(p))
}

type accountShow struct {
	operatorFlags
	Username string `help:"User name of the account." required:""`
}

// Run prints an account and what it has used.
func (c *accountShow) Run(ctx context.Context, p *process) error {
	return accountadmin.Show(ctx, c.by(p), c.Username)
}
