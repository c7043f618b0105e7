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

# "COMPUTE KV DIGEST" lines of a model; nothing when this build does not support it.
model_digests() {
    local level=$1 model=$2 compute kv said code args
    mapfile -t args < <(model_args "$model")
    for compute in f32 native; do
        for kv in f32 f16 bf16 fp8_e4m3 fp8_e5m2 int8; do
            code=0
            said=$("$eval" "${args[@]}" --isa "$level" --compute $compute --kv $kv 2>&1) || code=$?
            [ $code = 69 ] && return
            case $said in
            *digest\ *) echo "$compute $kv ${said##*digest }" ;;
            *) echo "$compute $kv error-$code" ;;
            esac
        done
    done
}

all_models() {
    (cd "$shared/goldens" && find . -mindepth 2 -maxdepth 2 -name config.json -printf '%h\n' -o -name '*.gguf' -print |
        sed 's|^\./||; s|\.gguf$||' | sort)
    echo quire-tiny
}

# "MODEL DIGEST" lines of a level: the digest of model_digests()' lines.
level_digests() {
    local level=$1 model lines
    while read -r model; do
        lines=$(model_digests "$level" "$model")
        [ -n "$lines" ] && echo "$model $(printf '%s\n' "$lines" | sha256sum | cut -c1-16)"
    done < <(all_models)
}

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

levels="${*:-$("$eval" --list-levels)}"
failed=0
for level in $levels; do
    runs_level "$level" || { echo "skipped: this CPU lacks $level"; continue; }
    case $action in
    detail)
        while read -r model; do
            model_digests "$level" "$model" | sed "s|^|$model $level |"
        done < <(all_models)
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
