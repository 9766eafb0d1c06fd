package accountcommand

import (
	"context"

	"linkledger/cmd/linkledger/internal/command"
	"linkledger/internal/accountadmin"
)

// Person groups the commands about the persons who sign in.
type Person struct {
	List  personList  `cmd:"" help:"List the persons who have signed in."`
	Erase personErase `cmd:"" help:"Erase what is known of a person, for ever."`
}

type personList struct {
	command.OperatorFlags
}

// Run lists the persons who have signed in.
func (c *personList) Run(ctx context.Context, p *command.Process) error {
	return accountadmin.ListPeople(ctx, c.By(p))
}

type personErase struct {
	command.OperatorFlags
	ID string `arg:"" help:"Id of the person, as person list shows it."`
}

// Run erases what is known of a person and ends their memberships and sessions.
func (c *personErase) Run(ctx context.Context, p *command.Process) error {
	return accountadmin.ErasePerson(ctx, c.By(p), c.ID)
}
