// Package webhooks is the effect that delivers events to webhooks. Its plan decides from the events
// of the log which webhooks get which payloads. It knows nothing of read models, so a payload is
// the same however far these are. Deliveries are signed by Standard Webhooks 1.0
// (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md).
package webhooks
