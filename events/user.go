package events

import "time"

// StreamUser prefixes the stream of one person: user-<user id>.
const StreamUser = "user-"

// StreamIdentity prefixes the stream that assigns an identity to a user: identity-<keyed hash of
// the issuer, the subject and the number of erasures of the identity>.
const StreamIdentity = "identity-"

// IdentityClaimed assigns an identity of an issuer to a user. After the user has been erased, the
// identity is claimed in another stream.
type IdentityClaimed struct {
	User string    `json:"user_id"`
	At   time.Time `json:"at"`
}

// EventType implements Event.
func (IdentityClaimed) EventType() string { return "identity.claimed.v1" }

// Details are what an OpenID issuer says about a person.
type Details struct {
	Issuer  string `json:"issuer"`
	Subject string `json:"subject"` // the id of the person at the issuer
	Mail    string `json:"mail,omitempty"`
	Name    string `json:"name,omitempty"`
}

// UserKnown records the details of a person: the first time and whenever they have changed.
type UserKnown struct {
	User string `json:"user_id"`
	// Details are stored only in Sealed, encrypted with the key of the user.
	Details Details   `json:"-"`
	Sealed  *Sealed   `json:"sealed"`
	At      time.Time `json:"at"`
}

// EventType implements Event.
func (UserKnown) EventType() string { return "user.known.v1" }

// UserErased permanently erases a person. The encryption key of the details is deleted after this
// event, which makes the details unreadable in all events.
type UserErased struct {
	At time.Time `json:"at"`
}

// EventType implements Event.
func (UserErased) EventType() string { return "user.erased.v1" }

// MemberSet gives a person a role in the account. The role replaces an earlier one.
type MemberSet struct {
	User string `json:"user_id"`
	Role string `json:"role"` // such as viewer
	// Group is the group of the issuer that gives the person the role. If it is empty, the role
	// does not come from a group.
	Group string    `json:"group,omitempty"`
	At    time.Time `json:"at"`
}

// EventType implements Event.
func (MemberSet) EventType() string { return "account.member_set.v1" }

// MemberRemoved ends the membership of a person in the account.
type MemberRemoved struct {
	User string    `json:"user_id"`
	At   time.Time `json:"at"`
}

// EventType implements Event.
func (MemberRemoved) EventType() string { return "account.member_removed.v1" }
