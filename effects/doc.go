// Package effects does what follows from events outside of the database, once: deliveries to
// webhooks, mails, checks of destinations. A projection builds tables and may be built anew. An
// effect has happened, so nothing here is ever built anew: rebuilds, rollbacks and verifications of
// projections do not touch it.
//
// A follower reads the log, and writes what is to be done into an outbox, in the transaction that
// moves its checkpoint. Of all processes one is its owner: see docs/decisions/effects.md.
// Package dispatch takes messages from the outbox in every process, and delivers them with retries.
//
// To add an effect, make an Effect and run it in internal/app. Package webhooks is an example.
package effects
