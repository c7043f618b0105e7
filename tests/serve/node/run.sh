#!/usr/bin/env bash
# Runs a test with Node's test runner and the packages of package.json, which npm installs in
# build/serve-node. Without Node, npm or a network it prints the reason and exits 77.
# usage: tests/serve/node/run.sh FILE.test.mjs     QUIRE_SERVER: the program, default build/bin/quire-server
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
export QUIRE_SERVER="${QUIRE_SERVER:-$root/build/bin/quire-server}" QUIRE_ROOT="$root"
folder=$(cd "$(dirname "$QUIRE_SERVER")/.." && pwd)/serve-node

skip() { echo "skipped: $1"; exit 77; }
command -v node >/dev/null || skip "no node"
[ "$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ] || skip "node is older than 20"

# Imports are looked up beside the importing file, so the tests run as copies beside node_modules.
mkdir -p "$folder"
exec 9>"$folder/lock"
flock 9
if ! cmp -s "$here/package.json" "$folder/installed.json"; then
    command -v npm >/dev/null || skip "no npm"
    cp "$here/package.json" "$folder/"
    (cd "$folder" && npm install --no-package-lock --ignore-scripts --no-audit --no-fund --loglevel=error \
        >install.log 2>&1) || skip "npm install failed: $(tail -n 3 "$folder/install.log" | tr '\n' ' ')"
    cp "$here/package.json" "$folder/installed.json"
fi
cp "$here"/*.mjs "$folder/"
flock -u 9
cd "$folder"
exec node --test --test-concurrency=1 "$(basename "$1")" 9>&-
