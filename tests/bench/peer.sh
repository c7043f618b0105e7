#!/bin/sh
# Stands for a peer's benchmark program: knows the options of llama-bench that matter here, and always answers with
# the rates 100 (prompt) and 10 (generation).
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
echo 'some line before'
echo '['
for d in $depths; do
    for p in $prompts; do [ "$p" = 0 ] || row "$p" 0 "$d" 100; done
    for n in $gens; do [ "$n" = 0 ] || row 0 "$n" "$d" 10; done
done
echo ']'
