// Package signinlink makes one-time links that sign a browser in to the console. Every user who can
// run the program may make such links, because such a user could also make a key.
package signinlink

import (
	"context"
	"errors"
	"time"

	"linkledger/httpapi/console"
	"linkledger/internal/usage"
	"linkledger/projections/keystore"
	"linkledger/queries"
	"linkledger/queries/accountlist"
)

// Wanted is what a link is for.
type Wanted struct {
	Username string // of the account; empty: no account
	Key      string // id of a key of the account; empty: the oldest that may do everything
	Operator bool   // the session may also use the console of operators
	ValidFor time.Duration
}

// Link is a link that was made.
type Link struct {
	Path    string // at the address of the service
	Expires time.Time
}

// Make makes a link.
func Make(
	ctx context.Context, q *queries.DB, keys *keystore.Keys, wanted Wanted,
) (Link, error) {
	session := accountlist.NewSession{Operator: wanted.Operator}
	if wanted.Username != "" {
		account, err := q.AccountByUsername(ctx, wanted.Username)
		if errors.Is(err, queries.ErrNotFound) {
			return Link{}, usage.Errorf("there is no account %q", wanted.Username)
		}
		if err != nil {
			return Link{}, err
		}
		all, err := q.Keys(ctx, account.ID)
		if err != nil {
			return Link{}, err
		}
		session.Account = account.ID
		if session.Key, err = choose(all, wanted); err != nil {
			return Link{}, err
		}
	}
	now := time.Now()
	expires := now.Add(wanted.ValidFor)
	secret, err := keys.AddSignInLink(ctx, session, now, expires)
	if err != nil {
		return Link{}, err
	}
	return Link{console.LinkPath + secret, expires}, nil
}

// choose returns the id of the key that a session is for.
func choose(keys []accountlist.KeyRecord, wanted Wanted) (id string, err error) {
	today := time.Now().UTC().Format(time.DateOnly)
	for _, key := range keys {
		unrestricted := len(key.Scopes)+len(key.Networks) == 0 && key.Tags == "" &&
			(key.ExpirationDate == "" || key.ExpirationDate >= today)
		if key.ID == wanted.Key || wanted.Key == "" && unrestricted {
			return key.ID, nil
		}
	}
	if wanted.Key != "" {
		return "", usage.Errorf(
			"%q is not a key of the account: linkledger account key list shows them", wanted.Key,
		)
	}
	return "", usage.Errorf(
		"no key of the account may do everything: name one with --key, " +
			"or make one with linkledger account key add",
	)
}
