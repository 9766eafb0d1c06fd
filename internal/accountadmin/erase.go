package accountadmin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/google/uuid"

	"linkledger/commands/accounts"
	"linkledger/commands/domain"
	"linkledger/commands/people"
	"linkledger/events/eventstore"
	"linkledger/internal/accountadmin/effect"
	"linkledger/internal/console"
	"linkledger/internal/installation"
	"linkledger/internal/usage"
	"linkledger/projections"
	"linkledger/projections/readmodel"
	"linkledger/queries"
	"linkledger/queries/accountlist"
	"linkledger/queries/progress"
)

// Erase closes an account for ever and makes its notes unreadable. It also makes the details of its
// members unreadable, unless they are members of another account. A repeat after an interruption
// does what is left.
func Erase(ctx context.Context, o installation.Operator, username string) error {
	var outcome accounts.Outcome
	err := erasing(ctx, o, func(ctx context.Context, e *eraser) error {
		var err error
		if outcome, err = e.accounts.Erase(ctx, e.request, username); err != nil {
			return err
		}
		if err := e.await(ctx, outcome.Position); err != nil {
			return err
		}
		err = e.members(ctx, outcome.Account)
		e.awaitNotes(ctx, outcome.Position)
		erased := func(shown accountlist.Account) bool { return shown.Erased }
		left := effect.OfAccount(outcome, erased)
		return errors.Join(err, effect.Check(ctx, e.db, effect.Ends, left))
	})
	if err != nil {
		return err
	}
	awaitNodes(ctx)
	return printOutcome(o, outcome)
}

// ErasePerson makes the details of a person unreadable for ever, and ends their memberships and
// sessions. A repeat after an interruption does what is left.
func ErasePerson(ctx context.Context, o installation.Operator, user string) error {
	id, err := userID(user)
	if err != nil {
		return err
	}
	err = erasing(ctx, o, func(ctx context.Context, e *eraser) error {
		last, err := e.person(ctx, id)
		if err != nil {
			return err
		}
		if err := e.await(ctx, last); err != nil {
			return err
		}
		return effect.Check(ctx, e.db, effect.Ends, effect.OfErasedPerson(id, last))
	})
	if err != nil {
		return err
	}
	awaitNodes(ctx)
	err = console.Printf(o.Stdout, "the person %s is erased\n", id)
	return err
}

func userID(text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil {
		return uuid.Nil, usage.Errorf(
			"%q is not the id of a person: linkledger person list shows the ids", text,
		)
	}
	return id, nil
}

type eraser struct {
	accounts *accounts.Accounts
	people   *people.People
	db       *readmodel.DB
	request  domain.Request
	logger   *slog.Logger
}

// erasing runs a command with an eraser. The command as a whole has no deadline, because an account
// may have many members. The erasure of one person has a deadline, and each wait has one.
func erasing(
	ctx context.Context, o installation.Operator, command func(context.Context, *eraser) error,
) error {
	return o.Operate(ctx, func(
		ctx context.Context, db *readmodel.DB, store *eventstore.Store,
	) error {
		e := &eraser{db: db, request: installation.NewRequest(), logger: o.Logger}
		e.accounts, e.people = o.With(store, db)
		err := command(ctx, e)
		if _, refused := errors.AsType[*domain.Error](err); refused {
			return usage.Wrap(err)
		}
		return err
	})
}

// await waits until the read models show the accounts and people up to a position of the log.
func (e *eraser) await(ctx context.Context, position eventstore.Position) error {
	ctx, cancel := context.WithTimeout(ctx, installation.Timeout)
	defer cancel()
	waiter := progress.NewWaiter(e.db)
	following, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() { waiter.Run(following); close(ended) }()
	err := waiter.Wait(ctx, projections.Accounts, position.Commit)
	stop()
	<-ended
	if err != nil {
		return fmt.Errorf(
			"erased in the log, but the read model does not show it yet: is a projector running? "+
				"When one runs, repeat the command: %w", err,
		)
	}
	return nil
}

// awaitNotes waits until no table has a note of the account any more. If the wait fails, it logs
// the generations that still have notes.
func (e *eraser) awaitNotes(ctx context.Context, position eventstore.Position) {
	ctx, cancel := context.WithTimeout(ctx, installation.Timeout)
	defer cancel()
	behind, err := projections.AwaitErasure(ctx, e.db, position)
	if err != nil {
		e.logger.WarnContext(ctx, "erased, but these generations still have notes: a projector "+
			"erases the notes, or projections prune removes the generations",
			slog.Any("generations", behind), slog.Any("error", err))
	}
}

// members erases the persons who were members of an erased account, except for those who are
// members of another account. The read models MUST show the erasure of the account. If the erasure
// of one person fails, members still erases the other persons.
func (e *eraser) members(ctx context.Context, of accounts.Account) error {
	var failed []error
	for _, member := range of.Members {
		if err := ctx.Err(); err != nil {
			return errors.Join(append(failed, err)...)
		}
		if err := e.member(ctx, member.User); err != nil {
			failed = append(failed, fmt.Errorf("erase the member %s: %w", member.User, err))
		}
	}
	return errors.Join(failed...)
}

// member erases a person, unless the person is unknown or still a member of an account. If the id
// is no UUID, another program has written it, and there is no person to erase.
func (e *eraser) member(ctx context.Context, user string) error {
	id, err := uuid.Parse(user)
	if err != nil {
		return nil //nolint:nilerr // there is nobody to erase
	}
	memberships, err := queries.New(e.db).Memberships(ctx, id)
	if err != nil || len(memberships) > 0 {
		return err
	}
	_, err = e.person(ctx, id)
	if domain.KindOf(err) == domain.UserNotFound {
		return nil
	}
	return err
}

// person erases a person, then ends their memberships and sessions. It returns the position in the
// log of the last event that this has stored.
func (e *eraser) person(ctx context.Context, id uuid.UUID) (eventstore.Position, error) {
	ctx, cancel := context.WithTimeout(ctx, installation.Timeout)
	defer cancel()
	outcome, err := e.people.Erase(ctx, e.request, id.String())
	if err != nil {
		return eventstore.Position{}, err
	}
	last := outcome.Position
	memberships, err := queries.New(e.db).Memberships(ctx, id)
	if err != nil {
		return last, err
	}
	for _, m := range memberships {
		removed, err := e.accounts.RemoveMember(ctx, e.request, m.Account.String(), id.String())
		if domain.KindOf(err) == domain.MemberNotFound {
			continue // it has ended, but the read model does not show that yet
		}
		if err != nil {
			return last, err
		}
		last = removed
	}
	return last, e.db.Keys.EndSessionsOf(ctx, id)
}
