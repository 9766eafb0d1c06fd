#!/bin/sh
# Draws the secrets that the Compose files mount, into the folder "secrets" beside this file, or into another one:
#
#   sh docker/secrets.sh [FOLDER]
#
# What is there stays as it is, so it may be run again. A file that is removed first is drawn anew.
set -eu
command -v openssl >/dev/null || {
	echo "openssl is needed to draw secrets" >&2
	exit 1
}
folder=${1:-$(dirname "$0")/secrets}
mkdir -p "$folder"
# Containers read the files as users of their own. Other users of this machine do not get into the folder.
chmod 700 "$folder"
cd "$folder"
umask 022

password() {
	[ -e "$1" ] || openssl rand -hex 32 >"$1"
}

# A certificate that signs itself, for the name of a service, and for tools on the same machine.
certificate() {
	[ -e "$1_certificate" ] || openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 \
		-subj "/CN=$2" -addext "subjectAltName=DNS:$2,DNS:localhost,IP:127.0.0.1" \
		-keyout "$1_key" -out "$1_certificate"
}

# The text of a file that is not there yet.
file() {
	[ -e "$1" ] || echo "$2" >"$1"
}

password eventstore_password       # of the service, in the event store
password eventstore_admin_password # of admin, in EventStoreDB
password postgres_password         # of the service, in PostgreSQL
password postgres_admin_password   # of PostgreSQL's superuser
password replication_password      # of the standby
password grafana_password          # of admin, in Grafana
certificate eventstore eventstore
certificate tls localhost # of the proxy: put that of your host in its place

# The key that protects the keys of notes. Keep a copy elsewhere: without it all notes are lost.
[ -e master_key ] || openssl rand -base64 32 >master_key

# What --eventstore and --database are given: of compose.yaml, and of compose.cluster.yaml.
file eventstore "esdb://linkledger:$(cat eventstore_password)@eventstore:2113?tls=true&tlsCaFile=/run/secrets/eventstore_certificate"
file database "postgres://linkledger:$(cat postgres_password)@postgres/linkledger?sslmode=disable"
file eventstore_cluster "esdb://linkledger:$(cat eventstore_password)@eventstore1:2113,eventstore2:2113,eventstore3:2113?tls=true&tlsCaFile=/ca/ca.crt"
file database_cluster "postgres://linkledger:$(cat postgres_password)@postgres:5432,standby:5432/linkledger?target_session_attrs=read-write&sslmode=disable"

chmod 644 ./*
