package commands

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/google/uuid"

	"linkledger/commands/domain"
	"linkledger/events"
	"linkledger/events/eventstore"
)

// KeyCall binds an idempotency key to the content of one call, forever. name is the key. KeyCall
// returns nil for the first call of the account with the key and for repeats of that call. It
// refuses a call with other content with KeyReused. The first event in the key's stream decides, so
// the binding holds on all nodes and after restarts.
//
// The log has only hashes of the key and the content. The hash of the content is an HMAC with the
// idempotency key as its key. So nobody without the key can check a guess of an erased note against
// the stored hash.
func (h *Handler) KeyCall(
	ctx context.Context, r domain.Request, name string, content []byte,
) error {
	of := sha256.Sum256([]byte(r.Account + "\n" + name))
	stream := events.StreamCall + r.Account + "-" + hex.EncodeToString(of[:])
	mac := hmac.New(sha256.New, []byte(name))
	mac.Write(content)
	keyed := events.CallKeyed{
		Account: r.Account, Digest: hex.EncodeToString(mac.Sum(nil)), At: h.streams.Now(),
	}
	// The event id depends on the content. Otherwise the event store would take a call with other
	// content for a repeat.
	r.Command = uuid.NewSHA1(r.Command, []byte(keyed.Digest))
	_, err := h.streams.Append(ctx, r, stream, eventstore.NoStream, keyed)
	if !errors.Is(err, eventstore.ErrWrongRevision) {
		return err
	}
	// A first event that cannot be decoded counts as an event of another call.
	loaded, err := h.streams.LoadReadable(ctx, stream)
	if err != nil {
		return err
	}
	if len(loaded.Events) > 0 {
		if first, ok := loaded.Events[0].(events.CallKeyed); ok &&
			hmac.Equal([]byte(first.Digest), []byte(keyed.Digest)) {
			return nil
		}
	}
	return domain.Refuse(
		domain.KeyReused,
		"Another call has used this Idempotency-Key: choose a new one for each call, and repeat "+
			"a call with the same method, path and body",
	)
}
