package webhooks

// This file delivers payloads.

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"linkledger/commands/webhooks"
	"linkledger/effects/outbox"
	"linkledger/events"
)

// maxShown is how many bytes of an answer are kept, for people.
const maxShown = 500

// deliverer delivers payloads to webhooks.
type deliverer struct{ cfg Config }

// deliver makes one attempt to deliver a payload. A status from 200 to 299 means that it was
// delivered. Status 410 means that the receiver wants no more.
func (d deliverer) deliver(
	ctx context.Context, to outbox.Receiver, m outbox.Message,
) outbox.Outcome {
	target, err := d.target(ctx, to)
	if err != nil {
		d.cfg.Logger.WarnContext(ctx, "the target of a webhook cannot be read",
			slog.String("webhook", to.ID.String()), slog.Any("error", err))
		return outbox.Outcome{Answer: "the target cannot be read"}
	}
	if !d.cfg.Streams.Now().Before(target.FormerUntil) {
		target.FormerSecret = "" // it signs no more
	}
	header, err := sign(target, m.ID.String(), time.Now(), m.Body)
	if err != nil {
		return outbox.Outcome{Answer: "the payload cannot be signed"}
	}
	answer, err := d.cfg.Client.Post(ctx, target.URL, header, m.Body)
	if err != nil {
		return outbox.Outcome{Answer: err.Error()}
	}
	outcome := outbox.Outcome{
		Delivered: answer.Status >= 200 && answer.Status <= 299,
		Status:    answer.Status, Answer: shown(answer.Body),
	}
	if answer.Status == http.StatusGone {
		outcome.End = "it answered 410, which means that it is gone"
	}
	return outcome
}

// target opens the sealed target of a webhook.
func (d deliverer) target(
	ctx context.Context, of outbox.Receiver,
) (events.WebhookTarget, error) {
	w, err := webhookOf(of)
	if err != nil {
		return events.WebhookTarget{}, err
	}
	opened, err := d.cfg.Streams.Open(
		ctx, events.WebhookChanged{Sealed: w.Sealed}, events.StreamWebhooks+w.Account,
	)
	if err != nil {
		return events.WebhookTarget{}, err
	}
	changed, _ := opened.(events.WebhookChanged)
	return changed.Target, nil
}

// sign returns the header of a delivery at a time, with a signature by each secret.
func sign(
	target events.WebhookTarget, id string, at time.Time, body []byte,
) (http.Header, error) {
	secrets, keys := []string{target.Secret}, []string{target.Key}
	if target.FormerSecret != "" {
		secrets, keys = append(secrets, target.FormerSecret), append(keys, target.FormerKey)
	}
	var signatures []string
	for _, secret := range secrets {
		signer, err := standard.NewWebhook(secret)
		if err != nil {
			return nil, fmt.Errorf("secret of the webhook: %w", err)
		}
		signature, err := signer.Sign(id, at, body)
		if err != nil {
			return nil, fmt.Errorf("sign the payload: %w", err)
		}
		signatures = append(signatures, signature)
	}
	timestamp := strconv.FormatInt(at.Unix(), 10)
	signed := bytes.Join([][]byte{[]byte(id), []byte(timestamp), body}, []byte("."))
	for _, text := range keys {
		key, err := webhooks.PrivateKey(text)
		if err != nil {
			return nil, err
		}
		signatures = append(
			signatures, "v1a,"+base64.StdEncoding.EncodeToString(ed25519.Sign(key, signed)),
		)
	}
	header := make(http.Header)
	header.Set("Content-Type", "application/json")
	header.Set(standard.HeaderWebhookID, id)
	header.Set(standard.HeaderWebhookTimestamp, timestamp)
	header.Set(standard.HeaderWebhookSignature, strings.Join(signatures, " "))
	return header, nil
}

// shown returns the beginning of an answer as a text that PostgreSQL can store and people can read.
func shown(answer []byte) string {
	text := strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, string(answer[:min(len(answer), maxShown)]))
	return strings.TrimSpace(text)
}
