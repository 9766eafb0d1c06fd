package sessionadmin

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/permit"
	"linkledger/internal/console"
	"linkledger/internal/installation"
	"linkledger/internal/usage"
	"linkledger/projections/readmodel"
	"linkledger/queries"
	"linkledger/queries/sessionlist"
)

// printedSession is the printed form of a session.
type printedSession struct {
	ID       string    `json:"id"`
	Operator bool      `json:"operator"`
	Username string    `json:"username"`  // of the account; empty: none
	Key      string    `json:"key"`       // id; empty: no key signed in
	KeyName  string    `json:"key_name"`  // empty: the key has none
	User     string    `json:"user"`      // id; empty: no person signed in
	UserName string    `json:"user_name"` // empty: not known
	Agent    string    `json:"agent"`
	Begun    time.Time `json:"created_at"`
	Used     time.Time `json:"last_used"`
}

func newPrintedSession(s sessionlist.Session) printedSession {
	printed := printedSession{
		ID: s.ID.String(), Operator: s.Operator, Username: s.Username, Key: s.Key,
		KeyName: s.KeyName, UserName: s.UserName, Agent: s.Agent, Begun: s.Begun.UTC(),
		Used: s.Used.UTC(),
	}
	if s.User != uuid.Nil {
		printed.User = s.User.String()
	}
	return printed
}

// ListSessions prints the sessions of operators and the sessions without an account.
func ListSessions(ctx context.Context, o installation.Operator) error {
	var listed []sessionlist.Session
	err := onSessions(ctx, o, func(ctx context.Context, db *readmodel.DB) (err error) {
		listed, err = sessionlist.New(db).ForOperators(ctx, time.Now())
		return err
	})
	if err != nil {
		return err
	}
	printed := make([]printedSession, len(listed))
	rows := make([]console.Row, len(listed))
	for i, s := range listed {
		p := newPrintedSession(s)
		printed[i] = p
		rows[i] = console.Row{
			p.ID, p.Operator, p.Username, p.User, p.UserName, p.Key, p.KeyName, p.Agent,
			console.Time(s.Begun), console.Time(s.Used),
		}
	}
	return console.List(o.Stdout, o.JSON, printed, console.Row{
		"id", "operator", "account", "person", "name", "key", "key name", "browser", "began",
		"last used",
	}, rows)
}

// EndSession ends a session that ListSessions prints. When it returns, no node accepts the session
// any more.
func EndSession(ctx context.Context, o installation.Operator, session string) error {
	noSession := usage.Errorf(
		"there is no session %q: linkledger console session list shows the ids", session,
	)
	id, err := uuid.Parse(session)
	if err != nil {
		return noSession
	}
	err = onSessions(ctx, o, func(ctx context.Context, db *readmodel.DB) error {
		if _, err := sessionlist.New(db).Find(ctx, id, time.Now()); err != nil {
			return err
		}
		return db.Keys.EndSession(ctx, id)
	})
	if errors.Is(err, queries.ErrNotFound) {
		return noSession
	}
	if err != nil {
		return err
	}
	if err := permit.AwaitEnd(ctx); err != nil {
		return err
	}
	return console.Printf(o.Stdout, "the session %s has ended\n", id)
}

// onSessions runs a command on the database of the installation.
func onSessions(
	ctx context.Context, o installation.Operator,
	command func(context.Context, *readmodel.DB) error,
) error {
	if o.Database == "" {
		if err := o.Locate(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, installation.Timeout)
	defer cancel()
	db, err := o.OpenReadModels(ctx, 1)
	if err != nil {
		return err
	}
	return errors.Join(command(ctx, db), db.Close())
}
