package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"linkledger/events/eventstore"
)

// eventstorePrepare grants a user of EventStoreDB the one right that the service needs and users do not have by default.
type eventstorePrepare struct {
	Eventstore connection `help:"Connection string with the name and password of an administrator." placeholder:"esdb://admin:PASSWORD@HOST:2113" validate:"required,startswith=esdb,encoded"`
	User       string     `help:"User of EventStoreDB as whom the service connects." placeholder:"NAME" validate:"required,max=256"`
	JSON       bool       `help:"Print JSON."`
}

// preparedView is what has changed, as it is printed.
type preparedView struct {
	Stream  string   `json:"stream"`
	Right   string   `json:"right"`
	Before  []string `json:"before"`
	After   []string `json:"after"`
	Changed bool     `json:"changed"`
}

// Run implements the command.
func (c *eventstorePrepare) Run(ctx context.Context, p *process) error {
	if err := validate(c); err != nil {
		return err
	}
	store, err := eventstore.Open(eventstore.Config{URL: string(c.Eventstore), Logger: p.Logger})
	if err != nil {
		return usageError(err)
	}
	defer store.Close()
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	readers, err := store.GrantLog(ctx, c.User)
	if errors.Is(err, eventstore.ErrDenied) {
		return usage("%w; --eventstore (%s) must name an administrator", err, envName("eventstore"))
	}
	if err != nil {
		return err
	}
	view := preparedView{
		Stream: "$all", Right: "read", Before: readers.Before, After: readers.After,
		Changed: len(readers.After) > len(readers.Before),
	}
	if c.JSON {
		return printJSON(p.Stdout, view)
	}
	if !view.Changed {
		_, err = fmt.Fprintf(p.Stdout, "%s may read the log of all streams ($all) already: %s\n", c.User, strings.Join(view.After, ", "))
		return err
	}
	_, err = fmt.Fprintf(p.Stdout, "%s may read the log of all streams ($all): %s, before %s\n",
		c.User, strings.Join(view.After, ", "), strings.Join(view.Before, ", "))
	return err
}
