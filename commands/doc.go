// Package commands is the write side: commands on links and tags. A command loads the streams that
// it decides on, decides with the rules of package domain, and appends the resulting events at
// exactly the revision that it loaded. If another writer was faster, the command loads and decides
// again. No command asks a read model, except for the number of links of an account with limits,
// see package linkquota.
//
// Three rules keep links correct in spite of concurrent commands and crashes:
//
//   - A hash belongs to the link that made the last claim in the hash's stream. A command first
//     claims the hash for the link, and then creates, renames or restores the link. A generated
//     hash needs only one append, because its link is created in the hash's stream, and the
//     creation is the claim.
//   - If a claim has no link after hashes.ClaimTimeout, another link may take over the hash. Before
//     that, ClaimAbandoned is appended to the stream of the link that made the claim. So if the
//     late append of that link still comes, it fails, and a hash never has two owners.
//   - Event ids derive from the id of the command. So the event store recognizes a command that is
//     repeated after an unknown outcome.
package commands
