#!/bin/sh
# Stub of llama-bench with the options that quire-bench uses. Reports the rates 100 t/s (prefill) and 10 t/s (decode).
set -eu
case "$*" in *--help*) echo "usage: peer [-m FILE] [-p N] [-n N] [-d, --n-depth N] [-o json]"; exit 0 ;; esac
prompts= gens= depths=0
while [ $# -gt 0 ]; do
    case "$1" in
        -p) prompts="$prompts $2" ;;
        -n) gens="$gens $2" ;;
        -d) depths="$depths $2" ;;
        -o) [ "$2" = json ] || exit 1 ;;
    esac
    shift
done
row() {
    printf '%s{"build_commit": "test", "model_type": "none", "type_k": "f16", "type_v": "f16", ' "$comma"
    printf '"n_prompt": %s, "n_gen": %s, "n_depth": %s, "avg_ts": %s}\n' "$1" "$2" "$3" "$4"
    comma=,
}
comma=
echo 'a line before the JSON'
echo '['
for d in $depths; do
    for p in $prompts; do [ "$p" = 0 ] || row "$p" 0 "$d" 100; done
    for n in $gens; do [ "$n" = 0 ] || row 0 "$n" "$d" 10; done
done
echo ']'
