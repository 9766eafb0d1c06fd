#!/bin/bash
# Copies the primary at the first start, then follows it.
set -euo pipefail
export PGPASSWORD=$POSTGRES_PASSWORD
if [[ ! -s $PGDATA/PG_VERSION ]]; then
	until pg_basebackup -h postgres -U "$POSTGRES_USER" -D "$PGDATA" -R -X stream -S standby; do
		rm -rf "${PGDATA:?}"/*
		sleep 2
	done
	chmod 700 "$PGDATA"
fi
exec postgres
