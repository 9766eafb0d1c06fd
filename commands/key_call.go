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

// KeyCall gives a name that the client has chosen to one call, for ever: it returns nil for the
// first call of the account under the name and for its repeats, and refuses another content with
// KeyReused. The first append of the name's stream decides, so nodes and restarts make no
// difference. Hashes of the name and the content are stored. The name keys that of the content:
// without the name, a guess at a note that was erased can't be checked against it.
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
	// or the event store took another content for a repeat
	r.Command = uuid.NewSHA1(r.Command, []byte(keyed.Digest))
	_, err := h.streams.Append(ctx, r, stream, eventstore.NoStream, keyed)
	if !errors.Is(err, eventstore.ErrWrongRevision) {
		return err
	}
	loaded, err := h.streams.Load(ctx, stream)
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
		"This Idempotency-Key is that of another call: choose a new one for each call, and repeat "+
			"a call with the same method, path and body",
	)
}
