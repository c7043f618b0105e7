#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_chat.sh PROGRAM CHECKER [MODEL] - quire-chat as a program: exit codes, streams, JSON, signals, files.
# CHECKER is check_events. MODEL is a GGUF file with a tokenizer; default: the bundled model; with neither, most checks
# are skipped.
set -u
program=$1
checker=$2
model=${3-}
. "$(dirname "$0")/checks.sh"
export XDG_STATE_HOME=$folder/state

# ---- Without a model

run --help
pass_if "--help succeeds" status_is 0
pass_if "--help shows the usage on stdout" out_has "usage: quire-chat"
run --version
pass_if "--version succeeds" status_is 0
pass_if "--version names the program" out_has "quire-chat "
run --cpu
pass_if "--cpu succeeds" status_is 0
pass_if "--cpu shows the level" out_has "level"
for level in generic avx2 neon; do
    run --cpu --isa $level
    pass_if "--cpu --isa $level exits with 0, 64 or 69" [ $status = 0 -o $status = 64 -o $status = 69 ]
done
run --cpu --isa pentium
pass_if "an unknown --isa is a usage error" status_is 64
pass_if "an unknown --isa: the message lists the names" err_has generic
QUIRE_ISA=pentium "$program" --cpu >"$folder/out" 2>"$folder/err"
status=$?
pass_if "an unknown QUIRE_ISA is a configuration error" status_is 78

bad_usage()
{
    run "$@"
    pass_if "usage error: $*" status_is 64
    pass_if "one line on stderr: $*" [ "$(wc -l <"$folder/err")" = 1 ]
    pass_if "nothing on stdout: $*" out_empty
}
bad_usage --no-such-option
bad_usage -z
bad_usage -p
bad_usage -n many hello
bad_usage -n 0 hello
bad_usage -n -2 hello
bad_usage -c -1 hello
bad_usage -c 99999999999 hello
bad_usage -t 0x4 hello
bad_usage -t 5000 hello
bad_usage --temp warm hello
bad_usage --temp nan hello
bad_usage --temp 1e999 hello
bad_usage --top-p 1,5 hello
bad_usage -s -2 hello
bad_usage -ctk q17 hello
bad_usage -ctv "" hello
bad_usage --compute fast hello
bad_usage --kv-mem lots hello
bad_usage --kv-mem 0 hello
bad_usage --kv-mem 4Q hello
bad_usage --json=maybe hello
bad_usage one two
bad_usage -p one two
bad_usage -p one -f /dev/null
bad_usage -f /dev/null
bad_usage -p ""
QUIRE_ARG_CTX_SIZE=x "$program" hello >"$folder/out" 2>"$folder/err"
status=$?
pass_if "a bad value in the environment is a usage error" status_is 64
pass_if "a bad value in the environment: the message names the variable" err_has QUIRE_ARG_CTX_SIZE

run -m "$folder/none.gguf" hello
pass_if "a missing model exits with 66" status_is 66
pass_if "a missing model: the message names the file" err_has none.gguf
run -f "$folder/none.txt"
pass_if "a missing prompt file exits with 66" status_is 66
run -f "$folder"
pass_if "a folder as prompt file exits with 66" status_is 66
run --chat-template-file "$folder/none.jinja" hello
pass_if "a missing template exits with 66" status_is 66
: >"$folder/empty.gguf"
run -m "$folder/empty.gguf" hello
pass_if "an empty model exits with 65" status_is 65
head -c 5000 /dev/urandom >"$folder/noise.gguf"
run -m "$folder/noise.gguf" hello
pass_if "random bytes as a model exit with 65" status_is 65
run --json -m "$folder/noise.gguf" hello
pass_if "random bytes as a model with --json exit with 65" status_is 65
pass_if "random bytes as a model with --json: an error event" events_have '^error code=QUIRE_E_'
"$program" --help >/dev/full 2>"$folder/err"
status=$?
pass_if "--help to a full disk exits with 74" status_is 74
"$program" --version >&- 2>"$folder/err"
status=$?
pass_if "--version to a closed stdout exits with 74" status_is 74

# ---- With a model

if [ -n "$model" ]; then
    set -- -m "$model"
else
    set --
fi
run "$@" -n 1 hello
if [ -z "$model" ] && err_has "no bundled model"; then
    pass_if "no model is a usage error" status_is 64
    skip "checks with a model: no bundled model, no file given"
    finish
fi
if [ $status = 65 ] && err_has "template"; then
    pass_if "a model without chat template names the remedy" err_has "--no-cnv"
    run "$@" --no-cnv -n 1 hello
    pass_if "a model without chat template completes plain text" status_is 0
    cat >"$folder/template.jinja" <<'END'
{% for m in messages %}{{ m.role }}: {{ m.content }}
{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}
END
    set -- "$@" --chat-template-file "$folder/template.jinja"
    run "$@" -n 1 hello
fi
pass_if "one token: success" status_is 0
common="-n 12 --temp 0"

run "$@" $common "Once upon a time"
pass_if "a positional prompt: success" status_is 0
pass_if "a positional prompt: the answer is not empty" [ -s "$folder/out" ]
pass_if "a positional prompt: the answer ends with a newline" [ "$(tail -c 1 "$folder/out" | od -An -c | tr -d ' ')" = '\n' ]
cp "$folder/out" "$folder/first"
run "$@" $common -p "Once upon a time"
pass_if "-p gives the same answer" cmp -s "$folder/out" "$folder/first"
printf 'Once upon a time\n' >"$folder/prompt"
run "$@" $common -f "$folder/prompt"
pass_if "-f gives the same answer" cmp -s "$folder/out" "$folder/first"
"$program" "$@" $common -f - <"$folder/prompt" >"$folder/out" 2>"$folder/err"
status=$?
pass_if "-f - gives the same answer" cmp -s "$folder/out" "$folder/first"
"$program" "$@" $common <"$folder/prompt" >"$folder/out" 2>"$folder/err"
status=$?
pass_if "a line of stdin gives the same answer" cmp -s "$folder/out" "$folder/first"
for threads in 1 2 3; do
    run "$@" $common -t $threads "Once upon a time"
    pass_if "-t $threads gives the same answer" cmp -s "$folder/out" "$folder/first"
done
QUIRE_ARG_PREDICT=12 QUIRE_ARG_TEMP=0 "$program" "$@" "Once upon a time" >"$folder/out" 2>"$folder/err" </dev/null
status=$?
pass_if "options from the environment give the same answer" cmp -s "$folder/out" "$folder/first"

run "$@" -n 12 --seed 5 --json "Once upon a time"
pass_if "--json: success" status_is 0
pass_if "--json: a done event with all fields" events_have '^done reason=(stop|length) cached=none completion=[0-9]+ seed=5 full=no'
cp "$folder/events" "$folder/seed5"
run "$@" -n 12 --seed 5 --json "Once upon a time"
pass_if "the same seed: a done event" events_have done
pass_if "the same seed gives the same events" cmp -s "$folder/events" "$folder/seed5"
printf 'Hello\n\nHello\n' | "$program" "$@" $common --json >"$folder/out" 2>"$folder/err"
status=$?
pass_if "two lines are two turns" answers_are 2
pass_if "the second turn hits the prefix cache" events_have cached=none cached=some
run "$@" --temp 0 -n 12 --json --stop "$(LC_ALL=C grep -ao '[[:alnum:][:punct:]]' "$folder/first" | tail -n 1)" "Once upon a time"
pass_if "--stop: success" status_is 0
pass_if "--stop ends the answer" events_have reason=stop
run "$@" $common --json --ignore-eos "Once upon a time"
pass_if "--ignore-eos generates up to the limit" events_have 'reason=length .* completion=12 '
run "$@" -c 48 --temp 0 --json --ignore-eos "Once upon a time"
pass_if "a full context: success" status_is 0
pass_if "a full context: the done event has full=yes" events_have 'reason=length .* full=yes'
pass_if "a full context: the message has the context size" err_has "context of 48 tokens is full"
run "$@" -c 16 "$(printf 'word %.0s' $(seq 200))"
pass_if "a prompt longer than the context exits with 65" status_is 65
pass_if "a prompt longer than the context: the message has the context size" err_has 16
run "$@" -c 2048 --kv-mem 1K hello
pass_if "a --kv-mem of less than one block exits with 64" status_is 64
pass_if "a --kv-mem of less than one block: the message has the sizes" err_has MiB
run "$@" --dry-run --kv-mem 100M
pass_if "--dry-run: success" status_is 0
pass_if "--dry-run prints the cache" out_has cache
if [ -n "$model" ]; then
    run "$@" $common -n 40 "Once upon a time"
    cp "$folder/out" "$folder/plain"
    run "$@" $common -n 40 -md "$model" "Once upon a time"
    pass_if "-md: success" status_is 0
    pass_if "-md: the same answer" cmp -s "$folder/out" "$folder/plain"
    run "$@" --dry-run -md "$model"
    pass_if "-md: --dry-run prints the draft model" out_has "draft    "
    run "$@" --dry-run --json --draft-model "$model"
    pass_if "-md: --dry-run --json has its sizes" out_has '"draft_kv_bytes":'
    run "$@" --dry-run --model-draft "$model" --draft-max 0
    pass_if "--draft-max 0: no draft model" eval '! out_has "draft    "'
    printf 'hello\n/stats\n' | "$program" "$@" $common -md "$model" -i >"$folder/out" 2>"$folder/err"
    pass_if "-md: /stats counts drafts" eval 'out_has "tokens of the draft model accepted" ||
        err_has "tokens of the draft model accepted"'
    run "$@" -md "$model" --draft-max 1025 hello
    pass_if "--draft-max above 1024 exits with 64" status_is 64
    pass_if "--draft-max above 1024: the message names it" err_has "--draft-max 1025 is above 1024"
    run "$@" $common -n 40 --draft-lookup "Once upon a time"
    pass_if "--draft-lookup: success" status_is 0
    pass_if "--draft-lookup: the same answer" cmp -s "$folder/out" "$folder/plain"
    printf 'hello\n/stats\n' | "$program" "$@" $common --draft-lookup -i >"$folder/out" 2>"$folder/err"
    pass_if "--draft-lookup: /stats counts drafts" eval 'out_has "0 of 0 tokens of the draft model accepted" ||
        err_has "0 of 0 tokens of the draft model accepted"'
    run "$@" --mtp hello
    pass_if "--mtp without a head in the model exits with 65" status_is 65
    pass_if "--mtp without a head: the message names it" err_has "--mtp: quire knows no heads of multi-token prediction"
    run "$@" -md "$folder/none.gguf" hello
    pass_if "-md without a file exits with 66" status_is 66
fi
if [ -n "$model" ]; then
    run "$@" $common "Once upon a time"
    cp "$folder/out" "$folder/packed"
    for start in first later; do
        run "$@" $common --pack-cache "$folder/cache" -v "Once upon a time"
        pass_if "--pack-cache, $start start: success" status_is 0
        pass_if "--pack-cache, $start start: the same answer" cmp -s "$folder/out" "$folder/packed"
    done
    pass_if "--pack-cache, later start: weights mapped from the cache" err_has "mapped from"
    echo "not a cache" >"$folder/cache"
    run "$@" $common --pack-cache "$folder/cache" "Once upon a time"
    pass_if "--pack-cache with a file of another format: success" status_is 0
    pass_if "--pack-cache with a file of another format: a warning" err_has "not overwritten"
    pass_if "--pack-cache does not replace a file of another format" grep -q "not a cache" "$folder/cache"
fi
run "$@" $common "Once upon a time"
cp "$folder/out" "$folder/cold"
for start in first later; do
    run "$@" $common --prompt-cache "$folder/prompts" -v "Once upon a time"
    pass_if "--prompt-cache, $start start: success" status_is 0
    pass_if "--prompt-cache, $start start: the same answer" cmp -s "$folder/out" "$folder/cold"
    pass_if "--prompt-cache, $start start: the file is written" err_has "tokens saved in"
done
pass_if "--prompt-cache, later start: the file is used" err_has "tokens restored from"
run "$@" $common --prompt-cache "$folder/prompts" --json "Once upon a time"
pass_if "--prompt-cache: the prompt is reused" events_have cached=some
run "$@" $common --prompt-cache "$folder/prompts" -ctk int8 "Once upon a time"
pass_if "--prompt-cache of another cache type: success" status_is 0
pass_if "--prompt-cache of another cache type: a warning that names it" err_has int8
run "$@" $common --prompt-cache "$folder/prompts" -ctk int8 -v "Once upon a time"
pass_if "--prompt-cache of another cache type is replaced" err_has "tokens restored from"
echo "not a cache" >"$folder/prompts"
run "$@" $common --prompt-cache "$folder/prompts" "Once upon a time"
pass_if "--prompt-cache with a file of another kind: success" status_is 0
pass_if "--prompt-cache with a file of another kind: a warning" err_has "not a cache file"
pass_if "--prompt-cache does not replace a file of another kind" grep -q "not a cache" "$folder/prompts"
run "$@" $common --prompt-cache "$folder/none/prompts" "Once upon a time"
pass_if "--prompt-cache in a missing folder: success" status_is 0
pass_if "--prompt-cache in a missing folder: a warning" err_has "is not written"
for type in f32 bf16 f16 fp8 fp8_e5m2 int8; do
    run "$@" $common -ctk $type -ctv $type "Once upon a time"
    pass_if "-ctk $type: success" status_is 0
done
run "$@" $common -ctv int4 --rotate-values "Once upon a time"
if status_is 0; then
    pass_if "--rotate-values: an answer" grep -q . "$folder/out"
else # heads of 16
    pass_if "-ctv int4: status 65" status_is 65
    pass_if "-ctv int4: a message" err_has "v_dtype int4: the head size 16 is not a multiple of 32"
fi
run "$@" $common --rotate-values "Once upon a time"
pass_if "--rotate-values without int4 values: a message" err_has "values are f16, not int4"
run "$@" $common --compute f32 "Once upon a time"
pass_if "--compute f32: success" status_is 0
run "$@" $common --bf16-states "Once upon a time" # without recurrent layers it changes nothing
pass_if "--bf16-states: success" status_is 0
"$program" "$@" $common hello >/dev/full 2>"$folder/err"
status=$?
pass_if "an answer to a full disk exits with 74" status_is 74
"$program" "$@" $common hello >&- 2>"$folder/err"
status=$?
pass_if "an answer to a closed stdout exits with 74" status_is 74
"$program" "$@" $common hello 2>"$folder/err" | true
status=${PIPESTATUS[0]}
pass_if "an answer to a closed pipe: SIGPIPE or success" [ "$status" = 141 -o "$status" = 0 ]
printf 'Hello \xff\xc3 there\x01 <|im_end|>\n' | "$program" "$@" $common --json >"$folder/out" 2>"$folder/err"
status=$?
pass_if "ill-formed input: success" status_is 0
pass_if "ill-formed input: a well-formed done event" events_have done

# ---- Commands, through -i

printf 'Hello\n/stats\n/save %s/talk.json\n/regen\n/reset\n/load %s/talk.json\n/save %s/again.json\n/nonsense\n/load %s/none\n/load %s/first\n/quit\nnever\n' \
    "$folder" "$folder" "$folder" "$folder" "$folder" >"$folder/commands"
"$program" "$@" -i $common --json <"$folder/commands" >"$folder/out" 2>"$folder/err"
status=$?
pass_if "commands: success" status_is 0
pass_if "two answers: one and its regeneration" answers_are 2
pass_if "/stats shows the seed" err_has "seed"
pass_if "/save and /load agree" cmp -s "$folder/talk.json" "$folder/again.json"
pass_if "messages are in the file" grep -q '"role": "assistant"' "$folder/talk.json"
pass_if "options are in the file" grep -q '"temperature": 0,' "$folder/talk.json"
pass_if "no temporary file is left" [ ! -e "$folder/talk.json.tmp" ]
pass_if "an unknown command is reported" err_has "/nonsense"
pass_if "a missing file is reported" err_has "cannot load"

# ---- Configuration keys that quire does not know

tiny=$(dirname "$0")/../../models/quire-tiny/quire-tiny.gguf
LC_ALL=C sed 's/llama\.vocab_size/llama.vocab_sizz/' "$tiny" >"$folder/unknown.gguf"
run -m "$folder/unknown.gguf" -n 1 "Once upon a time"
pass_if "an unknown key is refused" [ "$status" -ne 0 ]
pass_if "an unknown key is named" err_has "llama.vocab_sizz"
run -m "$folder/unknown.gguf" --allow-unknown -n 1 "Once upon a time"
pass_if "--allow-unknown: success" status_is 0
pass_if "--allow-unknown: a warning" err_has "llama.vocab_sizz is not supported"

# ---- Signals: without a terminal, Ctrl-C cancels the request and exits

# Printable text: what a random model writes may contain U+0000, which the checker refuses.
long=(--ignore-eos --regex '[!-~]*' -c 60000 --kv-mem 4G)
rm "$folder/out"
"$program" "$@" "${long[@]}" --json "Once upon a time" >"$folder/out" 2>"$folder/err" </dev/null &
pid=$!
for _ in $(seq 100); do
    [ -s "$folder/out" ] && break
    sleep 0.05
done
# a background child of a shell ignores SIGINT by default; the program installs a handler
kill -INT $pid
wait $pid
status=$?
pass_if "Ctrl-C exits with 130" status_is 130
pass_if "the last event has reason=cancelled" events_have reason=cancelled
"$program" "$@" "${long[@]}" "Once upon a time" >"$folder/out" 2>"$folder/err" </dev/null &
pid=$!
sleep 0.3
kill -TERM $pid 2>/dev/null
wait $pid
status=$?
pass_if "SIGTERM ends the program with 143" status_is 143

finish
