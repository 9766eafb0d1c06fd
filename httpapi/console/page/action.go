package page

// This file carries out each form once, however often it is sent, and redirects to its answer.

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"
	"github.com/uptrace/bunrouter"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/console/page/calls"
	"linkledger/httpapi/console/page/forms"
	"linkledger/httpapi/openid/begun"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
)

// Action returns the handler of a form that needs a sign-in. do carries out the form and calls
// Finish. back is the path of the page with the form, also with parameters such as :hash.
//
// The answer is usually a redirect, so that the next page can be opened again. A form that is sent
// twice is done once, and the second request gets the answer of the first. If the form is refused
// or its session has ended, the page with the form shows the typed fields again.
func (s *Pages) Action(back string, do Fill) bunrouter.HandlerFunc {
	return func(w http.ResponseWriter, r bunrouter.Request) error {
		c := request.Of(w, r)
		p := s.page(c, "")
		p.back = filled(c, back)
		err := s.act(p, do)
		if refused, ok := calls.AsRefusal(err); ok {
			return s.refuse(p, refused)
		}
		if err != nil {
			return err
		}
		return p.write()
	}
}

// filled returns a path with the names of its parameters replaced by their values.
func filled(c *request.Context, path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if name, ok := strings.CutPrefix(part, ":"); ok {
			parts[i] = url.PathEscape(c.Param(name))
		}
	}
	return strings.Join(parts, "/")
}

func (s *Pages) act(p *Page, do Fill) error {
	if err := s.Sessions.CheckOrigin(p.C.Request); err != nil {
		return err
	}
	if err := p.readForm(); err != nil {
		refused, _ := calls.AsRefusal(err)
		s.offerAgain(p, refused)
		return nil
	}
	if err := s.Resume(p); err != nil {
		return s.unresumed(p, err)
	}
	p.Named = p.requestName()
	p.C.Rename(p.Form.Get(forms.FieldRequest))
	former, claimed, err := s.answers.Claim(p.C.Context(), p.Named, p.who())
	switch {
	case err != nil:
		s.fail(p, apierror.Unavailable(err))
		return nil
	case claimed:
		s.answer(p, do(p))
		return nil
	case former != nil:
		p.Redirect = former.Location(p.Named)
		return nil
	}
	p.Named = uuid.NewString() // because the request under way keeps its answer by the former name
	s.answer(p, errUnderWay)
	return nil
}

var errUnderWay = &calls.RefusedError{
	Status: http.StatusConflict,
	Text: "This was sent before and is still being worked on. The activity shows how far it is, " +
		"and sending it again does nothing twice",
}

// answer answers a form after its action. err is the error of the action; nil: the action is done.
func (s *Pages) answer(p *Page, err error) {
	refused, ok := calls.AsRefusal(err)
	if ok && refused.Code == apierror.CodeInvalidKey { // the session has ended meanwhile
		s.keepForSignIn(p, p.who())
		return
	}
	if err != nil && !ok {
		refused = calls.RefusalOf(response.Report(p.C, s.Logger, err))
	}
	a, err := p.answerOf(refused)
	if err == nil {
		p.Redirect = a.To
		p.nameLate()
		a.To = p.Redirect
		err = s.keep(p, p.Named, a, refused != nil && !refused.Done)
	}
	switch {
	case err == nil:
		p.Redirect = a.Location(p.Named)
	case refused != nil:
		s.fail(p, apierror.Unavailable(err))
	default: // the answer is not kept, but the action is done, and the page shows its result
		p.Redirect = a.To
	}
}

// unresumed answers a form whose session was not resumed. err says why, for example because the
// session has ended.
func (s *Pages) unresumed(p *Page, err error) error {
	refused, ok := calls.AsRefusal(err)
	if ok && refused.Code == apierror.CodeInvalidKey {
		who, known := p.sentBy()
		if !known {
			p.Redirect = s.signInFrom(s.Start, s.Sessions.Has(p.C.Request))
			return nil
		}
		p.Named = p.requestName()
		// A request with the same form that is under way may have ended the session itself.
		former, claimed, err := s.answers.Claim(p.C.Context(), p.Named, who)
		switch {
		case err != nil:
			s.fail(p, apierror.Unavailable(err))
		case !claimed && former != nil && former.Who == who && former.Status == 0:
			p.Redirect = former.Location(p.Named)
		default:
			s.keepForSignIn(p, who)
		}
		return nil
	}
	if ok && refused.Status < http.StatusInternalServerError {
		return err
	}
	s.fail(p, err)
	return nil
}

// fail answers a form after a fault of the service, with the fields of the form to be sent again.
func (s *Pages) fail(p *Page, err error) {
	refused, ok := calls.AsRefusal(err)
	if !ok {
		refused = calls.RefusalOf(response.Report(p.C, s.Logger, err))
	}
	s.offerAgain(p, refused)
}

// keepForSignIn keeps the fields of a form for the caller who sent it. It redirects to the sign-in,
// which then leads back to the form.
func (s *Pages) keepForSignIn(p *Page, who string) {
	back := p.Back()
	kept := &forms.Answer{
		Who: who, To: back, Path: p.Path(), Form: p.Form, Status: http.StatusConflict,
		Why: "The session had ended, so nothing was done. What you typed is still here: send it " +
			"again",
	}
	if err := s.keep(p, p.Named, kept, true); err != nil {
		s.fail(p, apierror.Unavailable(err))
		return
	}
	to := forms.WithName(back, p.Named)
	if begun.LocalPath(to) != to { // the address has too long a filter to come back
		to = forms.WithName(p.back, p.Named)
	}
	p.Redirect = s.signInFrom(to, true)
}

// signInFrom returns the address of the page for signing in. to is the path of the page that
// follows the sign-in. If ended, the page says that the session has ended.
func (s *Pages) signInFrom(to string, ended bool) string {
	query := "?return=" + url.QueryEscape(begun.LocalPath(to))
	if ended {
		query += "&ended=1"
	}
	return s.SignIn + query
}

// offerAgain makes the page of a refusal that has the fields of the form, with a button that sends
// them again. It is for forms whose fields the service cannot keep.
func (s *Pages) offerAgain(p *Page, refused *calls.RefusedError) {
	s.alone(p, refused)
	p.Again = forms.Inputs(p.Form)
}
