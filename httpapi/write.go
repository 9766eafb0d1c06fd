package httpapi

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/google/uuid"

	"linkledger/commands"
	"linkledger/commands/domain"
)

// idempotencyKeys are the values of Idempotency-Key: 1 to 255 visible ASCII characters.
var idempotencyKeys = regexp.MustCompile(`^[!-~]{1,255}$`)

// writeRequests makes the requests that go with commands.
type writeRequests struct {
	Commands   *commands.Handler
	Plans      map[string]domain.Plan // by name
	Pseudonyms *pseudonyms            // of the addresses of callers
	Proxies    proxies
	Base       shortBase
}

// begin returns what goes with the commands of a call, and tells the client by which id they can be undone. It is called
// when the body has been read. Calls of one account that carry the same Idempotency-Key are the same command, and have to
// be the same call.
func (q *writeRequests) begin(c *exchange) (domain.Request, error) {
	r := domain.Request{
		Account: c.account.ID.String(),
		Key:     c.account.KeyID,
		Address: q.Pseudonyms.of(q.Proxies.clientAddress(c.request)),
		ID:      c.id,
		Command: uuid.New(),
		Plan:    q.Plans[c.account.Plan],
	}
	if q.Base == "" {
		// A host that no link can lead to makes no loop.
		r.ShortHost, _ = commands.ShortHost(q.Base.of(c.request))
	}
	key := c.request.Header.Get(headerIdempotencyKey)
	if key != "" {
		if !idempotencyKeys.MatchString(key) {
			return domain.Request{}, wrongInput("The Idempotency-Key header must have 1 to 255 visible ASCII characters")
		}
		r.Command = uuid.NewSHA1(c.account.ID, []byte(c.request.Method+"\n"+c.request.URL.Path+"\n"+key))
		r.Repeated = true
	}
	r.Batch = r.Command.String()
	if r.Repeated {
		content, err := contentOf(c)
		if err != nil {
			return domain.Request{}, err
		}
		if err := q.Commands.KeyCall(c.context(), r, key, content); err != nil {
			return domain.Request{}, err
		}
	}
	c.Header().Set(headerBatchID, r.Batch)
	return r, nil
}

// contentOf is what makes two calls the same: method, path, parameters, and the payload in whatever encoding its client
// repeats it. A multipart body has another boundary each time.
func contentOf(c *exchange) ([]byte, error) {
	query, err := parameters(c)
	if err != nil {
		return nil, err
	}
	content, err := json.Marshal([]any{c.request.Method, c.request.URL.Path, query.Encode(), c.payload})
	if err != nil {
		return nil, fmt.Errorf("content of the call: %w", err)
	}
	return content, nil
}
