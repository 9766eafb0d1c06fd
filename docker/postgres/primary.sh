#!/bin/bash
# Lets a standby follow: run once, when PostgreSQL is set up.
set -euo pipefail
echo "host replication replication samenet scram-sha-256" >>"$PGDATA/pg_hba.conf"
# The log that a standby has not seen yet is kept for it, up to a limit.
psql -v ON_ERROR_STOP=1 -v password="$(<"${SECRETS:-/run/secrets}/replication_password")" -U "$POSTGRES_USER" -d "$POSTGRES_DB" <<-'SQL'
	CREATE ROLE replication LOGIN REPLICATION PASSWORD :'password';
	ALTER SYSTEM SET max_slot_wal_keep_size = '10GB';
	SELECT pg_create_physical_replication_slot('standby');
SQL
