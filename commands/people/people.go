// Package people records the persons who sign in: their ids, and the details that their issuer
// gives. The issuer is the server that signs them in. The details of each person are encrypted with
// a key of their own. Package accounts decides which accounts they are members of.
package people

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"linkledger/commands/domain"
	"linkledger/commands/streams"
	"linkledger/events"
	"linkledger/events/eventstore"
)

// ErrNotSealed means that this process cannot seal the details of people, so it stores none.
var ErrNotSealed = errors.New("details of people are stored encrypted only: give the master key")

// Person is the state of one person, folded from their stream.
type Person struct {
	events.Details

	ID     string
	Erased bool // the details are deleted, and the person is known no more
}

func fold(history []events.Event) Person {
	var p Person
	for _, e := range history {
		switch e := e.(type) {
		case events.UserKnown:
			p.ID, p.Details = e.User, e.Details
		case events.UserErased:
			p.Erased, p.Details = true, events.Details{Name: events.Erased}
		}
	}
	return p
}

// People records and erases persons. It is safe for concurrent use.
type People struct {
	streams *streams.Streams
	keys    streams.SealingKeys // nil: nothing is sealed
	secret  []byte
}

// New returns People. keys encrypt the details. If keys is nil, no person can be recorded or
// erased. secret is the key of the hashes of identities, and MUST be the same on all nodes. If it
// is empty, no person can be recorded.
func New(streams *streams.Streams, keys streams.SealingKeys, secret []byte) *People {
	return &People{streams: streams, keys: keys, secret: secret}
}

// Outcome is a person after a command.
type Outcome struct {
	Person   Person
	Position eventstore.Position
}

// identityStream returns the name of the n-th stream of an identity. The name is a keyed hash. So
// the log does not reveal whether a person with a known subject has signed in, nor that an erased
// person and a person who signed in later are the same.
func (p *People) identityStream(of events.Details, n int) string {
	mac := hmac.New(sha256.New, p.secret)
	mac.Write(fmt.Appendf(nil, "%d\n%s\n%s", n, of.Issuer, of.Subject))
	return events.StreamIdentity + hex.EncodeToString(mac.Sum(nil)[:16])
}

// Known returns the person with an identity, and records the details if they are new. The first
// time, it gives the person an id. A person who was erased and signs in again gets a new id. Known
// fails with ErrNotSealed if this process cannot encrypt the details.
func (p *People) Known(
	ctx context.Context, r domain.Request, details events.Details,
) (Outcome, error) {
	if p.keys == nil || len(p.secret) == 0 || !p.streams.Seals() {
		return Outcome{}, ErrNotSealed
	}
	return eventstore.Retry(func() (Outcome, error) {
		id, err := p.claim(ctx, r, details)
		if err != nil {
			return Outcome{}, err
		}
		loaded, err := p.streams.Load(ctx, events.StreamUser+id)
		if err != nil {
			return Outcome{}, err
		}
		person := fold(loaded.Events)
		switch {
		case person.Erased: // since the claim was read
			return Outcome{}, eventstore.ErrWrongRevision
		case person.ID != "" && person.Details == details:
			return Outcome{Person: person, Position: loaded.Position()}, nil
		}
		known := events.UserKnown{User: id, Details: details, At: p.streams.Now()}
		appended, err := p.streams.Append(
			ctx, r.Creating(id, known.At), events.StreamUser+id, loaded.Revision(), known,
		)
		if err != nil {
			return Outcome{}, err
		}
		return Outcome{
			Person: Person{ID: id, Details: details}, Position: appended.Position,
		}, nil
	})
}

// Find returns the id of the person with an identity, or an empty text if no person has it.
func (p *People) Find(ctx context.Context, issuer, subject string) (string, error) {
	if len(p.secret) == 0 {
		return "", nil
	}
	user, _, err := p.claimed(ctx, events.Details{Issuer: issuer, Subject: subject})
	return user, err
}

// maxClaims bounds how often one identity can be erased and sign in again.
const maxClaims = 1000

// claim returns the user id of an identity: the user of the first claim whose user is not erased,
// or a new id.
func (p *People) claim(
	ctx context.Context, r domain.Request, details events.Details,
) (string, error) {
	user, free, err := p.claimed(ctx, details)
	if err != nil || user != "" {
		return user, err
	}
	return p.claimNew(ctx, r, free)
}

// claimed returns the user id of the first claim of an identity whose user is not erased. If there
// is none, free is the stream for the next claim. Each claim has a stream of its own.
func (p *People) claimed(
	ctx context.Context, details events.Details,
) (user, free string, err error) {
	for n := range maxClaims {
		stream := p.identityStream(details, n)
		loaded, err := p.streams.LoadReadable(ctx, stream)
		if err != nil {
			return "", "", err
		}
		if len(loaded.Events) == 0 {
			return "", stream, nil
		}
		claimed, ok := loaded.Events[0].(events.IdentityClaimed)
		if !ok {
			cause := errors.New("the stream begins with no claim")
			return "", "", loaded.Recorded[0].Undecoded(cause)
		}
		known, err := p.streams.LoadSealed(ctx, events.StreamUser+claimed.User)
		if !fold(known.Events).Erased {
			return claimed.User, "", err
		}
	}
	return "", "", fmt.Errorf("an identity was erased %d times", maxClaims)
}

func (p *People) claimNew(
	ctx context.Context, r domain.Request, stream string,
) (string, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return "", err
	}
	claimed := events.IdentityClaimed{User: id.String(), At: p.streams.Now()}
	_, err = p.streams.Append(
		ctx, r.Creating(id.String(), claimed.At), stream, eventstore.NoStream, claimed,
	)
	return id.String(), err
}

// Load returns a person as the log has them. If no such person was recorded, the result has no id.
func Load(ctx context.Context, streams *streams.Streams, id string) (Person, error) {
	if _, err := uuid.Parse(id); err != nil {
		return Person{}, nil //nolint:nilerr // no person has such an id
	}
	loaded, err := streams.Load(ctx, events.StreamUser+id)
	return fold(loaded.Events), err
}

// Person returns a person as Load does, or refuses with UserNotFound if there is none or if they
// are erased.
func (p *People) Person(ctx context.Context, id string) (Person, error) {
	person, err := Load(ctx, p.streams, id)
	if err == nil && (person.ID == "" || person.Erased) {
		err = domain.Refuse(domain.UserNotFound, "There is no person %q", id)
	}
	return person, err
}

// Erase erases a person forever, and deletes the key of their details. It also works if that key is
// lost. Their memberships stay: see accounts.Accounts.RemoveMember. If Erase is interrupted before
// it deletes the key, a repeat deletes the key. Erase refuses with UserNotFound. Without keys, it
// fails with ErrNotSealed.
func (p *People) Erase(ctx context.Context, r domain.Request, id string) (Outcome, error) {
	if p.keys == nil {
		return Outcome{}, ErrNotSealed
	}
	outcome, err := eventstore.Retry(func() (Outcome, error) {
		loaded, err := p.streams.LoadReadable(ctx, events.StreamUser+id)
		if err != nil {
			return Outcome{}, err
		}
		person := fold(loaded.Events)
		if loaded.Err() != nil { // the event that cannot be decoded shows that the person exists
			person.ID = id
		}
		switch {
		case person.ID == "":
			return Outcome{}, domain.Refuse(domain.UserNotFound, "There is no person %q", id)
		case person.Erased:
			return Outcome{Person: person, Position: loaded.Position()}, nil
		}
		erased := events.UserErased{At: p.streams.Now()}
		appended, err := p.streams.Append(
			ctx, r, events.StreamUser+id, loaded.Revision(), erased,
		)
		if err != nil {
			return Outcome{}, err
		}
		person = fold(append(loaded.Events, erased))
		return Outcome{Person: person, Position: appended.Position}, nil
	})
	if err != nil {
		return Outcome{}, err
	}
	return outcome, p.keys.EraseAccountKey(ctx, id)
}
