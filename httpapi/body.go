package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"unicode/utf8"
)

// readBody returns the payload of a request of so many bytes at most, whatever its encoding. Without a body it is empty.
func readBody(c *exchange, limit int64) (object, error) {
	body, err := decodeBody(c, limit)
	c.payload = body.values
	return body, err
}

func decodeBody(c *exchange, limit int64) (object, error) {
	data, err := readAll(c, limit)
	if err != nil {
		return object{}, err
	}
	contentType := c.request.Header.Get("Content-Type")
	if contentType == "" {
		contentType = "application/json"
	}
	mediaType, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return object{}, wrongInput("The Content-Type header cannot be read")
	}
	form := mediaType == "application/x-www-form-urlencoded" || mediaType == "multipart/form-data"
	if form && c.sent != http.MethodPost {
		return object{}, wrongInput("A %s body needs a POST request, with the header X-HTTP-Method-Override: %s", mediaType, c.sent)
	}
	switch mediaType {
	case "application/json":
		return decodeJSON(data)
	case "application/x-www-form-urlencoded":
		return decodeForm(data)
	case "multipart/form-data":
		return decodeMultipart(data, params["boundary"])
	}
	return object{}, wrongInput("The content type %q is not supported, use application/json", mediaType)
}

// readAll reads the body within its limit.
func readAll(c *exchange, limit int64) ([]byte, error) {
	tooLarge := &apiError{code: codeBodyTooLarge, details: "A body may have " + count(limit, "byte")}
	if c.request.ContentLength > limit {
		return nil, tooLarge
	}
	data, err := io.ReadAll(http.MaxBytesReader(c.ResponseWriter, c.request.Body, limit))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge
	}
	if err != nil {
		return nil, wrongInput("The body ended early")
	}
	return data, nil
}

func decodeJSON(data []byte) (object, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return object{}, nil
	}
	if !utf8.Valid(data) {
		return object{}, wrongInput("The body is not UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return object{}, wrongInput("The body is not JSON: %v", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return object{}, wrongInput("The body goes on after its JSON value")
	}
	values, ok := value.(map[string]any)
	if !ok {
		return object{}, wrongInput("The body must be a JSON object")
	}
	return object{values: values}, nil
}

func decodeForm(data []byte) (object, error) {
	values, err := url.ParseQuery(string(data))
	if err != nil {
		return object{}, wrongInput("The form cannot be read, percent-encode its names and values")
	}
	return nest(values)
}

func decodeMultipart(data []byte, boundary string) (object, error) {
	unreadable := wrongInput("The multipart form cannot be read")
	if boundary == "" {
		return object{}, unreadable
	}
	reader := multipart.NewReader(bytes.NewReader(data), boundary)
	values := make(url.Values)
	for {
		part, err := reader.NextPart()
		if err == io.EOF { //nolint:errorlint // wrapped it means that the last boundary is missing
			return nest(values)
		}
		if err != nil {
			return object{}, unreadable
		}
		if part.FileName() != "" {
			return object{}, wrongInput("The form field %q is a file, send its value", part.FormName())
		}
		value, err := io.ReadAll(part)
		if err != nil {
			return object{}, unreadable
		}
		values.Add(part.FormName(), string(value))
	}
}
