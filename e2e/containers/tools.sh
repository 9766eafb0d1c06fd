#!/bin/bash
# Builds Docker's plugins buildx and Compose from their Go modules where Docker lacks them, into
# $DOCKER_CONFIG/cli-plugins. An existing configuration of Docker is left as it is.
set -euo pipefail
: "${DOCKER_CONFIG:?the folder that gets the plugins}"
plugins=$DOCKER_CONFIG/cli-plugins
mkdir -p "$plugins"

# plugin NAME MODULE VERSION PACKAGE builds a plugin unless Docker has it.
plugin() {
	docker "$1" version >/dev/null 2>&1 && return
	echo "building docker $1 $3, about two minutes" >&2
	work=$(mktemp -d)
	source=$(go mod download -json "$2@$3" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
	cp -r "$source" "$work/source"
	chmod -R u+w "$work/source"
	(cd "$work/source" && CGO_ENABLED=0 GOFLAGS=-mod=mod go build -trimpath -ldflags "-s -w -X $5=$3" -o "$plugins/docker-$1" "$4")
	rm -rf "$work"
	docker "$1" version >&2
}
plugin buildx github.com/docker/buildx v0.19.3 ./cmd/buildx github.com/docker/buildx/version.Version
plugin compose github.com/docker/compose/v2 v2.32.4 ./cmd github.com/docker/compose/v2/internal.Version
