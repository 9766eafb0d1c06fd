package secret

import "log/slog"

// hidden replaces a secret in output.
const hidden = "xxxxx"

// Connection is a connection string. Output shows it without its passwords.
type Connection string

// String implements fmt.Stringer.
func (c Connection) String() string { return redactConnection(string(c)) }

// LogValue implements slog.LogValuer. Without it a JSON log would have the whole string.
func (c Connection) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Text is a secret. Output shows only whether it is empty.
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
