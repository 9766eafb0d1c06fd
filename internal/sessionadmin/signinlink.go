package sessionadmin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"linkledger/internal/console"
	"linkledger/internal/installation"
	"linkledger/internal/signinlink"
	"linkledger/internal/usage"
	"linkledger/queries"
)

// MakeSignInLink prints a one-time link that signs a browser in to the console at an address. If
// the address is empty, it uses the address of dev.
func MakeSignInLink(
	ctx context.Context, o installation.Operator, wanted signinlink.Wanted, base string,
) error {
	if o.Database == "" {
		if err := o.Locate(); err != nil {
			return err
		}
	}
	base = strings.TrimSuffix(cmp.Or(base, o.ConsoleURL), "/")
	if base == "" {
		return usage.Errorf("give the address of the service with --base-url")
	}
	db, err := o.OpenReadModels(ctx, 1)
	if err != nil {
		return err
	}
	link, err := signinlink.Make(ctx, queries.New(db), db.Keys, wanted)
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	if o.JSON {
		return json.NewEncoder(o.Stdout).Encode(map[string]any{
			"link": base + link.Path, "expires": link.Expires.UTC(),
		})
	}
	err = console.Printf(
		o.Stdout, "%s\n\nIt works once, until %s UTC.\n", base+link.Path,
		link.Expires.UTC().Format(time.DateTime),
	)
	return err
}
