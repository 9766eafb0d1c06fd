package openid

import (
	"fmt"
	"net/url"
)

// callback is the answer of the issuer, as the browser brings it.
type callback struct{ state, issuer, code, failure string }

// parseCallback reads the parameters of a callback. Each occurs at most once, as OAuth requires.
func parseCallback(query string) (callback, error) {
	parameters, err := url.ParseQuery(query)
	if err != nil {
		return callback{}, fmt.Errorf("%w: the query of the callback is malformed", ErrInvalid)
	}
	for _, name := range []string{"state", "iss", "code", "error"} {
		if len(parameters[name]) > 1 {
			return callback{}, fmt.Errorf("%w: the callback repeats %s", ErrInvalid, name)
		}
	}
	return callback{
		state: parameters.Get("state"), issuer: parameters.Get("iss"),
		code: parameters.Get("code"), failure: parameters.Get("error"),
	}, nil
}

// accept returns the code, or an error if the callback comes from another issuer (RFC 9207) or says
// that the sign-in has failed. named says whether the issuer names itself in every callback.
func (c callback) accept(expected string, named bool) (code string, err error) {
	if (named || c.issuer != "") && c.issuer != expected {
		return "", fmt.Errorf("%w: the callback comes from another issuer", ErrInvalid)
	}
	switch c.failure {
	case "":
	case "server_error", "temporarily_unavailable":
		return "", &FailedError{c.failure}
	default:
		return "", &RefusedError{cleanCode(c.failure)}
	}
	if c.code == "" {
		return "", fmt.Errorf("%w: the callback has no code", ErrInvalid)
	}
	return c.code, nil
}
