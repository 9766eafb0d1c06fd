// Package forms reads the forms that browsers send, and keeps their answers for the page that shows
// them. It knows no page and makes no calls.
package forms

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"linkledger/httpapi/apierror"
)

// Form is a form that a browser has sent.
type Form struct {
	Fields url.Values
	File   string // the text of its file; empty: it has none
}

// The fields that each form has besides its own: see the template hidden.
const (
	// FieldRequest is random. A form that is sent twice with the same fields is done once.
	FieldRequest = "request"
	FieldPage    = "page" // address of the page with the form
	// FieldBy names the caller for which the page was made, so that the typed fields are kept for
	// the caller after the session has ended. It has a keyed hash, so that nobody can store fields
	// with a made-up name.
	FieldBy = "by"
)

const (
	// maxForm bounds the body of a form that is carried out, in bytes.
	maxForm = 1 << 20
	// maxRead bounds the part of a longer form that is read, so that its fields can be shown again.
	maxRead = 4 << 20
)

// Read reads the form of a request. If the form is too long, Read returns the part that it has
// read, and a refusal.
func Read(w http.ResponseWriter, r *http.Request) (form Form, err error) {
	counted := &counter{ReadCloser: http.MaxBytesReader(w, r.Body, maxRead)}
	r.Body = counted
	err = r.ParseMultipartForm(maxRead) //nolint:gosec // the reader above bounds the body
	if errors.Is(err, http.ErrNotMultipart) {
		err = nil
	}
	if err == nil {
		form.File, err = readFile(r)
	}
	if _, rest := io.Copy(io.Discard, r.Body); rest != nil { // its end begins the time to answer
		err = errors.Join(err, rest)
	}
	form.Fields = r.PostForm
	switch {
	case err != nil:
		return form, apierror.WrongInput("The form cannot be read, or it is too long")
	case counted.read > maxForm:
		return form, &apierror.Error{
			Code: apierror.CodeBodyTooLarge, Details: "The form is longer than 1 MB: send less",
		}
	}
	return form, nil
}

// readFile reads the file of a form, if it has one.
func readFile(r *http.Request) (string, error) {
	if r.MultipartForm == nil {
		return "", nil
	}
	file, _, err := r.FormFile("file")
	if errors.Is(err, http.ErrMissingFile) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(file)
	return string(text), errors.Join(err, file.Close())
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

// Inputs returns the fields of a form in the order of their names.
func Inputs(form url.Values) (fields []Input) {
	for _, name := range slices.Sorted(maps.Keys(form)) {
		for _, value := range form[name] {
			fields = append(fields, Input{
				Name: name, Value: value,
				Long: strings.Contains(value, "\n") || len(value) > 200 && name != FieldPage,
			})
		}
	}
	return fields
}
