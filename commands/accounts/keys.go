package accounts

import (
	"cmp"
	"context"
	"reflect"

	"github.com/google/uuid"

	"linkledger/commands/access"
	"linkledger/commands/domain"
	"linkledger/commands/permit"
	"linkledger/events"
	"linkledger/events/eventstore"
)

// KeyOutcome is an API key after a command.
type KeyOutcome struct {
	Key      Key
	Secret   string // the key itself, which is stored nowhere; empty: this call added no key
	Position eventstore.Position
}

// AddKey adds an API key to an account. A caller can only give rights that the caller has. If an
// earlier call of the same command added the key, the outcome has no secret. AddKey refuses with
// InvalidValue, InvalidDate and AccessDenied.
func (s *Accounts) AddKey(
	ctx context.Context, r domain.Request, account string, terms events.KeyTerms,
) (KeyOutcome, error) {
	terms, err := access.Checked(terms)
	if err != nil {
		return KeyOutcome{}, err
	}
	leftOut := access.Excluded(terms, events.KeyTerms{})
	if _, _, err := needTags(ctx, s.streams, account, leftOut); err != nil {
		return KeyOutcome{}, err
	}
	key := access.MakeKey(r.Command)
	// Two calls of one command make two different keys, so neither call is a repeat of the other.
	r.Command = uuid.NewSHA1(r.Command, []byte(key.Hash))
	outcome, err := s.changeByID(ctx, r, s.whole, account, func(a Account) ([]events.Event, error) {
		if a.ID == "" || a.Erased {
			return nil, erasedError(a.Username)
		}
		return a.addNewKey(r, key, terms, s.streams.Now())
	})
	if err != nil {
		return KeyOutcome{}, err
	}
	ctx = permit.Without(ctx)                                    // to complete the addition
	if err := s.holdTags(ctx, r, account, leftOut); err != nil { // nobody gets the key
		r.Command, r.Repeated = uuid.New(), false
		_, revoking := s.RevokeKey(ctx, r, account, key.ID)
		return KeyOutcome{}, cmp.Or(revoking, err)
	}
	added := KeyOutcome{Key: *outcome.Account.key(key.ID), Position: outcome.Position}
	if added.Key.Hash == key.Hash {
		added.Secret = key.Secret
	}
	return added, nil
}

// ChangeKey changes the terms of an API key. A caller can only give rights that the caller has, and
// only change a key that may do no more than the caller. It refuses with KeyNotFound, InvalidValue,
// InvalidDate and AccessDenied.
func (s *Accounts) ChangeKey(
	ctx context.Context, r domain.Request, account, id string, change access.TermsChange,
) (KeyOutcome, error) {
	var leftOut []string
	decide := func(a Account) ([]events.Event, error) {
		key, err := a.working(id)
		if err != nil {
			return nil, err
		}
		terms, err := access.Checked(change.Apply(key.KeyTerms))
		if err != nil {
			return nil, err
		}
		if err := a.mayGrant(r, access.Keys, key.KeyTerms); err != nil {
			return nil, err
		}
		err = a.mayGrant(r, access.Keys, terms)
		if err != nil || reflect.DeepEqual(terms, key.KeyTerms) {
			return nil, err
		}
		leftOut = access.Excluded(terms, key.KeyTerms)
		if _, _, err := needTags(ctx, s.streams, account, leftOut); err != nil {
			return nil, err
		}
		return []events.Event{
			events.KeyChanged{KeyID: id, KeyTerms: terms, At: s.streams.Now()},
		}, nil
	}
	outcome, err := s.changeKey(ctx, r, s.whole, account, id, decide)
	if err == nil {
		// The change may have taken rights from its own caller, so holdTags runs without a permit.
		err = s.holdTags(permit.Without(ctx), r, account, leftOut)
	}
	// If holdTags fails, the key is changed, but a concurrent command may rename or delete one of
	// the excluded tags. Then the bound of the key matches nothing.
	return outcome, err
}

// RevokeKey ends an API key forever. A caller can only revoke a key that may do no more than the
// caller. It refuses with KeyNotFound and AccessDenied.
func (s *Accounts) RevokeKey(
	ctx context.Context, r domain.Request, account, id string,
) (KeyOutcome, error) {
	return s.changeKey(ctx, r, s.ending, account, id, func(a Account) ([]events.Event, error) {
		key := a.key(id)
		if key == nil {
			return nil, ErrNoKey(id)
		}
		if !key.RevokedAt.IsZero() {
			return nil, nil
		}
		if err := a.mayGrant(r, access.Keys, key.KeyTerms); err != nil {
			return nil, err
		}
		return []events.Event{events.KeyRevoked{KeyID: id, At: s.streams.Now()}}, nil
	})
}

func (s *Accounts) changeKey(
	ctx context.Context, r domain.Request, load loader, account, id string,
	decide func(Account) ([]events.Event, error),
) (KeyOutcome, error) {
	outcome, err := s.changeByID(ctx, r, load, account, decide)
	if err != nil {
		return KeyOutcome{}, err
	}
	return KeyOutcome{Key: *outcome.Account.key(id), Position: outcome.Position}, nil
}
