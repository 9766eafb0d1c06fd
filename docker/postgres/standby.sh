#!/bin/bash
# Copies the primary at the first start, then follows it.
set -euo pipefail
if [[ ! -s $PGDATA/PG_VERSION ]]; then
	PGPASSWORD=$(<"${SECRETS:-/run/secrets}/replication_password")
	export PGPASSWORD
	until pg_basebackup -h postgres -U replication -D "$PGDATA" -R -X stream -S standby; do
		rm -rf "${PGDATA:?}"/*
		sleep 2
	done
	chmod 700 "$PGDATA"
	unset PGPASSWORD
fi
exec postgres
