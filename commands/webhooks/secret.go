package webhooks

// This file makes the secrets of webhooks, in the forms of Standard Webhooks 1.0.

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"strings"
	"time"

	"linkledger/events"
)

// Overlap is how long the former secrets of a webhook sign too after they were rotated.
const Overlap = 24 * time.Hour

const (
	secretPrefix  = "whsec_"
	privatePrefix = "whsk_"
	publicPrefix  = "whpk_"
	secretSize    = 32
)

// withSecrets returns a target with new secrets.
func withSecrets(target events.WebhookTarget) events.WebhookTarget {
	secret, seed := make([]byte, secretSize), make([]byte, ed25519.SeedSize)
	_, _ = rand.Read(secret) // never fails
	_, _ = rand.Read(seed)   // never fails
	target.Secret = secretPrefix + base64.StdEncoding.EncodeToString(secret)
	target.Key = privatePrefix + base64.StdEncoding.EncodeToString(seed)
	return target
}

// rotated returns a target with new secrets, whose present ones sign until a time.
func rotated(target events.WebhookTarget, until time.Time) events.WebhookTarget {
	target.FormerSecret, target.FormerKey, target.FormerUntil = target.Secret, target.Key, until
	return withSecrets(target)
}

var errKey = errors.New("the key of the webhook is damaged")

// PrivateKey returns the Ed25519 key of a text that begins with whsk_.
func PrivateKey(text string) (ed25519.PrivateKey, error) {
	encoded, ok := strings.CutPrefix(text, privatePrefix)
	seed, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(seed) != ed25519.SeedSize {
		return nil, errKey
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// PublicKey returns the public key of a private one, in the form whpk_…. Receivers verify the
// signatures v1a with it. It is empty if the private key cannot be read.
func PublicKey(private string) string {
	key, err := PrivateKey(private)
	if err != nil {
		return ""
	}
	public, _ := key.Public().(ed25519.PublicKey)
	return publicPrefix + base64.StdEncoding.EncodeToString(public)
}
