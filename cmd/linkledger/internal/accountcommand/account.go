// Package accountcommand has the commands about accounts, the persons who sign in, and their
// sessions. It only defines their flags and calls other packages. It MUST NOT do more.
package accountcommand

import (
	"context"

	"linkledger/cmd/linkledger/internal/command"
	"linkledger/internal/accountadmin"
	"linkledger/internal/usage"
)

// Account groups the commands that open and manage accounts.
type Account struct {
	Create     accountCreate     `cmd:"" help:"Open an account and print its id and API key."`
	List       accountList       `cmd:"" help:"List all accounts."`
	RotateKey  accountRotateKey  `cmd:"" help:"Revoke all API keys and make a new one."`
	Key        accountKey        `cmd:"" help:"Add, list and revoke API keys."`
	Member     accountMember     `cmd:"" help:"List, set and remove the members of an account."`
	Deactivate accountDeactivate `cmd:"" help:"Close the API to an account and stop its links."`
	Reactivate accountReactivate `cmd:"" help:"Undo deactivate."`
	Edit       accountEdit       `cmd:"" help:"Change the plan or the last day of an account."`
	Erase      accountErase      `cmd:"" help:"${erase_command}"`
	Show       accountShow       `cmd:"" help:"Show an account and its usage."`
}

type accountCreate struct {
	command.OperatorFlags
	Username string `help:"User name: 1 to 64 of a-z 0-9 . _ -" required:""`
	Plan     string `help:"Plan of the account. See serve --plans." default:"free"`
}

// Run opens an account and prints its id and API key.
func (c *accountCreate) Run(ctx context.Context, p *command.Process) error {
	return accountadmin.Open(ctx, c.By(p), c.Username, c.Plan)
}

type accountRotateKey struct {
	command.OperatorFlags
	Username string `help:"User name of the account." required:""`
}

// Run replaces the API key of an account and prints the new one.
func (c *accountRotateKey) Run(ctx context.Context, p *command.Process) error {
	return accountadmin.RotateKey(ctx, c.By(p), c.Username)
}

// accountKey groups the commands about the API keys of an account.
type accountKey struct {
	Add    accountKeyAdd    `cmd:"" help:"Add an API key and print it."`
	List   accountKeyList   `cmd:"" help:"List the API keys that are not revoked."`
	Revoke accountKeyRevoke `cmd:"" help:"Revoke an API key for ever."`
}

type accountKeyAdd struct {
	command.OperatorFlags
	Username string   `help:"User name of the account." required:""`
	Name     string   `help:"Name of the key, which lists and histories show."`
	Scopes   []string `help:"${scopes}" placeholder:"SCOPE"`
	Tags     string   `help:"${tags}" placeholder:"EXPRESSION"`
	Networks []string `help:"${networks}" placeholder:"NETWORK"`
	Expires  string   `help:"Last day of the key: YYYY-MM-DD, UTC." placeholder:"DATE"`
}

// Run adds an API key and prints it.
func (c *accountKeyAdd) Run(ctx context.Context, p *command.Process) error {
	return accountadmin.AddKey(ctx, c.By(p), c.Username, accountadmin.KeyTerms{
		Name: c.Name, Scopes: c.Scopes, Tags: c.Tags, Networks: c.Networks, Expires: c.Expires,
	})
}

type accountKeyList struct {
	command.OperatorFlags
	Username string `help:"User name of the account." required:""`
}

// Run lists the API keys of an account.
func (c *accountKeyList) Run(ctx context.Context, p *command.Process) error {
	return accountadmin.ListKeys(ctx, c.By(p), c.Username)
}

type accountKeyRevoke struct {
	command.OperatorFlags
	Username string `help:"User name of the account." required:""`
	ID       string `arg:"" help:"Id of the key."`
}

// Run revokes an API key of an account.
func (c *accountKeyRevoke) Run(ctx context.Context, p *command.Process) error {
	return accountadmin.RevokeKey(ctx, c.By(p), c.Username, c.ID)
}

// accountMember groups the commands about the members of an account.
type accountMember struct {
	List   accountMemberList   `cmd:"" help:"List the members of an account."`
	Set    accountMemberSet    `cmd:"" help:"Give a person a role in an account."`
	Remove accountMemberRemove `cmd:"" help:"End the membership of a person."`
}

type accountMemberList struct {
	command.OperatorFlags
	Username string `help:"User name of the account." required:""`
}

// Run lists the members of an account.
func (c *accountMemberList) Run(ctx context.Context, p *command.Process) error {
	return accountadmin.ListMembers(ctx, c.By(p), c.Username)
}

type accountMemberSet struct {
	command.OperatorFlags
	Username string `help:"User name of the account." required:""`
	ID       string `arg:"" help:"Id of the person, as person list shows it."`
	Role     string `arg:"" help:"Role: owner, editor, viewer or auditor."`
}

// Run gives a person a role in an account.
func (c *accountMemberSet) Run(ctx context.Context, p *command.Process) error {
	return accountadmin.SetMember(ctx, c.By(p), c.Username, c.ID, c.Role)
}

type accountMemberRemove struct {
	command.OperatorFlags
	Username string `help:"User name of the account." required:""`
	ID       string `arg:"" help:"Id of the person."`
}

// Run ends the membership of a person in an account.
func (c *accountMemberRemove) Run(ctx context.Context, p *command.Process) error {
	return accountadmin.RemoveMember(ctx, c.By(p), c.Username, c.ID)
}

type accountDeactivate struct {
	command.OperatorFlags
	Username string `help:"User name of the account." required:""`
}

// Run closes the API to an account and stops its links.
func (c *accountDeactivate) Run(ctx context.Context, p *command.Process) error {
	return accountadmin.Deactivate(ctx, c.By(p), c.Username)
}

type accountReactivate struct {
	command.OperatorFlags
	Username string `help:"User name of the account." required:""`
}

// Run opens the API to a deactivated account and starts its links again.
func (c *accountReactivate) Run(ctx context.Context, p *command.Process) error {
	return accountadmin.Reactivate(ctx, c.By(p), c.Username)
}

type accountEdit struct {
	command.OperatorFlags
	Username string  `help:"User name of the account." required:""`
	Plan     *string `help:"Plan of the account. See serve --plans."`
	Expires  *string `help:"${expires}" placeholder:"DATE"`
}

// Run changes the plan or the last day of an account. It returns an error if neither is given.
func (c *accountEdit) Run(ctx context.Context, p *command.Process) error {
	if c.Plan == nil && c.Expires == nil {
		return usage.Errorf("nothing to change: give --plan or --expires")
	}
	return accountadmin.Edit(ctx, c.By(p), c.Username, c.Plan, c.Expires)
}

type accountErase struct {
	command.OperatorFlags
	Username string `arg:"" help:"User name of the account."`
}

// Run closes an account for ever and makes its notes unreadable.
func (c *accountErase) Run(ctx context.Context, p *command.Process) error {
	return accountadmin.Erase(ctx, c.By(p), c.Username)
}

type accountList struct {
	command.OperatorFlags
}

// Run prints all accounts.
func (c *accountList) Run(ctx context.Context, p *command.Process) error {
	return accountadmin.List(ctx, c.By(p))
}

type accountShow struct {
	command.OperatorFlags
	Username string `help:"User name of the account." required:""`
}

// Run prints an account and its usage.
func (c *accountShow) Run(ctx context.Context, p *command.Process) error {
	return accountadmin.Show(ctx, c.By(p), c.Username)
}
