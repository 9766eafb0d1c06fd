package main

import (
	"context"

	"linkledger/internal/accountadmin"
)

// personCommand groups the commands about the persons who sign in.
type personCommand struct {
	List  personList  `cmd:"" help:"List the persons who have signed in."`
	Erase personErase `cmd:"" help:"Erase what is known of a person, for ever."`
}

type personList struct {
	operatorFlags
}

// Run lists the persons who have signed in.
func (c *personList) Run(ctx context.Context, p *process) error {
	return accountadmin.ListPeople(ctx, c.by(p))
}

type personErase struct {
	operatorFlags
	ID string `arg:"" help:"Id of the person, as person list shows it."`
}

// Run erases what is known of a person and ends their memberships and sessions.
func (c *personErase) Run(ctx context.Context, p *process) error {
	return accountadmin.ErasePerson(ctx, c.by(p), c.ID)
}
