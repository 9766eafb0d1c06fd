// Package claims reads the claims of an issuer about a person. It ignores or refuses malformed
// claims, and MUST NOT ask the issuer for anything.
package claims

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// The bounds of accepted claims.
const (
	maxSubject = 255 // ASCII characters, as the specification says
	maxName    = 200 // code points
	maxMail    = 320 // bytes
)

// Claims are the claims of a token by name. Names are compared exactly, because at some issuers
// people choose claims of their own, such as "Email".
type Claims map[string]json.RawMessage

// Text returns a claim that is a text, or an empty text if there is none.
func (c Claims) Text(name string) (text string, err error) {
	if err := json.Unmarshal(orNull(c[name]), &text); err != nil {
		return "", fmt.Errorf("claim %s is not a text", name)
	}
	return text, nil
}

// orNull returns a value, or null if there is none.
func orNull(value json.RawMessage) json.RawMessage {
	if value == nil {
		return json.RawMessage("null")
	}
	return value
}

// Lack reports whether the claims lack a name, a mail address or the claim with the groups. If
// groupsClaim is empty, no groups are expected.
func (c Claims) Lack(groupsClaim string) bool {
	return c["email"] == nil || c["name"] == nil && c["preferred_username"] == nil ||
		groupsClaim != "" && c[groupsClaim] == nil
}

// Add adds the claims that the UserInfo endpoint returns about the same person. Existing claims
// remain, but an email_verified without an email is removed, because it would seem to be about the
// email that is added.
func (c Claims) Add(more Claims) error {
	subject, err := c.Text("sub")
	if err != nil {
		return err
	}
	if other, err := more.Text("sub"); err != nil || other != subject {
		return errors.New("the UserInfo endpoint answers for another person")
	}
	if c["email"] == nil {
		delete(c, "email_verified")
	}
	for name, value := range more {
		if c[name] == nil {
			c[name] = value
		}
	}
	return nil
}

// Person is a person as the claims describe them.
type Person struct {
	// Subject identifies the person at the issuer. It has 1 to 255 ASCII characters. The other
	// fields may change, and several people may share them.
	Subject string
	// Mail is empty if the issuer says that it is not verified. It has at most 320 bytes.
	Mail string
	// Name is for display. It has at most 200 code points, and may be empty.
	Name string
	// Groups are the wanted groups that the person is in.
	Groups []string
	// GroupsUnknown says why the issuer does not say which groups the person is in. If empty, the
	// groups are known.
	GroupsUnknown string
	// GroupsMissing reports whether there is no claim with groups, which means that the person is
	// in no group.
	GroupsMissing bool
}

// Person returns the person that the claims describe. Its groups are the wanted groups in the claim
// groupsClaim. Only the subject is required: all other malformed claims are left out, so that they
// do not prevent the sign-in.
func (c Claims) Person(groupsClaim string, wanted []string) (Person, error) {
	subject, err := c.Subject()
	if err != nil {
		return Person{}, err
	}
	known := Person{Subject: subject, Mail: c.mail()}
	known.Name = c.name(known.Mail)
	if groupsClaim != "" && len(wanted) > 0 {
		c.addGroups(&known, groupsClaim, wanted)
	}
	return known, nil
}

// Subject returns the identifier of the person at the issuer.
func (c Claims) Subject() (string, error) {
	subject, err := c.Text("sub")
	if err != nil {
		return "", err
	}
	if subject == "" || len(subject) > maxSubject || strings.ContainsFunc(subject, unprintable) {
		return "", fmt.Errorf("claim sub is not of 1 to %d ASCII characters", maxSubject)
	}
	return subject, nil
}

// unprintable reports whether a character is not a printable one of ASCII.
func unprintable(r rune) bool { return r < ' ' || r > '~' }

// mail returns the mail address, or an empty text if the issuer says that it is not verified, if it
// is too long, or if it has invisible characters. Removing the invisible characters could make it
// another person's address.
func (c Claims) mail() string {
	mail, err := c.Text("email")
	if err != nil || len(mail) > maxMail || !c.verified() ||
		strings.ContainsFunc(mail, invisible) {
		return ""
	}
	return mail
}

// verified reports whether the claim email_verified is true or missing.
func (c Claims) verified() bool {
	return c["email_verified"] == nil || c.isTrue("email_verified")
}

// name returns the name to display. It is the claim name, or else the claim preferred_username, or
// else the mail address.
func (c Claims) name(mail string) string {
	for _, claim := range []string{"name", "preferred_username"} {
		name, err := c.Text(claim)
		if err != nil {
			continue
		}
		if name = displayed(name); name != "" {
			return name
		}
	}
	return displayed(mail)
}

// displayed returns a name without invisible characters and line ends, cut to maxName code points.
func displayed(name string) string {
	name = strings.Map(func(r rune) rune {
		if invisible(r) {
			return -1
		}
		return r
	}, name)
	if points := []rune(strings.TrimSpace(name)); len(points) > maxName {
		return strings.TrimSpace(string(points[:maxName]))
	}
	return strings.TrimSpace(name)
}

// invisible reports whether a character controls how other characters are shown.
func invisible(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// signOutEvent is the name of the event that a sign-out token has.
const signOutEvent = "http://schemas.openid.net/event/backchannel-logout"

// IsSignOut reports whether the claims belong to a sign-out token.
func (c Claims) IsSignOut() bool {
	var happened map[string]json.RawMessage
	if json.Unmarshal(orNull(c["events"]), &happened) != nil {
		return false
	}
	var nothing map[string]json.RawMessage
	return json.Unmarshal(orNull(happened[signOutEvent]), &nothing) == nil && nothing != nil
}
