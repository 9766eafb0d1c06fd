package events

import "time"

// StreamWebhooks prefixes the stream of all webhooks of one account: webhooks-<account id>. One
// stream has them all, so that their number is limited exactly and a list needs no read model.
const StreamWebhooks = "webhooks-"

// WebhookTerms say what a webhook gets. A webhook with zero WebhookTerms gets all events.
type WebhookTerms struct {
	// Kinds are the kinds of events that it gets, such as link.created. Empty: all.
	Kinds []string `json:"kinds,omitempty"`
	// Tags is a tag expression. The webhook gets events of the links that match. Empty: of all.
	Tags string `json:"tags,omitempty"`
	// Links are the links whose events it gets. Empty: all.
	Links []WebhookLink `json:"links,omitempty"`
	// Format is the form of its payloads: FormatTinyCC, or empty for the form of the API.
	Format string `json:"format,omitempty"`
}

// FormatTinyCC is the form in which tiny.cc's webhook sends clicks.
const FormatTinyCC = "tinycc"

// WebhookLink is a link of WebhookTerms. Hash is the hash that the link had when it was named.
type WebhookLink struct {
	ID   string `json:"id"`
	Hash string `json:"hash"`
}

// WebhookTarget is where a webhook sends to, and its secrets. The events of webhooks store it only
// sealed.
type WebhookTarget struct {
	URL    string `json:"url"`
	Secret string `json:"secret"` // of the signatures v1: whsec_…, as Standard Webhooks has it
	Key    string `json:"key"`    // private Ed25519 key of the signatures v1a: whsk_…
	// FormerSecret and FormerKey also sign until FormerUntil. They are empty if the secrets have
	// never been rotated.
	FormerSecret string    `json:"former_secret,omitempty"`
	FormerKey    string    `json:"former_key,omitempty"`
	FormerUntil  time.Time `json:"former_until,omitzero"`
}

// WebhookAdded adds a webhook to the account.
type WebhookAdded struct {
	WebhookID string `json:"webhook_id"`
	Account   string `json:"account"`
	WebhookTerms
	// Base is the address of the short links in payloads, such as https://sho.rt.
	Base string `json:"base"`
	// Target is stored only in Sealed, encrypted with the key of the account.
	Target WebhookTarget `json:"-"`
	Sealed *Sealed       `json:"sealed"`
	At     time.Time     `json:"at"`
}

// EventType implements Event.
func (WebhookAdded) EventType() string { return "webhook.added.v1" }

// WebhookChanged replaces the terms and the target of a webhook.
type WebhookChanged struct {
	WebhookID string `json:"webhook_id"`
	WebhookTerms
	Target WebhookTarget `json:"-"` // as in WebhookAdded
	Sealed *Sealed       `json:"sealed"`
	At     time.Time     `json:"at"`
}

// EventType implements Event.
func (WebhookChanged) EventType() string { return "webhook.changed.v1" }

// WebhookSecretRotated gives a webhook new secrets.
type WebhookSecretRotated struct {
	WebhookID string        `json:"webhook_id"`
	Target    WebhookTarget `json:"-"` // as in WebhookAdded
	Sealed    *Sealed       `json:"sealed"`
	At        time.Time     `json:"at"`
}

// EventType implements Event.
func (WebhookSecretRotated) EventType() string { return "webhook.secret_rotated.v1" }

// WebhookSuspended ends the deliveries to a webhook until WebhookResumed.
type WebhookSuspended struct {
	WebhookID string    `json:"webhook_id"`
	Reason    string    `json:"reason"` // for people
	At        time.Time `json:"at"`
}

// EventType implements Event.
func (WebhookSuspended) EventType() string { return "webhook.suspended.v1" }

// WebhookResumed begins the deliveries to a suspended webhook again.
type WebhookResumed struct {
	WebhookID string    `json:"webhook_id"`
	At        time.Time `json:"at"`
}

// EventType implements Event.
func (WebhookResumed) EventType() string { return "webhook.resumed.v1" }

// WebhookRemoved removes a webhook for ever.
type WebhookRemoved struct {
	WebhookID string    `json:"webhook_id"`
	At        time.Time `json:"at"`
}

// EventType implements Event.
func (WebhookRemoved) EventType() string { return "webhook.removed.v1" }
