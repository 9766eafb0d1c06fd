package page

// This file shows the answer of a form on the next page.

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"linkledger/httpapi/console/page/calls"
	"linkledger/httpapi/console/page/forms"
)

// maxKeptCalls is the most bytes of calls that an answer keeps. If they are longer, it keeps none.
const maxKeptCalls = 4096

// answerOf returns the answer of an action. refused is its refusal; nil: the action is done.
func (p *Page) answerOf(refused *calls.RefusedError) (*forms.Answer, error) {
	a := &forms.Answer{
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

// keep stores the answer of a form. If open, the same form may be sent again.
func (s *Pages) keep(p *Page, name string, a *forms.Answer, open bool) error {
	kept := forms.Kept
	if p.Secret {
		kept = forms.SecretKept
	}
	return s.answers.Keep(p.C.Context(), name, a, open, kept)
}

// Recall adds to the page the answer that its address names, unless it is of another caller.
func (p *Page) Recall() error {
	name := p.Query().Get(forms.Parameter)
	if name == "" || p.Watched || p.C.Request.Method == http.MethodPost {
		return nil
	}
	a, err := p.pages.answers.Find(p.C.Context(), name)
	if err != nil || a == nil || a.Who != "" && a.Who != p.who() {
		return err
	}
	p.answer = a
	p.Calls = append(p.Calls, a.Calls...)
	p.Notice, p.Undo, p.Rest, p.Refused = a.Notice, a.Undo, a.Rest, a.Why
	return nil
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

// Hear stores in into what the action before has left in Told. It returns false if Told was empty.
func (p *Page) Hear(into any) bool {
	if p.answer == nil || len(p.answer.Told) == 0 {
		return false
	}
	return json.Unmarshal(p.answer.Told, into) == nil
}

// Unshown returns the typed fields of a refused form, by name, if the page no longer has the form.
func (p *Page) Unshown() (fields []forms.Input) {
	if p.answer == nil || p.typedShown || p.answer.Status == 0 {
		return nil
	}
	own := []string{forms.FieldRequest, forms.FieldPage, forms.FieldBy}
	for _, f := range forms.Inputs(p.answer.Form) {
		if !slices.Contains(own, f.Name) && !strings.HasSuffix(f.Name, "_before") &&
			strings.TrimSpace(f.Value) != "" {
			fields = append(fields, f)
		}
	}
	return fields
}
