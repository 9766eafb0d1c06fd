package openid

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
)

// The bounds of what is accepted of the issuer.
const (
	maxSubject = 255 // ASCII characters, as the specification says
	maxName    = 200 // code points
	maxMail    = 320 // bytes
)

// claims are those of a token by name. Names are compared exactly: at some issuers people choose
// claims of their own, such as "Email".
type claims map[string]json.RawMessage

// text returns a claim that is a text, or an empty text if there is none.
func (c claims) text(name string) (text string, err error) {
	if err := json.Unmarshal(orNull(c[name]), &text); err != nil {
		return "", fmt.Errorf("%w: claim %s is not a text", ErrInvalid, name)
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

// lack reports whether there is no name, no mail, or no claim with groups where one is expected.
func (c claims) lack(groupsClaim string) bool {
	return c["email"] == nil || c["name"] == nil && c["preferred_username"] == nil ||
		groupsClaim != "" && c[groupsClaim] == nil
}

// add adds the claims of another answer about the same person. Those that are there remain, but for
// an email_verified that is about no address.
func (c claims) add(more claims) error {
	subject, err := c.text("sub")
	if err != nil {
		return err
	}
	if other, err := more.text("sub"); err != nil || other != subject {
		return fmt.Errorf("%w: the UserInfo endpoint answers for another person", ErrInvalid)
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

// identity returns the person that the claims of an issuer are about. All but the subject is there
// for convenience: what is malformed is left out, so that it keeps nobody from signing in.
func (c claims) identity(from, groupsClaim string, wanted []string) (Identity, error) {
	subject, err := c.subject()
	if err != nil {
		return Identity{}, err
	}
	known := Identity{Issuer: from, Subject: subject, Mail: c.mail()}
	known.Name = c.name(known.Mail)
	if groupsClaim != "" && len(wanted) > 0 {
		c.addGroups(&known, groupsClaim, wanted)
	}
	return known, nil
}

// subject returns the identifier of the person at the issuer.
func (c claims) subject() (string, error) {
	subject, err := c.text("sub")
	if err != nil {
		return "", err
	}
	if subject == "" || len(subject) > maxSubject || strings.ContainsFunc(subject, unprintable) {
		return "", fmt.Errorf(
			"%w: claim sub is not of 1 to %d ASCII characters", ErrInvalid, maxSubject,
		)
	}
	return subject, nil
}

// unprintable reports whether a character is not a printable one of ASCII.
func unprintable(r rune) bool { return r < ' ' || r > '~' }

// mail returns the mail address, unless the issuer says that it is not verified. An address with
// invisible characters is none: without them, it would be the address of somebody else. Neither is
// one that is too long.
func (c claims) mail() string {
	mail, err := c.text("email")
	if err != nil || len(mail) > maxMail || !c.verified() ||
		strings.ContainsFunc(mail, invisible) {
		return ""
	}
	return mail
}

// verified reports whether the issuer does not say that the mail address is not verified.
func (c claims) verified() bool {
	return c["email_verified"] == nil || c.isTrue("email_verified")
}

// name returns the first that there is of name, preferred_username and mail.
func (c claims) name(mail string) string {
	for _, claim := range []string{"name", "preferred_username"} {
		name, err := c.text(claim)
		if err != nil {
			continue
		}
		if name = displayed(name); name != "" {
			return name
		}
	}
	return displayed(mail)
}

// displayed returns a name of one line without invisible characters, of at most maxName code
// points.
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

// invisible reports whether a character controls how others are shown.
func invisible(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}
