package migration

import (
	"context"
	"errors"
	"strings"

	"linkledger/events/eventstore"
	"linkledger/internal/console"
	"linkledger/internal/installation"
	"linkledger/internal/secret"
	"linkledger/internal/usage"
)

// printedGrant is the printed form of a grant.
type printedGrant struct {
	Stream  string   `json:"stream"`
	Right   string   `json:"right"`
	Before  []string `json:"before"`
	After   []string `json:"after"`
	Changed bool     `json:"changed"`
}

// Prepare grants a user the right to read the log, as an administrator, and prints what changed.
func Prepare(
	ctx context.Context, out console.Console, administrator secret.Connection, user string,
	asJSON bool,
) error {
	store, err := eventstore.Open(eventstore.Config{URL: string(administrator), Logger: out.Logger})
	if err != nil {
		return usage.Wrap(err)
	}
	defer store.Close()
	ctx, cancel := context.WithTimeout(ctx, installation.Timeout)
	defer cancel()
	readers, err := store.GrantLog(ctx, user)
	if errors.Is(err, eventstore.ErrDenied) {
		return usage.Errorf(
			"%w; --eventstore (%s) must name an administrator", err, usage.Env("eventstore"),
		)
	}
	if errors.Is(err, eventstore.ErrNoUser) {
		return usage.Errorf(
			"%w: nothing was changed; create the user in EventStoreDB first, or correct --user "+
				"(%s)", err, usage.Env("user"),
		)
	}
	if err != nil {
		return err
	}
	view := printedGrant{
		Stream: "$all", Right: "read", Before: readers.Before, After: readers.After,
		Changed: len(readers.After) > len(readers.Before),
	}
	if asJSON {
		return console.JSON(out.Stdout, view)
	}
	if !view.Changed {
		err = console.Printf(
			out.Stdout, "%s may read the log of all streams ($all) already: %s\n", user,
			strings.Join(view.After, ", "),
		)
		return err
	}
	err = console.Printf(out.Stdout, "%s may read the log of all streams ($all): %s, before %s\n",
		user, strings.Join(view.After, ", "), strings.Join(view.Before, ", "))
	return err
}
