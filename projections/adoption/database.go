package adoption

// This file has what the guard reads and writes in a database, over a new connection that nothing
// else uses yet.

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// askServer takes the timeline of a primary from the name of its current WAL file. The control
	// file may still have the timeline from before a promotion, because it has that of the last
	// checkpoint.
	askServer = `SELECT s.system_identifier, d.oid, pg_is_in_recovery(),
		CASE WHEN pg_is_in_recovery() THEN 0
			ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int END,
		to_regclass(keys.schema || '.account_keys') IS NOT NULL
			AND to_regclass(keys.schema || '.secrets') IS NOT NULL,
		to_regclass(keys.schema || '.adoption') IS NOT NULL,
		to_regclass('linkledger.generations') IS NOT NULL, keys.schema
		FROM pg_control_system() AS s, pg_database AS d, (SELECT CASE
			WHEN to_regclass('linkledger_durable.secrets') IS NULL THEN 'linkledger_keys'
			ELSE 'linkledger_durable' END) AS keys (schema)
		WHERE d.datname = current_database()`
	// A service stores its first secrets before it serves. So a database without secrets has not
	// served: see keystore.Keys.Exist. The verb %s stands for Found.schema.
	askKeys  = "SELECT EXISTS (SELECT FROM %s.secrets)"
	askBuilt = "SELECT EXISTS (SELECT FROM linkledger.generations WHERE commit_pos > 0)"
	//nolint:gosec // a query and no credential
	askToken = "SELECT token, former, timeline FROM %s.adoption"
	// writeToken stores a token. If another node has already given the database a token for the
	// same adoption, writeToken keeps the token of that node.
	//
	//nolint:gosec // a statement and no credential
	writeToken = `INSERT INTO %s.adoption AS had (token, former, timeline)
		VALUES ($1, $2, $3::bigint) ON CONFLICT (single) DO UPDATE SET
			token = CASE WHEN had.former = $2 AND had.timeline = $3::bigint AND had.token <> $2
				THEN had.token ELSE $1 END,
			former = $2, timeline = $3::bigint
		RETURNING token`
)

// row runs a statement and returns its only row, or nil if there is none.
func row(ctx context.Context, conn *pgconn.PgConn, query string, args ...string) ([][]byte, error) {
	values := make([][]byte, len(args))
	for i, arg := range args {
		values[i] = []byte(arg)
	}
	result := conn.ExecParams(ctx, query, values, nil, nil, nil).Read()
	switch {
	case result.Err != nil:
		return nil, result.Err
	case len(result.Rows) == 0:
		return nil, nil
	}
	return result.Rows[0], nil
}

// look reads the facts about a database by which Decide decides.
func look(ctx context.Context, conn *pgconn.PgConn) (found Found, err error) {
	server, err := row(ctx, conn, askServer)
	if err != nil {
		return found, fmt.Errorf("ask which database this is: %w", err)
	}
	if server == nil {
		return found, errors.New("ask which database this is: no answer")
	}
	is := func(i int) bool { return string(server[i]) == "t" }
	database, err := number(server[1])
	if err != nil {
		return found, err
	}
	timeline, err := number(server[3])
	if err != nil {
		return found, err
	}
	found = Found{
		System: string(server[0]), Database: database, Standby: is(2), Timeline: timeline,
		Keys: is(4), Prepared: is(5), schema: string(server[7]),
		Address: conn.Conn().RemoteAddr().String(),
	}
	if found.Keys {
		stored, err := row(ctx, conn, fmt.Sprintf(askKeys, found.schema))
		if err != nil {
			return found, fmt.Errorf("ask for the keys: %w", err)
		}
		found.Keys = string(stored[0]) == "t"
	}
	if is(6) {
		built, err := row(ctx, conn, askBuilt)
		if err != nil {
			return found, fmt.Errorf("ask for the read models: %w", err)
		}
		found.Built = string(built[0]) == "t"
	}
	if !found.Prepared {
		return found, nil
	}
	kept, err := row(ctx, conn, fmt.Sprintf(askToken, found.schema))
	if err != nil {
		return found, fmt.Errorf("ask for the adoption of the database: %w", err)
	}
	if kept != nil {
		found.Token, found.Former = string(kept[0]), string(kept[1])
		found.Made, err = number(kept[2])
	}
	return found, err
}

func number(text []byte) (uint32, error) {
	n, err := strconv.ParseUint(string(text), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("ask which database this is: %w", err)
	}
	return uint32(n), nil
}

// give writes a token into a database, unless another node has already given the database a token
// for the same adoption. It returns the token that the database then has. The write is durable,
// even if PostgreSQL is configured not to wait for its disk.
func give(
	ctx context.Context, conn *pgconn.PgConn, to Found, token, former string,
) (string, error) {
	if _, err := conn.Exec(ctx, "BEGIN; SET LOCAL synchronous_commit = on").ReadAll(); err != nil {
		return "", fmt.Errorf("give the database a token: %w", err)
	}
	given, err := row(
		ctx, conn, fmt.Sprintf(writeToken, to.schema), token, former,
		strconv.FormatUint(uint64(to.Timeline), 10),
	)
	if err == nil {
		_, err = conn.Exec(ctx, "COMMIT").ReadAll()
	}
	if err != nil {
		return "", fmt.Errorf("give the database a token: %w", err)
	}
	return string(given[0]), nil
}
