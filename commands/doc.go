// Package commands is the write side: commands on links and tags. A command loads the streams that
// it decides on, decides with the rules of package domain, and appends the resulting events at
// exactly the revision that it loaded. If another writer was faster, it loads and decides again. No
// command asks a read model, except for the number of links of an account with limits, see package
// linkquota.
//
// Three rules make links exact under concurrency and crashes:
//
//   - A hash belongs to the link that made the last claim in the hash's stream. A link claims its
//     hash first, and is created, renamed or restored second. A generated hash takes one append:
//     its link is created in the hash's stream, and the creation is the claim.
//   - A claim without a link may be taken over after hashes.ClaimTimeout. The new claimant first
//     appends ClaimAbandoned to the stream of the late link. The late append then fails, so a hash
//     never has two owners.
//   - Event ids derive from the id of the command. The event store thus recognises a command that
//     is repeated after an unknown outcome.
package commands
