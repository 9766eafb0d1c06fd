package contract

import "time"

// WebhooksAnswer has webhooks.
type WebhooksAnswer struct {
	Envelope
	Webhooks []Webhook `json:"webhooks"`
}

// Webhook is a webhook of the account. Its secret is there only if it was just made.
type Webhook struct {
	ID          string     `json:"id"`
	URL         string     `json:"url"`
	Kinds       []string   `json:"kinds"`        // null: all
	Tags        *string    `json:"tags"`         // null: all URLs
	URLs        []string   `json:"urls"`         // hashes when they were named; null: all URLs
	Format      string     `json:"format"`       // empty, or tinycc
	Suspended   *string    `json:"suspended"`    // why nothing is delivered; null: it is
	SuspendedAt *Timestamp `json:"suspended_at"` // null: it is not suspended
	CreatedAt   Timestamp  `json:"created_at"`
	ModifiedAt  Timestamp  `json:"modified_at"`
	PublicKey   string     `json:"public_key"` // verifies the signatures v1a
	Secret      string     `json:"secret,omitempty"`
}

// WebhookPayload is the body of calls that write a webhook. A field that is left out stays
// unchanged.
type WebhookPayload struct {
	URL    string   `json:"url,omitempty"`
	Kinds  []string `json:"kinds,omitempty"`
	Tags   string   `json:"tags,omitempty"`
	URLs   []string `json:"urls,omitempty"`
	Format string   `json:"format,omitempty"`
}

// DeliveriesAnswer has a page of the deliveries of a webhook, newest first.
type DeliveriesAnswer struct {
	Envelope
	Deliveries []Delivery `json:"deliveries"`
	Page       Page       `json:"page"`
}

// Delivery is a payload that a webhook has got, or will get.
type Delivery struct {
	ID       string     `json:"id"` // the webhook-id of all attempts
	Type     string     `json:"type"`
	Time     time.Time  `json:"time"`  // of the event
	State    string     `json:"state"` // waiting, delivered or failed
	Attempts int        `json:"attempts"`
	LastTry  *Timestamp `json:"last_try"` // null: none yet
	Status   int        `json:"status"`   // of the last answer; 0: there was none
	Answer   string     `json:"answer"`   // its beginning, or why there was none
}

// RedeliveryPayload selects the deliveries to make again: one by its id, all that have failed, or
// all since a time.
type RedeliveryPayload struct {
	ID     string `json:"id,omitempty"`
	Failed bool   `json:"failed,omitempty"`
	Since  string `json:"since,omitempty"`
}

// RedeliveryAnswer says how many deliveries will be made again.
type RedeliveryAnswer struct {
	Envelope
	Redelivered int64 `json:"redelivered"`
}

// TestDeliveryAnswer says what came of a test delivery.
type TestDeliveryAnswer struct {
	Envelope
	Delivery TestDelivery `json:"delivery"`
}

// TestDelivery is what came of a test delivery.
type TestDelivery struct {
	Delivered bool   `json:"delivered"`
	Status    int    `json:"status"` // of the answer; 0: there was none
	Answer    string `json:"answer"` // its beginning, or why there was none
}
