// Package selection reads from the path and the parameters of a call which URLs it selects, and
// which page of a list. It also finds out which of the URLs the key of the call sees.
package selection

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"linkledger/commands/access"
	"linkledger/commands/hashes"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/decode"
	"linkledger/httpapi/request"
	"linkledger/tagexpr"
	"linkledger/typed"
)

// URLs is a selection of URLs by parameters.
type URLs struct {
	Hashes []string      // distinct; nil: not given
	Tags   *tagexpr.Expr // nil: not given
}

// Read reads the parameters hashes and tags. limit is the most hashes. A caller who may not read
// clicks cannot select URLs by clicks, because the selection would reveal the clicks.
func Read(c *request.Context, query url.Values, limit int) (URLs, error) {
	var chosen URLs
	var err error
	for _, name := range []string{"hashes", "tags"} {
		if len(query[name]) > 1 { // one of the values would be ignored
			return URLs{}, apierror.WrongInput("%s is given more than once", name)
		}
	}
	if chosen.Hashes, err = readHashes(query.Get("hashes"), limit); err != nil {
		return URLs{}, err
	}
	if expression := query.Get("tags"); expression != "" {
		if chosen.Tags, err = tagexpr.Parse(expression); err != nil {
			return URLs{}, apierror.WrongInput("tags cannot be read %v", err)
		}
		// The effect of a change reveals which links match, so changes need links:read too.
		if err := apierror.Need(c.Scopes(), access.LinksRead); err != nil {
			return URLs{}, err
		}
		if chosen.Tags.DependsOnClicks() {
			if err := apierror.Need(c.Scopes(), access.StatsRead); err != nil {
				return URLs{}, err
			}
		}
	}
	return chosen, nil
}

// readHashes reads a list of hashes that are separated by commas. It returns nil if the list is
// empty.
func readHashes(list string, limit int) ([]string, error) {
	if list == "" {
		return nil, nil
	}
	chosen := []string{}
	for hash := range strings.SplitSeq(list, ",") {
		hash = typed.Trim(hash)
		if hash == "" || slices.Contains(chosen, hash) {
			continue
		}
		if len(chosen) == limit { // checked first, so that a long list costs little
			return nil, TooMany(limit, "more")
		}
		chosen = append(chosen, hash)
	}
	if len(chosen) == 0 {
		return nil, &apierror.Error{
			Code: apierror.CodeMissingInput, Details: "hashes names no hash",
		}
	}
	for _, hash := range chosen {
		if !hashes.Valid(hash) {
			return nil, invalidHash(hash)
		}
	}
	return chosen, nil
}

// ForChange returns the URLs that a call changes. It refuses a call with both hashes and tags. Only
// a call that lists URLs may have both.
func ForChange(c *request.Context, limit int) (URLs, error) {
	query, err := decode.Query(c)
	if err != nil {
		return URLs{}, err
	}
	chosen, err := Read(c, query, limit)
	if err == nil && chosen.Hashes != nil && chosen.Tags != nil {
		err = apierror.WrongInput("Give either hashes or tags")
	}
	return chosen, err
}

// TooMany returns the refusal of a call with more URLs than limit. got says in the message how many
// URLs the call has.
func TooMany(limit int, got string) error {
	most := apierror.Count(int64(limit), "URL")
	return &apierror.Error{
		Code:    apierror.CodeBatchLimit,
		Details: fmt.Sprintf("One call may carry %s, not %s", most, got),
	}
}

func invalidHash(hash string) error {
	return &apierror.Error{
		Code:    apierror.CodeInvalidHash,
		Details: fmt.Sprintf("A hash is 1 to 25 of the characters A-Z a-z 0-9 _ -, not %q", hash),
	}
}

// PathBatch returns the id of a batch in the path.
func PathBatch(c *request.Context) (uuid.UUID, error) {
	batch, err := uuid.Parse(c.Param("id"))
	if err != nil {
		return uuid.Nil, apierror.WrongInput(
			"The id of a batch is a UUID, not %q", c.Param("id"),
		)
	}
	return batch, nil
}

// PathHash returns the hash in the path. It refuses a call that also selects URLs by parameters.
func PathHash(c *request.Context) (string, error) {
	hash := c.Param("hash")
	if !hashes.Valid(hash) {
		return "", invalidHash(hash)
	}
	query, err := decode.Query(c)
	if err != nil {
		return "", err
	}
	if query.Get("hashes") != "" || query.Get("tags") != "" {
		return "", apierror.WrongInput("The path names one URL already, leave out hashes and tags")
	}
	return hash, nil
}
