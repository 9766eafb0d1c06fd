package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"

	"github.com/google/uuid"

	"linkledger/commands/destination"
	"linkledger/commands/domain"
	"linkledger/queries/progress"
)

// The projections that writers and readers wait for.
const (
	projectionLinks      = "links"
	projectionAccounts   = "accounts"
	projectionTags       = "tags"
	projectionHistory    = "history"
	projectionDimensions = "dimensions"
)

const (
	// headerBatchID tells by which id a write can be undone.
	headerBatchID = "X-Batch-Id"
	// headerPosition tells where a write is in the log.
	headerPosition = "X-Event-Position"
	// headerIdempotencyKey names a call that may be repeated.
	headerIdempotencyKey = "Idempotency-Key"
)

// idempotencyKeys are the values of Idempotency-Key: 1 to 255 visible ASCII characters.
var idempotencyKeys = regexp.MustCompile(`^[!-~]{1,255}$`)

// writeRequest returns what goes with the commands of a call, and tells the client by which id they can be undone. It is called
// when the body has been read. Calls of one account that carry the same Idempotency-Key are the same command, and have to
// be the same call.
func (s *server) writeRequest(e *exchange) (domain.Request, error) {
	request := domain.Request{
		Account: e.account.ID.String(),
		Key:     e.account.KeyID,
		Address: s.pseudonyms.of(s.clientAddress(e.request)),
		ID:      e.id,
		Command: uuid.New(),
		Plan:    s.plan(e),
	}
	if s.cfg.BaseURL == "" {
		// A host that no link can lead to makes no loop.
		request.ShortHost, _ = destination.ShortHost(s.baseURL(e))
	}
	key := e.request.Header.Get(headerIdempotencyKey)
	if key != "" {
		if !idempotencyKeys.MatchString(key) {
			return domain.Request{}, wrongInput("The Idempotency-Key header must have 1 to 255 visible ASCII characters")
		}
		request.Command = uuid.NewSHA1(e.account.ID, []byte(e.request.Method+"\n"+e.request.URL.Path+"\n"+key))
		request.Repeated = true
	}
	request.Batch = request.Command.String()
	if request.Repeated {
		content, err := contentOf(e)
		if err != nil {
			return domain.Request{}, err
		}
		if err := s.cfg.Commands.KeyCall(e.context(), request, key, content); err != nil {
			return domain.Request{}, err
		}
	}
	e.Header().Set(headerBatchID, request.Batch)
	return request, nil
}

// contentOf is what makes two calls the same: method, path, parameters, and the payload in whatever encoding its client
// repeats it. A multipart body has another boundary each time.
func contentOf(e *exchange) ([]byte, error) {
	query, err := parameters(e)
	if err != nil {
		return nil, err
	}
	content, err := json.Marshal([]any{e.request.Method, e.request.URL.Path, query.Encode(), e.payload})
	if err != nil {
		return nil, fmt.Errorf("content of the call: %w", err)
	}
	return content, nil
}

// written says how far the log has to be read to see a write. Zero: nothing to see.
type written struct {
	urls, tags uint64 // commit positions
}

// settle tells the client where its write is in the log, and returns when the read models show it, or when that takes
// too long: the write is done either way.
func (s *server) settle(e *exchange, w written) {
	last := max(w.urls, w.tags)
	if last == 0 {
		return
	}
	e.Header().Set(headerPosition, strconv.FormatUint(last, 10))
	ctx, cancel := context.WithTimeout(e.context(), s.cfg.WaitTimeout)
	defer cancel()
	for _, target := range []struct {
		projection string
		position   uint64
	}{{projectionLinks, w.urls}, {projectionTags, w.tags}} {
		if target.position == 0 {
			continue
		}
		err := s.cfg.Wait(ctx, target.projection, target.position)
		if err != nil && !errors.Is(err, progress.ErrUnowned) { // which is logged once, not by each call
			s.cfg.Logger.WarnContext(e.context(), "write answered before the read models show it",
				slog.String("request", e.id), slog.String("projection", target.projection),
				slog.Uint64("position", target.position), slog.Any("error", err))
		}
	}
}

// awaitClicks returns when a projection shows the redirects that this node has answered so far, or when that takes too
// long: a client that follows a link and asks for its clicks finds the one that just was. Calls whose answers depend on
// clicks wait, each once; the others don't.
func (s *server) awaitClicks(e *exchange, projection string) {
	if s.cfg.Clicks == nil || s.cfg.Clicks.Position() == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(e.context(), s.cfg.WaitTimeout)
	defer cancel()
	err := s.cfg.Demand(ctx, projection, s.cfg.Clicks.Position())
	if err != nil && !errors.Is(err, progress.ErrUnowned) {
		s.cfg.Logger.WarnContext(e.context(), "read answered before the read models show all clicks",
			slog.String("request", e.id), slog.String("projection", projection), slog.Any("error", err))
	}
}
