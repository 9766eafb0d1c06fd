package httpapi

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"linkledger/commands"
)

// selection is the URLs that a call means by its parameters.
type selection struct {
	hashes []string // each once; nil: not given
}

// selection reads the parameter hashes: hashes with commas between them, percent-encoded or not.
func (s *server) selection(query url.Values) (selection, error) {
	list := query.Get("hashes")
	if list == "" {
		return selection{}, nil
	}
	hashes := []string{}
	for hash := range strings.SplitSeq(list, ",") {
		hash = strings.TrimSpace(hash)
		if hash == "" || slices.Contains(hashes, hash) {
			continue
		}
		if len(hashes) == s.cfg.GroupLimit { // before anything is looked at, however long the list
			return selection{}, s.batchLimit("more")
		}
		hashes = append(hashes, hash)
	}
	if len(hashes) == 0 {
		return selection{}, &apiError{code: codeMissingInput, details: "hashes names no hash"}
	}
	for _, hash := range hashes {
		if !commands.ValidHash(hash) {
			return selection{}, invalidHash(hash)
		}
	}
	return selection{hashes: hashes}, nil
}

// selected returns the URLs that a call changes, which it has to name.
func (s *server) selected(e *exchange) (selection, error) {
	query, err := parameters(e, "tags")
	if err != nil {
		return selection{}, err
	}
	chosen, err := s.selection(query)
	if err != nil {
		return selection{}, err
	}
	if chosen.hashes == nil {
		return selection{}, &apiError{code: codeMissingInput, details: "Say which URLs are meant with the parameter hashes"}
	}
	return chosen, nil
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
	if !commands.ValidHash(hash) {
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

// parameters returns the parameters of a call. It refuses those that the contract has and this version does not serve:
// ignoring them would answer another question than the one that was asked.
func parameters(e *exchange, unserved ...string) (url.Values, error) {
	// To net/url a raw semicolon is an error.
	query, err := url.ParseQuery(strings.ReplaceAll(e.request.URL.RawQuery, ";", "%3B"))
	if err != nil {
		return nil, wrongInput("The query string cannot be read, percent-encode its values")
	}
	for _, name := range unserved {
		if query.Get(name) != "" {
			return nil, unsupported(name)
		}
	}
	return query, nil
}

func unsupported(parameter string) error {
	return wrongInput("This version does not support the parameter %s yet", parameter)
}
