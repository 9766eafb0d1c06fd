package main

import "regexp"

// hidden stands for a secret wherever one is printed.
const hidden = "xxxxx"

var (
	loginPassword = regexp.MustCompile(`(://[^:@/?#]*:).*@`)
	namedPassword = regexp.MustCompile(`(?i)(password=)[^&\s]*`)
)

// connection is a connection string. It is printed without its passwords.
type connection string

// String implements fmt.Stringer.
func (c connection) String() string {
	return namedPassword.ReplaceAllString(loginPassword.ReplaceAllString(string(c), "${1}"+hidden+"@"), "${1}"+hidden)
}

// secret is never printed.
type secret string

// String implements fmt.Stringer.
func (s secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}
