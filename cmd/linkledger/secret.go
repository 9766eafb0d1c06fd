package main

import "log/slog"

// hidden stands for a secret wherever one is printed.
const hidden = "xxxxx"

// connection is a connection string. It is printed without its passwords.
type connection string

// String implements fmt.Stringer.
func (c connection) String() string { return withoutSecrets(string(c)) }

// LogValue implements slog.LogValuer: a JSON log would otherwise have the string as it is.
func (c connection) LogValue() slog.Value { return slog.StringValue(c.String()) }

// secret is never printed.
type secret string

// String implements fmt.Stringer.
func (s secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// LogValue implements slog.LogValuer.
func (s secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
