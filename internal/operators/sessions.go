package operators

import (
	"cmp"
	"errors"
	"log/slog"

	"github.com/google/uuid"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/console/page"
	"linkledger/queries"
	"linkledger/queries/sessionlist"
)

// sessionsData is what the page of the sessions shows.
type sessionsData struct {
	Sessions []shownSession
	Most     int // that the page shows
}

// shownSession is a session as the page shows it.
type shownSession struct {
	sessionlist.Session

	Who     string
	Current bool // the session of the browser that asks
}

// sessions lists the sessions of operators and those without an account.
func (h *Handler) sessions(p *page.Page) error {
	p.Title = "Sessions"
	p.Commands = []string{
		"linkledger console session list", "linkledger console session end ID",
	}
	listed, err := sessionlist.New(h.DB).ForOperators(p.C.Context(), h.Sessions.Now())
	if err != nil {
		return err
	}
	data := sessionsData{Most: sessionlist.MaxListed}
	for _, s := range listed {
		data.Sessions = append(data.Sessions, shownSession{
			Session: s, Who: whose(s), Current: s.ID == p.C.Session.ID,
		})
	}
	p.Data = data
	return nil
}

// whose names who signed in.
func whose(s sessionlist.Session) string {
	switch {
	case s.User != uuid.Nil:
		return cmp.Or(s.UserName, "a person without a name")
	case s.Key != "":
		if s.KeyName == "" {
			return "a key without a name"
		}
		return "key " + s.KeyName
	}
	return "one-time link"
}

// endSession ends the session that the path names. When it answers, no node accepts the session any
// more.
func (h *Handler) endSession(p *page.Page) error {
	ctx := p.C.Context()
	id, err := uuid.Parse(p.C.Param("id"))
	if err != nil {
		return errNoSuchSession
	}
	_, err = sessionlist.New(h.DB).Find(ctx, id, h.Sessions.Now())
	if errors.Is(err, queries.ErrNotFound) {
		return errNoSuchSession
	}
	if err != nil {
		return err
	}
	err = h.Sessions.End(p.C, id)
	h.Logger.InfoContext(ctx, "an operator acts",
		slog.String("action", "end a session"), slog.String("ended", id.String()),
		slog.Bool("done", err == nil), slog.String("session", p.Session.ID),
		slog.String("who", who(p.C.Session)), slog.String("request", p.C.ID))
	return p.Finish(err, sessionsPath, "The session has ended")
}

var errNoSuchSession = &apierror.Error{
	Code: apierror.CodeInvalidResource, Details: "There is no such session, or it has ended",
}
