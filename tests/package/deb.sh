#!/usr/bin/env bash
# Makes the Debian package and checks it: its files, its dependencies, the programs in it, and the unit.
# usage: deb.sh SOURCE_DIR
set -eu
cd "$1"
command -v dpkg-shlibdeps >/dev/null || { echo "skipped: dpkg-dev is missing"; exit 77; }
deb=$(script/package)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
dpkg-deb -x "$deb" "$scratch/root"
failed=0
fail() { echo "FAILED: $*"; failed=1; }

for file in usr/bin/quire-chat usr/bin/quire-server usr/lib/systemd/system/quire-server.service \
    usr/lib/systemd/system/quire-server.socket usr/lib/sysusers.d/quire.conf etc/quire/server.conf \
    usr/share/man/man1/quire-chat.1 usr/share/man/man1/quire-server.1 usr/share/doc/quire/copyright \
    usr/share/doc/quire/examples/haproxy.cfg usr/share/bash-completion/completions/quire-server; do
    [ -s "$scratch/root/$file" ] || fail "the package lacks $file"
done
[ -n "$(find "$scratch/root" -name 'libquire.so.*' -type f)" ] || fail "the package lacks the library"
[ "$(dpkg-deb -f "$deb" Version)" = "$("$scratch/root/usr/bin/quire-server" --version | cut -d' ' -f2)" ] || fail version

# every library that a program needs is that of a package named in Depends
multiarch=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
depends=" $(dpkg-deb -f "$deb" Depends | sed 's/([^)]*)//g; s/,//g') "
for program in quire-chat quire-server; do
    for library in $(readelf -d "$scratch/root/usr/bin/$program" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p'); do
        package=$(dpkg-query -S "*/$multiarch/$library" 2>/dev/null | head -1 | cut -d: -f1)
        case $depends in *" $package "*) ;; *) fail "Depends lacks $package for $library of $program" ;; esac
    done
done

"$scratch/root/usr/bin/quire-server" --config "$scratch/root/etc/quire/server.conf" --check-config >/dev/null ||
    fail "etc/quire/server.conf"
# every option that the file shows in a comment exists
"$scratch/root/usr/bin/quire-server" --list-options | cut -d'|' -f1 | tr ' ' '\n' | sed 's/^--//' >"$scratch/names"
sed -n 's/^#\?\([a-z][a-z-]*\) .*/\1/p' "$scratch/root/etc/quire/server.conf" | while read -r name; do
    grep -qx -- "$name" "$scratch/names" || echo "$name"
done >"$scratch/unknown"
[ ! -s "$scratch/unknown" ] || fail "server.conf shows unknown options: $(cat "$scratch/unknown")"

if command -v systemd-analyze >/dev/null; then
    sed "s|^ExecStart=/|ExecStart=$scratch/root/|" "$scratch/root/usr/lib/systemd/system/quire-server.service" \
        >"$scratch/quire-server.service"
    systemd-analyze verify --man=no "$scratch/quire-server.service" >"$scratch/verify" 2>&1 || true
    [ ! -s "$scratch/verify" ] || fail "systemd-analyze verify: $(cat "$scratch/verify")"
    exposure=$(systemd-analyze security --offline=true "$scratch/quire-server.service" 2>/dev/null |
        sed -n 's/.*Overall exposure level.*: \([0-9.]*\) .*/\1/p')
    echo "exposure level of the unit: ${exposure:-unknown} of 10"
    [ "$(printf '%s\n' "${exposure:-0}" 2 | sort -g | head -1)" != 2 ] || fail "exposure level $exposure"
fi
[ $failed = 0 ] && echo "deb: passed"
exit $failed
