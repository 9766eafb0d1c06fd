// Package webhooks has the commands on the webhooks of an account: what a webhook gets, where it
// sends to, and its secrets. It decides from the one stream that has all webhooks of the account.
// It delivers nothing: see effects/webhooks.
package webhooks
