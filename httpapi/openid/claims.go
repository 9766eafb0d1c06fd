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
	maxGroups  = 200
	maxGroup   = 255 // bytes
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

// identity returns the person that the claims of an issuer are about.
func (c claims) identity(from, groupsClaim string) (Identity, error) {
	subject, err := c.subject()
	if err != nil {
		return Identity{}, err
	}
	mail, err := c.mail()
	if err != nil {
		return Identity{}, err
	}
	name, err := c.name(mail)
	if err != nil {
		return Identity{}, err
	}
	groups, err := c.groups(groupsClaim)
	if err != nil {
		return Identity{}, err
	}
	return Identity{Issuer: from, Subject: subject, Mail: mail, Name: name, Groups: groups}, nil
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
// invisible characters is none: without them, it would be the address of somebody else.
func (c claims) mail() (string, error) {
	mail, err := c.text("email")
	if err != nil {
		return "", err
	}
	if len(mail) > maxMail {
		return "", fmt.Errorf("%w: claim email has more than %d bytes", ErrInvalid, maxMail)
	}
	if !c.verified() || strings.ContainsFunc(mail, invisible) {
		return "", nil
	}
	return mail, nil
}

// verified reports whether the issuer does not say that the mail address is not verified. Some
// issuers say so as a text.
func (c claims) verified() bool {
	stated := string(c["email_verified"])
	return stated == "" || stated == "true" || stated == `"true"`
}

// name returns the first that there is of name, preferred_username and mail.
func (c claims) name(mail string) (string, error) {
	for _, claim := range []string{"name", "preferred_username"} {
		name, err := c.text(claim)
		if err != nil {
			return "", err
		}
		if name = displayed(name); name != "" {
			return name, nil
		}
	}
	return displayed(mail), nil
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

// groups returns the groups in a claim, which is a text or a list of texts.
func (c claims) groups(claim string) (groups []string, err error) {
	if claim == "" {
		return nil, nil
	}
	if group, err := c.text(claim); err == nil {
		if group == "" {
			return nil, nil
		}
		groups = []string{group}
	} else if err := json.Unmarshal(c[claim], &groups); err != nil {
		return nil, fmt.Errorf("%w: claim %s is not a list of texts", ErrInvalid, claim)
	}
	if len(groups) > maxGroups {
		return nil, fmt.Errorf("%w: claim %s has more than %d groups", ErrInvalid, claim, maxGroups)
	}
	for _, group := range groups {
		if group == "" || len(group) > maxGroup || strings.ContainsFunc(group, unicode.IsControl) {
			return nil, fmt.Errorf(
				"%w: a group in claim %s has not 1 to %d bytes", ErrInvalid, claim, maxGroup,
			)
		}
	}
	return groups, nil
}
