package page

// This file keeps the answer of a form for the page that shows it.

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"linkledger/httpapi/apierror"
)

const (
	// answerKept is how long the answer of a form is kept.
	answerKept = time.Hour
	// SecretKept is how long an answer with a secret is kept.
	SecretKept = 10 * time.Minute
	// answerLease is how long a process that has stopped keeps a form from being sent again. Calls
	// that take longer are named, so that the API does them once.
	answerLease = time.Minute
	// answerStored is how long the storing of an answer may take.
	answerStored = 5 * time.Second
	// maxKeptCalls bounds the calls that an answer has, in bytes.
	maxKeptCalls = 4096
)

// answer is what became of a form. It is kept for the page that the browser is led to, which can be
// opened again, and for those who send the same form again.
type answer struct {
	Who    string          // only they see it; empty: whoever has its name
	To     string          // path of the page that shows it
	Path   string          // to which the form was sent
	Form   url.Values      // what was typed; nil: it is not shown again
	Notice string          // what was done
	Undo   []string        // batches
	Rest   []string        // see Page
	Status int             // of a refusal; 0: it is none
	Why    string          // of a refusal
	Calls  []Call          // that the action made
	Told   json.RawMessage `json:",omitempty"` // what the page shows in its own way
}

// shown reports whether the page that it leads to differs from what it would show anyhow.
func (a *answer) shown() bool {
	return a.Notice != "" || a.Status != 0 || len(a.Told) > 0 || a.Form != nil
}

// location returns where the browser is led.
func (a *answer) location(name string) string {
	if !a.shown() {
		return a.To
	}
	return withAnswer(a.To, name)
}

// withAnswer adds the name of an answer to the address of a page.
func withAnswer(to, name string) string {
	to, fragment, _ := strings.Cut(to, "#")
	path, query, _ := strings.Cut(to, "?")
	if query != "" {
		query += "&"
	}
	to = path + "?" + query + paramAnswer + "=" + url.QueryEscape(name)
	if fragment != "" {
		to += "#" + fragment
	}
	return to
}

// answerOf returns the answer of an action that has returned err, which is a refusal or nil.
func (p *Page) answerOf(refused *RefusedError) (*answer, error) {
	a := &answer{
		Who: p.who(), Path: p.Path(), Notice: p.Notice, Undo: p.Undo, Rest: p.Rest, To: p.Redirect,
	}
	size := 0
	for _, call := range p.Calls {
		size += len(call.Path) + len(call.Body)
	}
	if size <= maxKeptCalls {
		a.Calls = p.Calls
	}
	if p.Kept || refused != nil {
		a.Form = p.Form
	}
	if refused != nil {
		a.Notice, a.To = "", p.Back()
		a.Status, a.Why = refused.Status, refused.Text
	}
	if p.Told != nil {
		told, err := json.Marshal(p.Told)
		if err != nil {
			return nil, err
		}
		a.Told = told
	}
	return a, nil
}

// store stores an answer, also after the time of the request is over.
func (s *Pages) store(p *Page, name string, a *answer, open bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.C.Context()), answerStored)
	defer cancel()
	encoded, err := json.Marshal(a)
	if err != nil {
		return err
	}
	kept := answerKept
	if p.Secret {
		kept = SecretKept
	}
	now := s.Sessions.Now()
	return s.Sessions.Store.StoreAnswer(ctx, name, a.Who, encoded, open, now, now.Add(kept))
}

// Recall shows the answer that the address of the page names, if it is one for the session.
func (p *Page) Recall() error {
	name := p.Query().Get(paramAnswer)
	if name == "" || p.Watched || p.C.Request.Method == http.MethodPost {
		return nil
	}
	a, err := p.recalled(name)
	if err != nil || a == nil || a.Who != "" && a.Who != p.who() {
		return err
	}
	p.answer = a
	p.Calls = append(p.Calls, a.Calls...)
	p.Notice, p.Undo, p.Rest, p.Refused = a.Notice, a.Undo, a.Rest, a.Why
	return nil
}

// recalled returns the answer with a name, or nil if there is none.
func (p *Page) recalled(name string) (*answer, error) {
	encoded, err := p.pages.Sessions.Store.Answer(
		p.C.Context(), name, p.pages.Sessions.Now(),
	)
	if err != nil || encoded == nil {
		return nil, apierror.Unavailable(err)
	}
	a := new(answer)
	return a, json.Unmarshal(encoded, a)
}

// Typed returns the fields of the form that was sent to a path, if the page is to show them again,
// else nil.
func (p *Page) Typed(path string) url.Values {
	if p.answer == nil || p.answer.Path != path || p.answer.Form == nil {
		return nil
	}
	p.typedShown = true
	return p.answer.Form
}

// Hear stores what the action that led to the page has told it in into. It reports whether there is
// something.
func (p *Page) Hear(into any) bool {
	if p.answer == nil || len(p.answer.Told) == 0 {
		return false
	}
	return json.Unmarshal(p.answer.Told, into) == nil
}

// Unshown returns what was typed in a form that the page has no more, by name.
func (p *Page) Unshown() (fields []Input) {
	if p.answer == nil || p.typedShown || p.answer.Status == 0 {
		return nil
	}
	own := []string{fieldRequest, fieldPage, fieldBy}
	for _, f := range fieldsOf(p.answer.Form) {
		if !slices.Contains(own, f.Name) && !strings.HasSuffix(f.Name, "_before") &&
			strings.TrimSpace(f.Value) != "" {
			fields = append(fields, f)
		}
	}
	return fields
}

// newName returns a name for an answer that no request has.
func newName() string { return uuid.NewString() }
