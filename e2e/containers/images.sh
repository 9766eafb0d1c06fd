#!/bin/bash
# Makes stand-ins for images of registries from Debian's packages, where no registry answers: the
# same program under the same name, user and entry point. Not the same image: versions are Debian's.
#
#   images.sh IMAGE...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
: "${DOCKER_CONFIG:?the folder of the plugins}"
export DOCKER_BUILDKIT=1

# base SUITE makes a minimal Debian, with the certificates that this machine trusts.
base() {
	local root
	docker image inspect "standin/$1" >/dev/null 2>&1 && return
	command -v debootstrap >/dev/null || apt-get install -y -q debootstrap >&2
	root=$(mktemp -d)
	debootstrap --variant=minbase --include=ca-certificates "$1" "$root" >&2
	cp /usr/local/share/ca-certificates/* "$root/usr/local/share/ca-certificates/" 2>/dev/null || true
	chroot "$root" update-ca-certificates >&2
	tar -C "$root" -c . | docker import --change 'ENV DEBIAN_FRONTEND=noninteractive' - "standin/$1" >&2
	rm -rf "$root"
}

# from SUITE IMAGE FILE... builds IMAGE on SUITE by the Dockerfile on standard input, with the files.
from() {
	local suite=$1 image=$2 folder
	shift 2
	base "$suite"
	folder=$(mktemp -d)
	(($# == 0)) || cp -- "$@" "$folder/"
	{
		echo "FROM standin/$suite"
		echo 'LABEL org.opencontainers.image.title="stand-in from Debian packages"'
		echo 'RUN apt-get update'
		cat
	} >"$folder/Dockerfile"
	docker build --quiet --network host -t "$image" "$folder" >&2
	rm -rf "$folder"
}

for image; do
	if docker image inspect "$image" >/dev/null 2>&1 || timeout 60 docker pull --quiet "$image" 2>/dev/null; then
		continue
	fi
	echo "making a stand-in for $image" >&2
	case $image in
	golang:*)
		folder=$(mktemp -d)
		cp -r "$(go env GOROOT)" "$folder/go"
		from bookworm "$image-base" <<-'END'
			RUN apt-get install -y --no-install-recommends git make
		END
		{
			echo "FROM $image-base"
			echo 'COPY go /usr/local/go'
			echo 'ENV PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin GOPATH=/go GOTOOLCHAIN=local'
		} >"$folder/Dockerfile"
		docker build --quiet -t "$image" "$folder" >&2
		rm -rf "$folder"
		;;
	postgres:17*)
		from trixie "$image" postgres.sh <<-'END'
			RUN groupadd -r -g 999 postgres && useradd -r -u 999 -g postgres -d /var/lib/postgresql postgres
			RUN apt-get install -y --no-install-recommends postgresql-17 postgresql-client-17 && rm -rf /var/lib/postgresql/17
			RUN mkdir -p /var/lib/postgresql/data /docker-entrypoint-initdb.d /run/postgresql \
				&& chown postgres:postgres /var/lib/postgresql/data /run/postgresql && chmod 3777 /run/postgresql
			ENV PATH=/usr/lib/postgresql/17/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
				PGDATA=/var/lib/postgresql/data LANG=C.UTF-8
			COPY postgres.sh /usr/local/bin/docker-entrypoint.sh
			VOLUME /var/lib/postgresql/data
			STOPSIGNAL SIGINT
			EXPOSE 5432
			ENTRYPOINT ["bash", "/usr/local/bin/docker-entrypoint.sh"]
			CMD ["postgres"]
		END
		;;
	debian:13* | debian:trixie*)
		base trixie
		docker tag standin/trixie "$image"
		;;
	debian:12* | debian:bookworm*)
		base bookworm
		docker tag standin/bookworm "$image"
		;;
	haproxy:*)
		from bookworm "$image" <<-'END'
			RUN apt-get install -y --no-install-recommends haproxy && mkdir -p /usr/local/etc/haproxy \
				&& groupmod -g 99 haproxy && usermod -u 99 haproxy
			USER haproxy
			STOPSIGNAL SIGUSR1
			ENTRYPOINT ["haproxy", "-W", "-db"]
			CMD ["-f", "/usr/local/etc/haproxy/haproxy.cfg"]
		END
		;;
	prom/prometheus:*)
		from trixie "$image" <<-'END'
			RUN apt-get install -y --no-install-recommends prometheus wget \
				&& mkdir -p /prometheus && chown 65534:65534 /prometheus
			USER 65534:65534
			VOLUME /prometheus
			ENTRYPOINT ["prometheus"]
			CMD ["--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/prometheus"]
		END
		;;
	*)
		echo "no stand-in for $image can be made from Debian's packages" >&2
		exit 1
		;;
	esac
done
