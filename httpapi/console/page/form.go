package page

// This file has the fields of forms: the hidden fields that all forms share, and the fields that a
// browser has sent.

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/openid"
)

// The fields that each form has besides its own: see the template hidden.
const (
	// fieldRequest is random. A form that is sent twice with the same fields is done once.
	fieldRequest = "request"
	fieldPage    = "page" // address of the page with the form
	// fieldBy says who the page was made for, so that what they have typed is kept for them after
	// their session has ended. A keyed hash keeps others from storing texts.
	fieldBy = "by"
)

// paramAnswer is the parameter of a page with the name of the answer that it shows.
const paramAnswer = "answer"

// Hidden are the fields that each form has besides its own.
type Hidden struct{ Request, Page, By string }

// Hidden returns the fields of the form that is sent to a path. A form that is shown again because
// the service did not answer is the same one: what it did is not done again.
func (p *Page) Hidden(path string) Hidden {
	hidden := Hidden{Request: uuid.NewString(), Page: p.address(), By: p.by()}
	if a := p.answer; a != nil && a.Path == path && a.Status >= http.StatusInternalServerError {
		hidden.Request = a.Form.Get(fieldRequest)
	}
	return hidden
}

// address returns the path and the parameters of the page.
func (p *Page) address() string {
	query := p.Query()
	query.Del(paramAnswer)
	query.Del(writtenParameter)
	if len(query) == 0 {
		return p.C.Request.URL.EscapedPath()
	}
	return p.C.Request.URL.EscapedPath() + "?" + query.Encode()
}

// who names who has signed in, in an account.
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

// sentBy returns for whom the page with the form was made, or false if the form does not say so.
func (p *Page) sentBy() (string, bool) {
	signature, who, ok := strings.Cut(p.Form.Get(fieldBy), " ")
	return who, ok &&
		subtle.ConstantTimeCompare([]byte(signature), []byte(p.pages.signed(who))) == 1
}

// Back returns the address of the page with the form of an action.
func (p *Page) Back() string {
	from := p.Form.Get(fieldPage)
	if from != "" && openid.LocalPath(from) == from {
		return from
	}
	return p.back
}

// requestName returns the name of the answer of a form: the same for each request with the same
// fields.
func (p *Page) requestName() string {
	random := p.Form.Get(fieldRequest)
	if random == "" {
		random = uuid.NewString()
	}
	sum := sha256.New()
	for _, text := range []string{random, p.Path(), p.Form.Encode(), p.File} {
		_, _ = io.WriteString(sum, text+"\n") // never fails
	}
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
}

const (
	// maxForm bounds the body of a form that is answered, in bytes.
	maxForm = 1 << 20
	// maxRead bounds what is read of a longer one, to show it again.
	maxRead = 4 << 20
)

// readForm reads the fields of the form that was sent, and its file.
func (p *Page) readForm() error {
	r := p.C.Request
	body := http.MaxBytesReader(p.C, r.Body, maxRead)
	counted := &counter{ReadCloser: body}
	r.Body = counted
	err := r.ParseMultipartForm(maxRead)
	if errors.Is(err, http.ErrNotMultipart) {
		err = nil
	}
	if err == nil {
		err = p.readFile()
	}
	if _, rest := io.Copy(io.Discard, r.Body); rest != nil { // begins the time of the request
		err = errors.Join(err, rest)
	}
	p.Form = r.PostForm
	switch {
	case err != nil:
		return apierror.WrongInput("The form cannot be read, or it is too long")
	case counted.read > maxForm:
		return &apierror.Error{
			Code: apierror.CodeBodyTooLarge, Details: "The form is longer than 1 MB: send less",
		}
	}
	return nil
}

// readFile reads the file of a form, if it has one.
func (p *Page) readFile() error {
	if p.C.Request.MultipartForm == nil {
		return nil
	}
	file, _, err := p.C.Request.FormFile("file")
	if errors.Is(err, http.ErrMissingFile) {
		return nil
	}
	if err != nil {
		return err
	}
	text, err := io.ReadAll(file)
	p.File = string(text)
	return errors.Join(err, file.Close())
}

// counter counts the bytes of a body.
type counter struct {
	io.ReadCloser

	read int64
}

// Read implements io.Reader.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.read += int64(n)
	return n, err
}

// Input is a field of a form that is shown again.
type Input struct {
	Name, Value string
	Long        bool // it was typed or pasted, and takes several lines
}

// fieldsOf returns the fields of a form in the order of their names.
func fieldsOf(form url.Values) (fields []Input) {
	for _, name := range slices.Sorted(maps.Keys(form)) {
		for _, value := range form[name] {
			fields = append(fields, Input{
				Name: name, Value: value,
				Long: strings.Contains(value, "\n") || len(value) > 200 && name != fieldPage,
			})
		}
	}
	return fields
}
