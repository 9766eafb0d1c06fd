package secret

import "log/slog"

// hidden stands for a secret wherever one is printed.
const hidden = "xxxxx"

// Connection is a connection string. It is printed without its passwords.
type Connection string

// String implements fmt.Stringer.
func (c Connection) String() string { return redactConnection(string(c)) }

// LogValue implements slog.LogValuer: a JSON log would otherwise have the string as it is.
func (c Connection) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Text is never printed.
type Text string

// String implements fmt.Stringer.
func (s Text) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// LogValue implements slog.LogValuer.
func (s Text) LogValue() slog.Value { return slog.StringValue(s.String()) }
