// Package write has what all writing calls share. It makes the domain.Request of their commands,
// with the idempotency key, and judges the outcomes of a batch.
package write

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/google/uuid"

	"linkledger/commands"
	"linkledger/commands/destination"
	"linkledger/commands/domain"
	"linkledger/events"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/decode"
	"linkledger/httpapi/peer"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/shortlink"
)

// idempotencyKeys are the values of Idempotency-Key: 1 to 255 visible ASCII characters.
var idempotencyKeys = regexp.MustCompile(`^[!-~]{1,255}$`)

// Requests builds the requests of commands.
type Requests struct {
	Commands   *commands.Handler
	Plans      map[string]domain.Plan // by name
	Pseudonyms *peer.Pseudonyms       // of the addresses of callers
	Proxies    peer.Proxies
	Base       shortlink.Base
}

// Begin returns the request for the commands of a call. It also sets the header with the id of
// their batch, by which they can be undone. The body MUST have been read before, because it is part
// of the call's identity. Calls of one account with the same Idempotency-Key are one command. Begin
// refuses a later call with the key if its content differs.
func (q *Requests) Begin(c *request.Context) (domain.Request, error) {
	r := domain.Request{
		Account: c.Account.ID.String(),
		Key:     c.Key.ID,
		Address: q.Pseudonyms.Of(q.Proxies.ClientAddress(c.Request)),
		ID:      c.ID,
		Command: uuid.New(),
		Plan:    q.Plans[c.Account.Plan],
		Bound:   c.Bound,
	}
	if q.Base == "" {
		// The host is for the check that links do not redirect to short links. An error means that
		// no link can lead to the host, so there is nothing to check.
		r.ShortHost, _ = destination.ShortHost(q.Base.Of(c.Request))
	}
	if c.Session.ID != uuid.Nil {
		r.Via = events.ViaConsole
	}
	if c.Session.User != uuid.Nil {
		r.User = c.Session.User.String()
	}
	key := c.Request.Header.Get(request.HeaderIdempotencyKey)
	if key != "" {
		if !idempotencyKeys.MatchString(key) {
			return domain.Request{}, apierror.WrongInput(
				"The Idempotency-Key header must have 1 to 255 visible ASCII characters",
			)
		}
		if c.Bound != nil { // calls of other API keys may have created links hidden from this key
			key = c.Key.ID + " " + key
		}
		r.Command = uuid.NewSHA1(
			c.Account.ID, []byte(c.Request.Method+"\n"+c.Request.URL.Path+"\n"+key),
		)
		r.Repeated = true
	}
	r.Batch = r.Command.String()
	if r.Repeated {
		content, err := contentOf(c)
		if err != nil {
			return domain.Request{}, err
		}
		if err := q.Commands.KeyCall(c.Context(), r, key, content); err != nil {
			return domain.Request{}, err
		}
	}
	c.Header().Set(response.HeaderBatchID, r.Batch)
	return r, nil
}

// contentOf returns what all calls with the same idempotency key MUST have in common: method, path,
// parameters and decoded payload. The payload is decoded because a multipart body has another
// boundary each time.
func contentOf(c *request.Context) ([]byte, error) {
	query, err := decode.Query(c)
	if err != nil {
		return nil, err
	}
	content, err := json.Marshal(
		[]any{c.Request.Method, c.Request.URL.Path, query.Encode(), c.Payload},
	)
	if err != nil {
		return nil, fmt.Errorf("content of the call: %w", err)
	}
	return content, nil
}
