#!/bin/bash
# The entry point of the stand-in for PostgreSQL's image: it makes the cluster at the first start,
# with the password of POSTGRES_PASSWORD_FILE, and runs what is in /docker-entrypoint-initdb.d.
set -euo pipefail
if [[ $1 == postgres && ! -s $PGDATA/PG_VERSION ]]; then
	export POSTGRES_USER=${POSTGRES_USER:-postgres}
	export POSTGRES_DB=${POSTGRES_DB:-$POSTGRES_USER}
	initdb --username="$POSTGRES_USER" --pwfile="$POSTGRES_PASSWORD_FILE" --auth-local=trust --auth-host=scram-sha-256
	echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
	echo "listen_addresses = '*'" >>"$PGDATA/postgresql.conf"
	pg_ctl -w -o "-c listen_addresses=''" start
	for script in /docker-entrypoint-initdb.d/*.sh; do
		bash "$script"
	done
	pg_ctl -w -m fast stop
fi
exec "$@"
