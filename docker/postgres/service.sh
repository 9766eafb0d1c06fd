#!/bin/bash
# The database and the user of the service, which is no superuser: run once, when PostgreSQL is set up.
set -euo pipefail
psql -v ON_ERROR_STOP=1 -v password="$(<"${SECRETS:-/run/secrets}/postgres_password")" -U "$POSTGRES_USER" -d "$POSTGRES_DB" <<-'SQL'
	CREATE ROLE linkledger LOGIN PASSWORD :'password';
	CREATE DATABASE linkledger OWNER linkledger;
	REVOKE ALL ON DATABASE linkledger FROM PUBLIC;
SQL
