#!/bin/sh
# Calibrates an fp8 cache on a text and uses the file in quire-eval and quire-chat; refusals of other files.
# usage: kv_scales.sh QUIRE_EVAL QUIRE_CHAT SOURCE_DIR
eval=$1
chat=$2
model=$3/models/quire-tiny/quire-tiny.gguf
folder=$(mktemp -d /tmp/quire-kv-scales-XXXXXX) || exit 70
trap 'rm -r "$folder"' EXIT
failed=0
check() { # text, expected status, command...
    text=$1 want=$2
    shift 2
    "$@" >"$folder/out" 2>"$folder/err" </dev/null
    got=$?
    [ $got = "$want" ] && return
    echo "FAIL $text: status $got, not $want"
    cat "$folder/err"
    failed=1
}
has() { # text, pattern, file
    grep -q "$2" "$folder/$3" && return
    echo "FAIL $1: no \"$2\" in:"
    cat "$folder/$3"
    failed=1
}
head -c 3000 "$3/README.md" >"$folder/text"
check "calibrate" 0 "$eval" calibrate -m "$model" -f "$folder/text" --out "$folder/scales"
check "kv" 0 "$eval" kv -m "$model" -f "$folder/text" --kv-scales "$folder/scales"
for line in '^bf16 ' '^f16 ' '^fp8_e4m3 *model' '^fp8_e4m3 *file' '^fp8_e5m2 *file' '^int8 '; do
    has "kv" "$line" out
done
# the mean KL of fp8_e4m3 with calibrated scales: 0.011 on this text
awk '$1 == "fp8_e4m3" && $2 == "file" && !($3 > 0 && $3 < 0.03) { bad = 1 } END { exit bad }' "$folder/out" || {
    echo "FAIL kv: the divergence of fp8_e4m3"
    failed=1
}
check "chat" 0 "$chat" --seed 1 -n 8 -ctk fp8 -ctv fp8 --kv-scales "$folder/scales" Hello
check "chat without fp8" 64 "$chat" --kv-scales "$folder/scales" Hello
has "chat without fp8" 'kv_scales is given' err
head -c 200 "$folder/scales" >"$folder/cut"
check "a truncated file" 65 "$chat" -ctk fp8 --kv-scales "$folder/cut" Hello
# byte 9 of the data is the fingerprint's
bytes=$(od -An -tu8 -N8 "$folder/scales")
{ head -c $((bytes + 8)) "$folder/scales" && printf 'x' && tail -c +$((bytes + 10)) "$folder/scales"; } >"$folder/other"
check "a file of another model" 65 "$chat" -ctk fp8 --kv-scales "$folder/other" Hello
has "a file of another model" 'another model' err
check "no such file" 66 "$chat" -ctk fp8 --kv-scales "$folder/none" Hello
check "calibrate without --out" 64 "$eval" calibrate -m "$model" -f "$folder/text"
check "calibrate without a text" 64 "$eval" calibrate -m "$model" --out "$folder/x"
check "kv without a model" 64 "$eval" kv -f "$folder/text"
check "calibrate into no folder" 74 "$eval" calibrate -m "$model" -f "$folder/text" --out "$folder/none/x"
exit $failed
