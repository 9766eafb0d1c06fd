// Package commands is the write side. A command loads the streams it decides on, decides with the
// pure methods of package domain (Link, Tags) and of claim and Account, and appends the resulting
// events at exactly the revision it decided at. When another writer was faster it loads and decides
// again. No command asks a read model, but for how many links an account with limits has, see
// Quotas.
//
// Three rules make links exact under concurrency and crashes:
//
//   - A hash belongs to whoever appended the first event of its stream. A link claims its hash
//     first and is created, renamed or restored second.
//   - A claim that was not followed by its link within ClaimTimeout may be taken over. Whoever
//     takes it over first writes ClaimAbandoned into the stream of the late link, so that the late
//     append fails instead of making a second owner.
//   - Event ids derive from the command's id, so a command that is repeated after an unknown
//     outcome is recognised.
//
// History reads the log for auditors. It lives here and not in queries because it is the
// aggregates' own fold that says what an event changed: it takes the streams that commands take,
// through the same store, and no read model can be behind or wrong about it.
package commands
