package httpapi

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"linkledger/commands"
	"linkledger/queries/tagexpr"
)

// selection is the URLs that a call means by its parameters.
type selection struct {
	hashes []string      // each once; nil: not given
	tags   *tagexpr.Expr // nil: not given
}

// readSelection reads the parameters hashes and tags.
func readSelection(query url.Values, limit int) (selection, error) {
	var chosen selection
	var err error
	for _, name := range []string{"hashes", "tags"} {
		if len(query[name]) > 1 { // half of a selection would be another
			return selection{}, wrongInput("%s is given more than once", name)
		}
	}
	if chosen.hashes, err = readHashes(query.Get("hashes"), limit); err != nil {
		return selection{}, err
	}
	if expression := query.Get("tags"); expression != "" {
		if chosen.tags, err = tagexpr.Parse(expression); err != nil {
			return selection{}, wrongInput("tags cannot be read %v", err)
		}
	}
	return chosen, nil
}

// readHashes reads a list of hashes with commas between them.
func readHashes(list string, limit int) ([]string, error) {
	if list == "" {
		return nil, nil
	}
	hashes := []string{}
	for hash := range strings.SplitSeq(list, ",") {
		hash = strings.TrimSpace(hash)
		if hash == "" || slices.Contains(hashes, hash) {
			continue
		}
		if len(hashes) == limit { // before anything is looked at, however long the list
			return nil, errBatchLimit(limit, "more")
		}
		hashes = append(hashes, hash)
	}
	if len(hashes) == 0 {
		return nil, &apiError{code: codeMissingInput, details: "hashes names no hash"}
	}
	for _, hash := range hashes {
		if !commands.ValidHash(hash) {
			return nil, invalidHash(hash)
		}
	}
	return hashes, nil
}

// chosenURLs returns the URLs that a call changes. Unlike a list, it does not combine hashes and tags.
func chosenURLs(c *exchange, limit int) (selection, error) {
	query, err := parameters(c)
	if err != nil {
		return selection{}, err
	}
	chosen, err := readSelection(query, limit)
	if err == nil && chosen.hashes != nil && chosen.tags != nil {
		err = wrongInput("Give either hashes or tags")
	}
	return chosen, err
}

// errBatchLimit refuses a call that carries more URLs than it may.
func errBatchLimit(limit int, got string) error {
	return &apiError{code: codeBatchLimit, details: fmt.Sprintf(
		"One call may carry %s, not %s", count(int64(limit), "URL"), got)}
}

func invalidHash(hash string) error {
	return &apiError{code: codeInvalidHash, details: fmt.Sprintf("A hash is 1 to 25 of the characters A-Z a-z 0-9 _ -, not %q", hash)}
}

// pathHash returns the hash that a path names. Selections by parameters have no place beside it.
func pathHash(c *exchange) (string, error) {
	hash := c.param("hash")
	if !commands.ValidHash(hash) {
		return "", invalidHash(hash)
	}
	query, err := parameters(c)
	if err != nil {
		return "", err
	}
	if query.Get("hashes") != "" || query.Get("tags") != "" {
		return "", wrongInput("The path names one URL already, leave out hashes and tags")
	}
	return hash, nil
}
