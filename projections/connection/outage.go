package connection

// This file knows which errors of PostgreSQL, or of a pooler in front of it, pass without a change
// by an operator.

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// ErrReadOnly means that the database accepts no changes now, as a standby does.
var ErrReadOnly = errors.New("the database is read-only")

// refusals are parts of the messages with which a pooler refuses a connection that it will never
// accept. The code of the error does not help, because PgBouncer has one code, 08P01, for refusals
// and for outages. It passes on the text of an error of PostgreSQL, but not the code.
var refusals = []string{
	"unsupported startup parameter", "no such database", "no such user", "authentication failed",
	"does not allow connections", "unsupported protocol", "TLS connection required", "SSL required",
	"certificate required", "login rejected", "bouncer config error", "statement pooling",
	"does not exist", "no pg_hba.conf entry", "not permitted to log in", "permission denied",
}

// Unavailable reports whether an error of OpenPools or of a change of the schemas may be gone at a
// later try. Such an error means that the database cannot be reached, that it does not accept
// connections or changes yet, or that other clients hold locks or connections that are needed.
// Unavailable returns false for wrong credentials, a missing database, a refusal by a pooler and an
// invalid certificate.
func Unavailable(err error) bool {
	if errors.Is(err, ErrReadOnly) {
		return true
	}
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		return OfServer(refused) && !isRefusal(refused)
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return false
	}
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[net.Error](err) // includes timeouts
	return connecting || network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// isRefusal reports whether the same connection or change will be refused again.
func isRefusal(refused *pgconn.PgError) bool {
	switch class(refused) {
	case "42": // a right
		return true
	case "28", "3D", "F0", "XX": // credentials, no such database, configuration, damage
		return true
	case "08":
		return slices.ContainsFunc(refusals, func(text string) bool {
			return strings.Contains(refused.Message, text)
		})
	}
	return false
}

// OfServer reports whether an error of PostgreSQL or of a pooler is caused by the server, the
// connection or other clients, and not by the statement or its data.
func OfServer(err *pgconn.PgError) bool {
	switch err.Code {
	case "42P03", "42P05": // a cursor or prepared statement of another client of a pooler
		return true
	case "42501": // a right that an operator gives, or a file system that is read-only
		return true
	}
	switch class(err) {
	case "08", "25", "26", "28", "34", // connection, transaction, statement, credentials, cursor
		"3D", "40", "53", "55", // database, rollback, resources, locks and other states
		"57", "58", "F0", "XX": // intervention, system, configuration, damage
		return true
	}
	return false
}

// class returns the class of an error code: its first two characters.
func class(err *pgconn.PgError) string { return err.Code[:min(2, len(err.Code))] }
