// Package outbox stores in PostgreSQL what effects have to do: messages, the queues in which they
// wait, and their receivers. The tables are in the schema linkledger_durable, because the log
// cannot rebuild what was done.
//
// A message belongs to one receiver and one subject. The messages of one receiver about one subject
// are a queue, and are delivered one after another, in the order of the log. A worker claims a
// queue before it delivers. A claim that runs out, such as the claim of a killed process, is given
// to another worker. So a message is delivered at least once, always with the same id.
package outbox
