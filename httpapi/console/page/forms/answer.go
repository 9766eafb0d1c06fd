package forms

// This file keeps the answer of a form for the page that shows it.

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/console/page/calls"
	"linkledger/httpapi/session"
)

// Parameter is the parameter of a page with the name of the answer that it shows.
const Parameter = "answer"

const (
	// Kept is how long the answer of a form is kept.
	Kept = time.Hour
	// SecretKept is how long an answer with a secret is kept.
	SecretKept = 10 * time.Minute
	// answerLease is how long a claim of an answer lasts. If the process that made the claim has
	// stopped, the form can be sent again after this time. If the action takes longer, the form may
	// be carried out twice. This does no harm: its calls have the same idempotency keys both times,
	// so the API does them once.
	answerLease = time.Minute
	// answerStored is how long the storing of an answer may take.
	answerStored = 5 * time.Second
)

// Answer is the answer of a form. It is kept for the page that shows it, which can be opened again,
// and for a second request with the same form.
type Answer struct {
	Who    string          // only this caller sees it; empty: all who know its name
	To     string          // path of the page that shows it
	Path   string          // to which the form was sent
	Form   url.Values      // what was typed; nil: it is not shown again
	Notice string          // what was done
	Undo   []string        // see page.Page
	Rest   []string        // see page.Page
	Status int             // of a refusal; 0: it is none
	Why    string          // of a refusal
	Calls  []calls.Call    // that the action made
	Told   json.RawMessage `json:",omitempty"` // what the page shows in its own way
}

// Shown reports whether the answer changes the page that it leads to.
func (a *Answer) Shown() bool {
	return a.Notice != "" || a.Status != 0 || len(a.Told) > 0 || a.Form != nil
}

// Location returns the address to which the browser is redirected. name is the name of the answer.
func (a *Answer) Location(name string) string {
	if !a.Shown() {
		return a.To
	}
	return WithName(a.To, name)
}

// WithName adds the name of an answer to the address of a page.
func WithName(to, name string) string {
	to, fragment, _ := strings.Cut(to, "#")
	path, query, _ := strings.Cut(to, "?")
	if query != "" {
		query += "&"
	}
	to = path + "?" + query + Parameter + "=" + url.QueryEscape(name)
	if fragment != "" {
		to += "#" + fragment
	}
	return to
}

// Answers keeps the answers of forms in the database. It is safe for concurrent use.
type Answers struct{ *session.Sessions }

// claimPause is the pause between two looks for the answer of the same form.
const claimPause = 100 * time.Millisecond

// Claim claims the answer of a form for the caller who has sent the form: the request of the caller
// then makes the answer, and Claim returns true. While another request with the same form makes the
// answer, Claim waits, and then returns that answer and false. If ctx ends first, it returns nil
// and false.
func (s Answers) Claim(ctx context.Context, name, who string) (*Answer, bool, error) {
	looks := time.NewTicker(claimPause)
	defer looks.Stop()
	for {
		encoded, claimed, err := s.Store.ClaimAnswer(ctx, name, who, s.Now(), answerLease)
		if err != nil || claimed {
			return nil, claimed, err
		}
		if encoded != nil {
			former := new(Answer)
			return former, false, json.Unmarshal(encoded, former)
		}
		select {
		case <-looks.C:
		case <-ctx.Done():
			return nil, false, nil
		}
	}
}

// Keep stores an answer, even if the time of the request is over. An open answer belongs to a form
// that was refused: the same form may be sent again, and its new answer replaces this one.
func (s Answers) Keep(
	ctx context.Context, name string, a *Answer, open bool, kept time.Duration,
) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerStored)
	defer cancel()
	encoded, err := json.Marshal(a)
	if err != nil {
		return err
	}
	now := s.Now()
	return s.Store.StoreAnswer(ctx, name, a.Who, encoded, open, now, now.Add(kept))
}

// Find returns the answer with a name, or nil if there is none.
func (s Answers) Find(ctx context.Context, name string) (*Answer, error) {
	encoded, err := s.Store.Answer(ctx, name, s.Now())
	if err != nil || encoded == nil {
		return nil, apierror.Unavailable(err)
	}
	a := new(Answer)
	return a, json.Unmarshal(encoded, a)
}
