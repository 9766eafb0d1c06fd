package decode

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/request"
)

// Query returns the parameters of the query string.
func Query(c *request.Context) (url.Values, error) {
	query, err := url.ParseQuery(repaired(c.Request.URL.RawQuery))
	if err != nil {
		return nil, apierror.WrongInput(
			"The query string cannot be read, percent-encode its values",
		)
	}
	return query, nil
}

// Number sets *into to a numeric parameter, if the query has the parameter. A number that does not
// fit an int becomes the nearest int, because it exceeds the length of every list anyway.
func Number(query url.Values, name string, into *int) error {
	text := query.Get(name)
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return apierror.WrongInput("%s must be a number, not %q", name, text)
	}
	*into = n
	return nil
}

// Date sets *into to a parameter that is a calendar date, if the query has the parameter.
func Date(query url.Values, name string, into *time.Time) error {
	text := query.Get(name)
	if text == "" {
		return nil
	}
	var err error
	// PostgreSQL has no year 0.
	if *into, err = time.Parse(time.DateOnly, text); err != nil || into.Year() < 1 {
		return &apierror.Error{
			Code:    apierror.CodeInvalidDate,
			Details: name + " must be a calendar date in the form YYYY-MM-DD",
		}
	}
	return nil
}

// Time returns a parameter that is a time in RFC 3339 or a calendar date. A calendar date means the
// beginning of the day in UTC. If the query lacks the parameter, Time returns the zero time.
func Time(query url.Values, name string) (time.Time, error) {
	text := query.Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	// A + that the client has not escaped arrives as a space.
	at, err := time.Parse(time.RFC3339Nano, strings.Replace(text, " ", "+", 1))
	if err != nil {
		at, err = time.Parse(time.DateOnly, text)
	}
	at = at.UTC()
	// PostgreSQL has no year 0, and JSON none after 9999.
	if err != nil || at.IsZero() || at.Year() < 1 || at.Year() > 9999 {
		return time.Time{}, &apierror.Error{
			Code: apierror.CodeInvalidDate,
			Details: name + " must be a time as 2026-01-31T12:00:00Z, or a day, which means its " +
				"beginning",
		}
	}
	return at, nil
}

// repaired returns a query string that net/url reads as the client meant it. Clients of this API do
// not escape the operators ; and & of tag expressions. Some use jQuery with the settings of their
// previous call, which appends the JSON body of that call to the parameters of a GET.
func repaired(raw string) string {
	var kept []string
	inTags := false
	for part := range strings.SplitSeq(strings.ReplaceAll(raw, ";", "%3B"), "&") {
		name, _, parameter := strings.Cut(part, "=")
		switch {
		case strings.HasPrefix(part, "{"): // a JSON body: tag expressions have no braces
			return strings.Join(kept, "&")
		case parameter:
			name, err := url.QueryUnescape(name)
			inTags = err == nil && name == "tags"
			kept = append(kept, part)
		case inTags && part != "":
			kept[len(kept)-1] += "%26" + part
		}
	}
	return strings.Join(kept, "&")
}
