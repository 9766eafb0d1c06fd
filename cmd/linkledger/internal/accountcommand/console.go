package accountcommand

import (
	"context"
	"time"

	"linkledger/cmd/linkledger/internal/command"
	"linkledger/internal/sessionadmin"
	"linkledger/internal/signinlink"
	"linkledger/internal/usage"
)

// Console groups the commands about the console.
type Console struct {
	Link    consoleLink    `cmd:"" help:"Print a link that signs a browser in once."`
	Session consoleSession `cmd:"" help:"List and end the sessions of operators."`
}

type consoleLink struct {
	command.OperatorFlags
	Username string        `help:"User name of the account to sign in to."`
	Key      string        `help:"${session_key}" placeholder:"ID"`
	Operator bool          `help:"${session_operator}"`
	BaseURL  string        `help:"${link_base}" placeholder:"URL" validate:"omitempty,base_url"`
	ValidFor time.Duration `help:"How long the link works, at most 24h." default:"10m"`
}

// Run prints a link that signs a browser in once.
func (c *consoleLink) Run(ctx context.Context, p *command.Process) error {
	if c.Username == "" && !c.Operator {
		return usage.Errorf(
			"the link needs an account or a role: give --username, --operator or both",
		)
	}
	if c.ValidFor <= 0 || c.ValidFor > 24*time.Hour {
		return usage.Errorf("--valid-for must be more than 0 and at most 24h")
	}
	return sessionadmin.MakeSignInLink(ctx, c.By(p), signinlink.Wanted{
		Username: c.Username, Key: c.Key, Operator: c.Operator, ValidFor: c.ValidFor,
	}, c.BaseURL)
}

// consoleSession groups the commands about the sessions that no account lists: those of operators,
// and those without an account.
type consoleSession struct {
	List consoleSessionList `cmd:"" help:"${session_list}"`
	End  consoleSessionEnd  `cmd:"" help:"End a session on all nodes."`
}

type consoleSessionList struct {
	command.OperatorFlags
}

// Run lists the sessions of operators and the sessions without an account.
func (c *consoleSessionList) Run(ctx context.Context, p *command.Process) error {
	return sessionadmin.ListSessions(ctx, c.By(p))
}

type consoleSessionEnd struct {
	command.OperatorFlags
	ID string `arg:"" help:"Id of the session, as console session list shows it."`
}

// Run ends a session.
func (c *consoleSessionEnd) Run(ctx context.Context, p *command.Process) error {
	return sessionadmin.EndSession(ctx, c.By(p), c.ID)
}
