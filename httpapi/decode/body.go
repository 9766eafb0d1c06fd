// Package decode reads the parameters and the body of a call, which is JSON or a form. Its errors
// are refusals whose details say what the client has to correct. It MUST NOT check rules about
// values: commands do.
package decode

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/request"
)

const (
	typeJSON = "application/json"
	typeForm = "application/x-www-form-urlencoded"
	// byteOrderMark begins what some editors and shells write as UTF-8.
	byteOrderMark = "\ufeff"
)

// Body returns the payload of a call, and stores it in c.Payload. limit is the most bytes of the
// body. The payload is empty if the call has no body.
func Body(c *request.Context, limit int64) (Object, error) {
	body, err := decodeBody(c, limit)
	c.Payload = body.Values
	return body, err
}

func decodeBody(c *request.Context, limit int64) (Object, error) {
	data, err := readAll(c, limit)
	if err != nil {
		return Object{}, err
	}
	contentType := c.Request.Header.Get("Content-Type")
	if contentType == "" {
		contentType = typeJSON
	}
	mediaType, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		// Wrong parameters, such as an empty charset, do no harm to JSON and URL-encoded forms,
		// because these types need no parameters.
		mediaType, _, _ = strings.Cut(contentType, ";")
		mediaType = strings.ToLower(strings.TrimSpace(mediaType))
	}
	if err != nil && mediaType != typeJSON && mediaType != typeForm {
		return Object{}, apierror.WrongInput("The Content-Type header cannot be read")
	}
	form := mediaType == typeForm || mediaType == "multipart/form-data"
	if form && c.SentMethod != http.MethodPost {
		return Object{}, apierror.WrongInput(
			"A %s body needs a POST request, with the header X-HTTP-Method-Override: %s", mediaType,
			c.SentMethod,
		)
	}
	switch mediaType {
	case typeJSON:
		return JSON(data)
	case typeForm:
		return Form(data)
	case "multipart/form-data":
		return Multipart(data, params["boundary"])
	}
	return Object{}, apierror.WrongInput(
		"The content type %q is not supported, use application/json", mediaType,
	)
}

// readAll reads a body of at most limit bytes.
func readAll(c *request.Context, limit int64) ([]byte, error) {
	tooLarge := &apierror.Error{
		Code:    apierror.CodeBodyTooLarge,
		Details: "A body may have " + apierror.Count(limit, "byte"),
	}
	if c.Request.ContentLength > limit {
		return nil, tooLarge
	}
	data, err := io.ReadAll(http.MaxBytesReader(c.ResponseWriter, c.Request.Body, limit))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge
	}
	if err != nil {
		return nil, apierror.WrongInput("The body ended early")
	}
	return data, nil
}

// JSON reads a JSON object, also after a byte order mark. Empty data is an empty object.
func JSON(data []byte) (Object, error) {
	data = bytes.TrimPrefix(data, []byte(byteOrderMark))
	if len(bytes.TrimSpace(data)) == 0 {
		return Object{}, nil
	}
	if !utf8.Valid(data) {
		return Object{}, apierror.WrongInput("The body is not UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return Object{}, apierror.WrongInput("The body is not JSON: %v", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Object{}, apierror.WrongInput("The body continues after its JSON value")
	}
	values, ok := value.(map[string]any)
	if !ok {
		return Object{}, apierror.WrongInput("The body must be a JSON object")
	}
	return Object{Values: values}, nil
}

// Form reads a URL-encoded form whose keys may have brackets, also after a byte order mark.
func Form(data []byte) (Object, error) {
	data = bytes.TrimPrefix(data, []byte(byteOrderMark))
	values, err := url.ParseQuery(string(data))
	if err != nil {
		return Object{}, apierror.WrongInput(
			"The form cannot be read, percent-encode its names and values",
		)
	}
	return nest(values)
}

// Multipart reads a multipart form. It refuses files.
func Multipart(data []byte, boundary string) (Object, error) {
	unreadable := apierror.WrongInput("The multipart form cannot be read")
	if boundary == "" {
		return Object{}, unreadable
	}
	reader := multipart.NewReader(bytes.NewReader(data), boundary)
	values := make(url.Values)
	for {
		part, err := reader.NextPart()
		//nolint:errorlint // a wrapped EOF means that the last boundary is missing
		if err == io.EOF {
			return nest(values)
		}
		if err != nil {
			return Object{}, unreadable
		}
		if part.FileName() != "" {
			return Object{}, apierror.WrongInput(
				"The form field %q is a file, send its value", part.FormName(),
			)
		}
		value, err := io.ReadAll(part)
		if err != nil {
			return Object{}, unreadable
		}
		values.Add(part.FormName(), string(value))
	}
}
