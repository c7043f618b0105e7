#!/usr/bin/env bash
# Pins the bits of every result: digests of the logits of all reference models and of the bundled model, over both
# compute modes and all KV types. A change that is not meant to change arithmetic must leave them alone.
# usage: digests.sh QUIRE_EVAL check|record|detail [LEVEL...]     default: all levels of this CPU
#   check   compares with digests/LEVEL.txt (exit 1: another digest; 77: no reference data)
#   record  overwrites digests/LEVEL.txt
#   detail  prints a digest per model, level, compute mode and KV type
set -u
export LC_ALL=C
eval=$1
action=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
shared=${QUIRE_SHARED:-$here/../../../shared}
tiny=$here/../../models/quire-tiny/quire-tiny.gguf
text=$here/../../LICENSE
if [ ! -d "$shared/goldens" ]; then
    echo "skipped: no reference data at $shared (set QUIRE_SHARED)"
    exit 77
fi

runs_level() { "$eval" --list-levels | grep -qx "$1"; }

# The command line of quire-eval for a model, by its name in the digest file.
model_args() {
    case $1 in
    quire-tiny) printf '%s\n' perplexity -m "$tiny" -f "$text" ;;
    gguf*/*) printf '%s\n' golden --gguf "$shared/goldens/$1.gguf" "$shared/goldens/$(basename "${1%-*}")" ;;
    *) printf '%s\n' golden "$shared/goldens/$1" ;;
    esac
}

# "MODEL COMPUTE KV DIGEST" of a run; the digest is - when this build does not support it.
run_digest() {
    local level=$1 model=$2 compute=$3 kv=$4 said code=0 args digest
    mapfile -t args < <(model_args "$model")
    said=$("$eval" "${args[@]}" --threads 1 --isa "$level" --compute "$compute" --kv "$kv" 2>&1) || code=$?
    case $said in
    *digest\ *) digest=${said##*digest } ;;
    *) digest=error-$code ;;
    esac
    [ $code = 69 ] && digest=-
    case $digest in error-*) echo "digests.sh: $model, $level, $compute, $kv: exit code $code: ${said:0:200}" >&2 ;; esac
    echo "$model $compute $kv $digest"
}

all_models() {
    (cd "$shared/goldens" && find -L . -mindepth 2 -maxdepth 2 -name config.json -printf '%h\n' -o -name '*.gguf' -print |
        sed 's|^\./||; s|\.gguf$||' | sort)
    echo quire-tiny
}

# Lines of all runs of a level, as many runs at a time as there are CPUs, the longest first. A model ends at the first
# run that is not supported.
level_runs() {
    local level=$1 model compute kv
    while read -r model; do
        for compute in f32 native; do
            for kv in f32 f16 bf16 fp8_e4m3 fp8_e5m2 int8; do echo "$model $compute $kv"; done
        done
    done < <(all_models | tac) | xargs -P "$(nproc)" -L 1 bash -c 'run_digest "$@"' - "$level" |
        awk 'NR == FNR { digest[$1 " " $2 " " $3] = $4; next }
            { split("f32 native", computes); n = split("f32 f16 bf16 fp8_e4m3 fp8_e5m2 int8", kvs)
              for (c = 1; c <= 2; c++)
                  for (k = 1; k <= n; k++) {
                      run = $1 " " computes[c] " " kvs[k]
                      if (digest[run] == "-") next
                      print run, digest[run]
                  } }' - <(all_models)
}

# "MODEL DIGEST" lines of a level: the digest of the "COMPUTE KV DIGEST" lines of its runs.
level_digests() {
    local model rest last="" lines=""
    while read -r model rest; do
        [ "$model" = "$last" ] || { print_digest "$last" "$lines"; last=$model lines=""; }
        lines+=$rest$'\n'
    done < <(level_runs "$1"; echo)
}

print_digest() { [ -z "$2" ] || echo "$1 $(printf '%s' "$2" | sha256sum | cut -c1-16)"; }

# Every recorded model must give its recorded digest; models that are not recorded are only counted.
check_level() {
    local level=$1 recorded=$here/digests/$1.txt computed differing
    if [ ! -e "$recorded" ]; then
        echo "skipped: no digests of $level are recorded"
        return 0
    fi
    computed=$(level_digests "$level")
    differing=$(grep -Fxv -f <(printf '%s\n' "$computed") "$recorded")
    if [ -n "$differing" ]; then
        printf 'FAIL  %s: other digests than recorded of\n%s\n' "$level" "$differing"
        return 1
    fi
    echo "ok    $level: $(wc -l <"$recorded") models of $(printf '%s\n' "$computed" | wc -l)"
}

export -f run_digest model_args
export eval shared tiny text
levels="${*:-$("$eval" --list-levels)}"
failed=0
for level in $levels; do
    runs_level "$level" || { echo "skipped: this CPU lacks $level"; continue; }
    case $action in
    detail)
        level_runs "$level" | while read -r model run; do echo "$model $level $run"; done
        ;;
    record)
        mkdir -p "$here/digests"
        level_digests "$level" >"$here/digests/$level.txt"
        echo "recorded $level: $(wc -l <"$here/digests/$level.txt") models"
        ;;
    check) check_level "$level" || failed=1 ;;
    *)
        echo "digests.sh: unknown action '$action'" >&2
        exit 64
        ;;
    esac
done
exit $failed
