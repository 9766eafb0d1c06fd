package httpapi

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"linkledger/commands/hashes"
	"linkledger/queries/tagexpr"
)

// selection is the URLs that a call means by its parameters.
type selection struct {
	hashes []string      // each once; nil: not given
	tags   *tagexpr.Expr // nil: not given
}

// selection reads the parameters hashes and tags.
func (s *server) selection(query url.Values) (selection, error) {
	var chosen selection
	var err error
	for _, name := range []string{"hashes", "tags"} {
		if len(query[name]) > 1 { // half of a selection would be another
			return selection{}, wrongInput("%s is given more than once", name)
		}
	}
	if chosen.hashes, err = s.hashes(query.Get("hashes")); err != nil {
		return selection{}, err
	}
	if expression := query.Get("tags"); expression != "" {
		if chosen.tags, err = tagexpr.Parse(expression); err != nil {
			return selection{}, wrongInput("tags cannot be read %v", err)
		}
	}
	return chosen, nil
}

// hashes reads a list of hashes with commas between them.
func (s *server) hashes(list string) ([]string, error) {
	if list == "" {
		return nil, nil
	}
	chosen := []string{}
	for hash := range strings.SplitSeq(list, ",") {
		hash = strings.TrimSpace(hash)
		if hash == "" || slices.Contains(chosen, hash) {
			continue
		}
		if len(chosen) == s.cfg.GroupLimit { // before anything is looked at, however long the list
			return nil, s.batchLimit("more")
		}
		chosen = append(chosen, hash)
	}
	if len(chosen) == 0 {
		return nil, &apiError{code: codeMissingInput, details: "hashes names no hash"}
	}
	for _, hash := range chosen {
		if !hashes.Valid(hash) {
			return nil, invalidHash(hash)
		}
	}
	return chosen, nil
}

// chosen returns the URLs that a call changes. Unlike a list, it does not combine hashes and tags.
func (s *server) chosen(e *exchange) (selection, error) {
	query, err := parameters(e)
	if err != nil {
		return selection{}, err
	}
	chosen, err := s.selection(query)
	if err == nil && chosen.hashes != nil && chosen.tags != nil {
		err = wrongInput("Give either hashes or tags")
	}
	return chosen, err
}

func (s *server) batchLimit(got string) error {
	return &apiError{code: codeBatchLimit, details: fmt.Sprintf(
		"One call may carry %s, not %s", count(int64(s.cfg.GroupLimit), "URL"), got)}
}

func invalidHash(hash string) error {
	return &apiError{code: codeInvalidHash, details: fmt.Sprintf("A hash is 1 to 25 of the characters A-Z a-z 0-9 _ -, not %q", hash)}
}

// pathHash returns the hash that a path names. Selections by parameters have no place beside it.
func pathHash(e *exchange) (string, error) {
	hash := e.param("hash")
	if !hashes.Valid(hash) {
		return "", invalidHash(hash)
	}
	query, err := parameters(e)
	if err != nil {
		return "", err
	}
	if query.Get("hashes") != "" || query.Get("tags") != "" {
		return "", wrongInput("The path names one URL already, leave out hashes and tags")
	}
	return hash, nil
}

// parameters returns the parameters of a call.
func parameters(e *exchange) (url.Values, error) {
	query, err := url.ParseQuery(tidied(e.request.URL.RawQuery))
	if err != nil {
		return nil, wrongInput("The query string cannot be read, percent-encode its values")
	}
	return query, nil
}

// tidied makes a query string one that net/url reads as its client meant it. Clients of this API leave the operators ;
// and & of tag expressions as they are. Some use jQuery with the settings of their last call, which puts the JSON body of
// that call behind the parameters of a GET.
func tidied(raw string) string {
	var kept []string
	inTags := false
	for part := range strings.SplitSeq(strings.ReplaceAll(raw, ";", "%3B"), "&") {
		name, _, parameter := strings.Cut(part, "=")
		switch {
		case strings.HasPrefix(part, "{"): // no expression has a brace
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
