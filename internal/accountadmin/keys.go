package accountadmin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"linkledger/commands/accounts"
	"linkledger/commands/domain"
	"linkledger/events"
	"linkledger/internal/accountadmin/effect"
	"linkledger/internal/console"
	"linkledger/internal/installation"
	"linkledger/internal/usage"
	"linkledger/queries"
	"linkledger/queries/accountlist"
)

// KeyTerms are the name and the limits of a new API key.
type KeyTerms = events.KeyTerms

// printedKey is the printed form of an API key.
type printedKey struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Scopes    []string   `json:"scopes"`   // null: all
	Tags      string     `json:"tags"`     // tag expression, or empty for all links
	Networks  []string   `json:"networks"` // null: all
	Expires   string     `json:"expires"`  // YYYY-MM-DD, or empty for never
	CreatedAt time.Time  `json:"created_at"`
	LastUsed  *time.Time `json:"last_used"`         // null: never
	APIKey    string     `json:"api_key,omitempty"` // of a new key only
}

func (k printedKey) row() console.Row {
	used := "never"
	if k.LastUsed != nil {
		used = k.LastUsed.UTC().Format(time.DateTime)
	}
	return console.Row{
		k.ID, k.Name, listOr(k.Scopes, "all"), cmp.Or(k.Tags, "all links"),
		listOr(k.Networks, "all"), cmp.Or(k.Expires, "never"),
		k.CreatedAt.UTC().Format(time.DateTime), used,
	}
}

// listOr returns list or, if list has no texts, a list with the text empty.
func listOr(list []string, empty string) []string {
	if len(list) == 0 {
		return []string{empty}
	}
	return list
}

// runFor is like run, for a command on a key of an account. The parameter are, a function, gets the
// ids of the working keys in the read models, and reports whether these ids show the change.
func runFor(
	ctx context.Context, o installation.Operator, does effect.Kind, username string,
	are func(ids []string) bool,
	command func(
		context.Context, *accounts.Accounts, domain.Request, string,
	) (accounts.KeyOutcome, error),
) error {
	return run(ctx, o, does, func(
		ctx context.Context, a *accounts.Accounts, r domain.Request,
	) (effect.Left, error) {
		account, err := a.ID(ctx, username)
		if err != nil {
			return effect.Left{}, err
		}
		outcome, err := command(ctx, a, r, account)
		return effect.OfKeys(account, outcome.Position, are), err
	})
}

// AddKey adds an API key to an account and prints it.
func AddKey(
	ctx context.Context, o installation.Operator, username string, terms KeyTerms,
) error {
	var outcome accounts.KeyOutcome
	added := func(ids []string) bool { return slices.Contains(ids, outcome.Key.ID) }
	err := runFor(ctx, o, effect.Changes, username, added, func(
		ctx context.Context, a *accounts.Accounts, r domain.Request, account string,
	) (accounts.KeyOutcome, error) {
		var err error
		outcome, err = a.AddKey(ctx, r, account, terms)
		return outcome, err
	})
	if err != nil {
		return err
	}
	key := printedKey{
		ID: outcome.Key.ID, Name: outcome.Key.Name, Scopes: outcome.Key.Scopes,
		Tags: outcome.Key.Tags, Networks: outcome.Key.Networks, Expires: outcome.Key.Expires,
		CreatedAt: outcome.Key.AddedAt, APIKey: outcome.Secret,
	}
	if o.JSON {
		//nolint:gosec // the new key is what the operator asked for
		return json.NewEncoder(o.Stdout).Encode(key)
	}
	return console.Drawn(o.Stdout, nil, []console.Row{
		{"id", key.ID},
		{"name", key.Name},
		{"scopes", cmp.Or(strings.Join(key.Scopes, ", "), "all")},
		{"tags", cmp.Or(key.Tags, "all links")},
		{"networks", cmp.Or(strings.Join(key.Networks, ", "), "all")},
		{"expires", cmp.Or(key.Expires, "never")},
		{"API key", key.APIKey},
		{"", "shown once, it is stored nowhere"},
	})
}

// ListKeys prints the API keys of an account, except for the revoked ones.
func ListKeys(ctx context.Context, o installation.Operator, username string) error {
	var keys []accountlist.KeyRecord
	err := o.Query(ctx, func(ctx context.Context, q *queries.DB) error {
		account, err := q.AccountByUsername(ctx, username)
		if err != nil {
			return err
		}
		keys, err = q.Keys(ctx, account.ID)
		return err
	})
	if errors.Is(err, queries.ErrNotFound) {
		return usage.Errorf("there is no account %q", username)
	}
	if err != nil {
		return err
	}
	printed := make([]printedKey, len(keys))
	for i, k := range keys {
		printed[i] = printedKey{
			ID: k.ID, Name: k.Name, Scopes: k.Scopes, Tags: k.Tags,
			Networks: k.Networks,
			Expires:  k.ExpirationDate, CreatedAt: k.CreatedAt, LastUsed: k.LastUsed,
		}
	}
	if o.JSON {
		//nolint:gosec // it has only the ids of keys: the keys are stored nowhere
		return json.NewEncoder(o.Stdout).Encode(printed)
	}
	rows := make([]console.Row, len(printed))
	for i, key := range printed {
		rows[i] = key.row()
	}
	return console.Drawn(o.Stdout, console.Row{
		"id", "name", "scopes", "tags", "networks", "expires", "added", "last used",
	}, rows)
}

// RevokeKey revokes an API key of an account. When it returns, no node accepts the key any more.
func RevokeKey(ctx context.Context, o installation.Operator, username, id string) error {
	revoked := func(ids []string) bool { return !slices.Contains(ids, id) }
	err := runFor(ctx, o, effect.Ends, username, revoked, func(
		ctx context.Context, a *accounts.Accounts, r domain.Request, account string,
	) (accounts.KeyOutcome, error) {
		return a.RevokeKey(ctx, r, account, id)
	})
	if err != nil {
		return err
	}
	awaitNodes(ctx)
	err = console.Printf(o.Stdout, "the key %s of %s is revoked\n", id, username)
	return err
}
