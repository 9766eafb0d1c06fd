package page

// This file has the hidden fields that all forms share, and reads them from a form that was sent.

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"io"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"linkledger/httpapi/console/page/forms"
	"linkledger/httpapi/openid/begun"
)

// Hidden are the fields that each form has besides its own.
type Hidden struct{ Request, Page, By string }

// Hidden returns the hidden fields of the form that is sent to a path. If the form is shown again
// after a failure of the service (5xx), it keeps its FieldRequest, so that its changes are made
// once.
func (p *Page) Hidden(path string) Hidden {
	hidden := Hidden{Request: uuid.NewString(), Page: p.address(), By: p.by()}
	if a := p.answer; a != nil && a.Path == path && a.Status >= http.StatusInternalServerError {
		hidden.Request = a.Form.Get(forms.FieldRequest)
	}
	return hidden
}

// address returns the path and the parameters of the page.
func (p *Page) address() string {
	query := p.Query()
	query.Del(forms.Parameter)
	query.Del(writtenParameter)
	if len(query) == 0 {
		return p.C.Request.URL.EscapedPath()
	}
	return p.C.Request.URL.EscapedPath() + "?" + query.Encode()
}

// who returns a name for the caller: the account, the person and the key of the session.
func (p *Page) who() string {
	if p.Session == nil {
		return ""
	}
	var names []string
	for _, name := range []*string{p.Session.Account, p.Session.User, p.Session.Key} {
		if name == nil {
			name = new("")
		}
		names = append(names, *name)
	}
	return strings.Join(names, "/")
}

func (p *Page) by() string {
	if p.Session == nil {
		return ""
	}
	who := p.who()
	return p.pages.signed(who) + " " + who
}

// signed returns a keyed hash of a name that who has returned.
func (s *Pages) signed(who string) string { return s.Sessions.Pseudonyms.Of("form of " + who) }

// sentBy returns the name of the caller for whom the page with the form was made. It returns false
// if the form has no such name, or if the name has no valid signature.
func (p *Page) sentBy() (string, bool) {
	signature, who, ok := strings.Cut(p.Form.Get(forms.FieldBy), " ")
	return who, ok &&
		subtle.ConstantTimeCompare([]byte(signature), []byte(p.pages.signed(who))) == 1
}

// Back returns the address of the page with the form of an action.
func (p *Page) Back() string {
	from := p.Form.Get(forms.FieldPage)
	if from != "" && begun.LocalPath(from) == from {
		return from
	}
	return p.back
}

// requestName returns the name of the answer of a form. The same fields give the same name.
func (p *Page) requestName() string {
	random := p.Form.Get(forms.FieldRequest)
	if random == "" {
		random = uuid.NewString()
	}
	sum := sha256.New()
	for _, text := range []string{random, p.Path(), p.Form.Encode(), p.File} {
		_, _ = io.WriteString(sum, text+"\n") // never fails
	}
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
}

// readForm reads the form that was sent.
func (p *Page) readForm() error {
	form, err := forms.Read(p.C, p.C.Request)
	p.Form, p.File = form.Fields, form.File
	return err
}

// ReadOpenForm reads a form that needs no sign-in. It refuses a form from a page of another origin.
func (p *Page) ReadOpenForm() error {
	if err := p.pages.Sessions.CheckOrigin(p.C.Request); err != nil {
		return err
	}
	return p.readForm()
}
