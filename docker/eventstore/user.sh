#!/bin/sh
# Gives the service a user of its own in EventStoreDB: it reads all events and appends events, and may neither delete
# streams nor change their metadata, which would hide events. May be run again.
set -eu
node=https://eventstore1:2113
secret() { cat "/run/secrets/$1"; }

# call METHOD PATH TYPE reads the body, and prints the status. Passwords are not on the command line.
call() {
	printf 'user = "admin:%s"\n' "$(secret eventstore_admin_password)" >/tmp/login
	curl --silent --show-error --retry 30 --retry-delay 2 --retry-all-errors --config /tmp/login --cacert /ca/ca.crt --output /tmp/answer --write-out '%{http_code}' \
		--request "$1" --header "Content-Type: $3" --header 'ES-ExpectedVersion: -2' --data-binary @- "$node$2"
}

expect() { # WHAT STATUS WANTED...
	what=$1 status=$2
	shift 2
	for wanted; do
		[ "$status" != "$wanted" ] || return 0
	done
	echo "$what: status $status" >&2
	cat /tmp/answer >&2
	exit 1
}

json=application/json
stream=application/vnd.eventstore.events+json

expect 'user linkledger' "$(call POST /users $json <<END
{"loginName":"linkledger","fullName":"Linkledger","password":"$(secret eventstore_password)","groups":[]}
END
)" 201 409

# Who may do what in streams: the service reads and appends.
expect 'streams' "$(call POST '/streams/%24settings' $stream <<'END'
[{"eventId":"7a0a6d0c-6d0b-4b8e-9d2c-0f6c51a7c001","eventType":"settings","data":{
	"$userStreamAcl":{"$r":["$admins","linkledger"],"$w":["$admins","linkledger"],"$d":"$admins","$mr":["$admins","linkledger"],"$mw":"$admins"},
	"$systemStreamAcl":{"$r":"$admins","$w":"$admins","$d":"$admins","$mr":"$admins","$mw":"$admins"}}}]
END
)" 201

# Who reads the log of all streams.
expect 'log' "$(call POST '/streams/%24%24%24all' $stream <<'END'
[{"eventId":"7a0a6d0c-6d0b-4b8e-9d2c-0f6c51a7c002","eventType":"$metadata","data":{
	"$acl":{"$r":["$admins","linkledger"],"$mr":["$admins","linkledger"]}}}]
END
)" 201
