#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_tools.sh PROGRAM CHECK_EVENTS SOURCE_DIR - tools, calls run by a program, and reasoning of quire-chat. Most of it
# with a tiny model of the reference data, random weights whose calls are valid because they are constrained, and
# templates with the marks of a format. Exit code 77: skipped.
set -u
program=$1
checker=$2
bundled=$3/models/quire-tiny/quire-tiny.gguf
tiny=${QUIRE_SHARED:-$3/../shared}/goldens/gguf/llama-q8_0.gguf
[ -e "$tiny" ] || { echo "skipped: no reference data (set QUIRE_SHARED)"; exit 77; }
command -v setsid >/dev/null || { echo "skipped: no setsid"; exit 77; }
. "$(dirname "$0")/checks.sh"
cd "$folder" || exit 1

# ---- Tools, templates, programs

cat >tools.json <<'E'
[{"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {"a": {"type": "integer",
"minimum": 0, "maximum": 99}}, "required": ["a"], "additionalProperties": false}}},
{"name": "town", "parameters": {"type": "object", "properties": {"name": {"enum": ["Rome", "Oslo"]}}, "required":
["name"], "additionalProperties": false}}]
E
# Its tool mark is [TOOL_CALLS]: the format of Mistral, without reasoning.
cat >mistral.jinja <<'E'
{% if tools %}[TOOL_CALLS]{% for t in tools %}{{ t.function.name }}.{% endfor %}{% endif %}{% for m in messages %}
{{ m.role }}={{ m.content }}{% for c in m.tool_calls or [] %}{{ c.function.name }}{{ c.function.arguments | tojson }}{% endfor %}{% endfor %}
{% if add_generation_prompt %}A:{% endif %}
E
# Marks of Hermes; the prompt opens a thinking block if that is turned on.
cat >hermes.jinja <<'E'
{# <tool_call> #}{% for m in messages %}{{ m.role }}={{ m.content }}{% if m.reasoning_content %}R{{ m.reasoning_content | length }}{% endif %};{% endfor %}
{% if add_generation_prompt %}A:{% if enable_thinking %}<think>
{% elif effort %}{{ raise_exception('effort ' + effort) }}{% endif %}{% endif %}
E

# tool NAME - makes a program of the standard input.
tool()
{
    { echo '#!/bin/sh'; cat; } >"$1"
    chmod +x "$1"
}
tool good <<<'cat >>calls; echo "it is 7"'

model=(-m "$tiny" --seed 1 -n 120 --tools tools.json --chat-template-file mistral.jinja)
# Without a terminal, whatever this test runs on.
run() { setsid -w "$program" "$@" >out 2>err </dev/null; status=$?; }
chat() { run "${model[@]}" "$@"; }
called_with() { grep -qE -- "$1" calls; }
jq_is() # EXPRESSION - python over `events`, the list of the JSON events
{
    python3 - "$folder/out" "$1" <<'E'
import json, sys
events = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
kinds = [e["event"] for e in events]
def of(kind): return [e for e in events if e["event"] == kind]
assert eval("(" + sys.argv[2] + ")"), kinds
E
}

# ---- Calls of the answer

is_call() # NAME - every line of the output is a call
{
    python3 - "$folder/out" "$1" <<'E'
import json, sys
lines = open(sys.argv[1], encoding="utf-8").read().splitlines()
assert lines
for line in lines:
    call = json.loads(line)
    assert list(call) == ["name", "arguments"], call
    assert call["name"] in sys.argv[2].split(), call
    if call["name"] == "add":
        assert list(call["arguments"]) == ["a"] and 0 <= call["arguments"]["a"] <= 99, call
    else:
        assert call["arguments"] in ({"name": "Rome"}, {"name": "Oslo"}), call
E
}
for seed in 2 3 4 5; do # answers that end
    chat --seed $seed -n 450 --tool-choice required "How warm is it?"
    pass_if "required calls are valid, seed $seed" is_call "add town"
    chat --seed $seed -n 450 --tool-choice town "How warm is it?"
    pass_if "calls of one tool are valid, seed $seed" is_call town
done
chat --tool-choice none "How warm is it?"
pass_if "without tools there is no call" eval '[ $status = 0 ] && ! is_call "add town" 2>/dev/null'
chat --seed 2 -n 450 --tool-choice required --json "How warm is it?"
pass_if "events of calls" jq_is 'of("tool_call") and not of("token") and kinds[-1] == "done" and
    all(set(e) == {"event", "id", "name", "arguments"} and len(e["id"]) == 9 for e in of("tool_call"))'
pass_if "ids differ" jq_is 'len({e["id"] for e in of("tool_call")}) == len(of("tool_call"))'
pass_if "events are well-formed" events_have "^done "
cp out first
chat --seed 2 -n 450 --tool-choice required --json "How warm is it?"
pass_if "a seed gives the same calls and ids" diff <(grep '"event":"tool_call"' first) <(grep '"event":"tool_call"' out)

# the forms of the file
sed -n '2,$p' tools.json | sed 's/^{"name"/[&/' >inner.json
printf '{"tools": %s, "model": "x"}' "$(cat tools.json)" >object.json
printf '{"name": "add", "parameters": {"type": "object", "properties": {"a": {"const": 5.50}}, "required": ["a"],
"additionalProperties": false}}' >one.json
chat --tools object.json --tool-choice required "Hi"
pass_if "tools of a request" is_call "add town"
chat --tools one.json --tool-choice required "Hi"
pass_if "one tool" grep -qE '^\{"name": "add", "arguments": \{.*5\.5.*\}\}$' out
if [ -e "$bundled" ]; then
    run --seed 1 -n 60 --tools tools.json --tool-choice required "How warm is it?"
    pass_if "a template without tools: the system message has them" is_call "add town"
    run --seed 1 -n 60 --tools tools.json -sys "Be kind." --tool-choice required --json "How warm is it?"
    pass_if "with a system message, too" jq_is 'of("tool_call") and of("done")[0]["prompt_tokens"] > 100'
fi
chat --json-schema '{"type": "object", "properties": {"x": {"enum": [1, 2]}}, "required": ["x"], "additionalProperties": false}' \
    --tool-choice none -n 60 "Hi"
pass_if "content by a schema beside tools" eval '[ "$(tr -d "[:space:]" <out | tr 1 2)" = "{\"x\":2}" ]'

# ---- Running calls

rm -f calls
chat --tool-choice add --tool-exec ./good --tool-yes "How warm?"
pass_if "a call is run and answered" status_is 0
pass_if "the program reads name and arguments" called_with '^\{"name": "add", "arguments": \{.*\}\}$'
pass_if "run calls are not part of the output" eval '! out_has "arguments"'
pass_if "a message shows the call" err_has 'call: add {'
chat --tool-choice add --tool-exec ./good --tool-yes -q "How warm?"
pass_if "no message with -q" eval '! err_has "call:"'
chat --tool-choice add --tool-exec ./good --tool-yes --json "How warm?"
pass_if "events of results" jq_is 'of("tool_result")[0] == {"event": "tool_result", "id": of("tool_call")[0]["id"],
    "name": "add", "ok": True, "text": "it is 7"} and len(of("done")) == 2'
tool arguments <<<'printf "%s|" "$@"; cat >/dev/null'
chat --tool-choice add --tool-exec "./arguments 'a  b' \"c\\\"d\" e\\ f ; \$HOME \`x\` ''" --tool-yes --json "Hi"
pass_if "words of the command, without a shell" jq_is \
    'of("tool_result")[0]["text"] == "a  b|c\"d|e f|;|$HOME|`x`||"'
tool deaf <<<'exec <&-; sleep 0.2; echo fine'
chat --tool-choice add --tool-exec ./deaf --tool-yes --json "Hi"
pass_if "a program that does not read" jq_is 'of("tool_result")[0]["text"] == "fine"'
tool daemon <<<'sleep 300 & echo "$!" >pid; echo started'
SECONDS=0
chat --tool-choice add --tool-exec ./daemon --tool-yes --json "Hi"
pass_if "what a program leaves running is not waited for" jq_is 'of("tool_result")[0]["text"] == "started"'
pass_if "nor for long" [ $SECONDS -lt 30 ]
kill "$(cat pid)" 2>/dev/null
tool empty <<<'cat >/dev/null'
chat --tool-choice add --tool-exec ./empty --tool-yes --json "Hi"
pass_if "an empty result" jq_is 'of("tool_result")[0]["text"] == "" and of("tool_result")[0]["ok"]'

# ---- Hostile programs: the model gets an error, the conversation goes on

hostile() # WHAT ERROR [OPTION...] - runs ./hostile
{
    local what=$1 error=$2
    shift 2
    chat --tool-choice add --tool-exec ./hostile --tool-yes --json "$@" "Hi"
    pass_if "$what: the answer ends" status_is 0
    pass_if "$what: the model is told" jq_is "not of('tool_result')[0]['ok'] and
        of('tool_result')[0]['text'].startswith('error: $error') and len(of('done')) == 2"
    pass_if "$what: a message" err_has "$error"
}
tool hostile <<<'echo "so far"; echo "no such town" >&2; exit 3'
hostile "exit code 3" "the tool exited with code 3"
pass_if "its output follows" jq_is 'of("tool_result")[0]["text"] == "error: the tool exited with code 3\nso far\n"'
pass_if "what it said is printed" err_has "no such town"
tool hostile <<<'kill -9 $$'
hostile "a signal" "the tool was ended by signal 9"
tool hostile <<<'head -c 1000000000 /dev/zero | tr "\0" x'
hostile "1 GB of output" "the result exceeds 256 KiB"
tool hostile <<<'echo x; head -c 1000000000 /dev/zero >&2; exit 1'
hostile "1 GB of errors" "the tool exited with code 1"
pass_if "errors are escaped" eval '! grep -q "[[:cntrl:]]" err'
tool hostile <<<'yes | head -c 200000'
hostile "more than the context" "the result has"
tool hostile <<<'echo $$ >pid; (trap "" TERM HUP; sleep 300) & echo $! >>pid; exec sleep 300'
SECONDS=0
hostile "a program that hangs" "the tool did not end within 1 seconds" --tool-timeout 1
pass_if "it is killed in time" [ $SECONDS -lt 60 ]
all_gone() { ! kill -0 $(cat pid) 2>/dev/null; }
gone_soon() { for i in $(seq 20); do all_gone && return; sleep 0.1; done; all_gone; }
pass_if "with its children" gone_soon
tool hostile <<<'exec >&- 2>&-; exec sleep 300'
hostile "a program that hangs without output" "the tool did not end within 1 seconds" --tool-timeout 1
tool hostile <<<'rm -f hostile2; read line </dev/tty; echo "tty $?"; exit 5'
hostile "no terminal for the program" "the tool exited with code 5"
printf '#!/nowhere/interpreter\n' >hostile
hostile "no interpreter" "the tool cannot be run: No such file"
tool hostile <<<'printf "a\377\300\200b\355\240\200c\000d\033[31m\n"'
chat --tool-choice add --tool-exec ./hostile --tool-yes --json "Hi"
pass_if "invalid UTF-8 is repaired" jq_is \
    'of("tool_result")[0]["text"] == "a\ufffd\ufffd\ufffdb\ufffd\ufffd\ufffdc\ufffdd\x1b[31m"'
printf 'Hi\n/save c.json\n' | setsid -w "$program" "${model[@]}" -i --tool-choice add --tool-exec ./hostile --tool-yes >out 2>err
pass_if "and saved as it is" python3 -c 'import json; json.load(open("c.json", encoding="utf-8"))'
tool hostile <<<'rm -f hostile; echo gone'
printf 'Hi\nHi\n' | setsid -w "$program" "${model[@]}" --tool-choice add --tool-exec ./hostile --tool-yes >out 2>err
pass_if "a program that is gone at the second call" err_has "the tool cannot be run: No such file"

# Ctrl-C kills the program, a signal that ends quire-chat, too
tool slow <<<'echo $$ >pid; exec sleep 300'
for signal in INT TERM; do
    rm -f pid
    setsid "$program" "${model[@]}" --tool-choice add --tool-exec ./slow --tool-yes "Hi" >out 2>err </dev/null &
    chat_pid=$!
    for i in $(seq 100); do [ -s pid ] && break; sleep 0.1; done
    kill -$signal $chat_pid
    wait $chat_pid
    status=$?
    pass_if "SIG$signal ends quire-chat" [ $status = $([ $signal = INT ] && echo 130 || echo 143) ]
    pass_if "SIG$signal kills the program" gone_soon
done

# ---- Conversations

tool good <<<'cat >>calls; echo "it is 7"'
talk() { setsid -w "$program" "${model[@]}" -i "$@" >out 2>err; status=$?; }
printf 'How warm?\n/save a.json\n/load a.json\n/save b.json\n' | talk --tool-choice add --tool-exec ./good --tool-yes
pass_if "a loaded conversation is the saved one" cmp a.json b.json
is_conversation() # FILE ROLES
{
    python3 - "$1" "$2" <<'E'
import json, sys
messages = json.load(open(sys.argv[1], encoding="utf-8"))["messages"]
assert [m["role"] for m in messages] == sys.argv[2].split(), messages
calls = {}
for m in messages:
    for c in m.get("tool_calls", []):
        calls[c["id"]] = c["function"]["name"]
        assert isinstance(json.loads(c["function"]["arguments"]), dict)
    if m["role"] == "tool":
        assert calls.pop(m["tool_call_id"]) == m["name"] and m["content"] == "it is 7", m
E
}
roles=$(python3 -c 'import json; print(*[m["role"] for m in json.load(open("a.json"))["messages"]])')
pass_if "calls and results are saved: $roles" is_conversation a.json "$roles"
pass_if "roles of a call" eval '[[ "$roles" == "user assistant tool "*"assistant" ]]'
# calls that no program ran are run by /continue after the load
printf 'How warm?\n/continue\n/save a.json\n' | talk --tool-choice add
pass_if "/continue without a program" err_has "the last answer calls tools: --tool-exec runs them"
rm -f calls
printf '/continue\n/save b.json\n' | talk --load a.json --tool-exec ./good --tool-yes
pass_if "/continue runs the calls of a loaded conversation" called_with '"name": "add"'
pass_if "and answers them" eval 'grep -q "\"role\": \"tool\"" b.json'
printf '/regen\n/undo\n/save c.json\n' | talk --load b.json --tool-exec ./good --tool-yes
pass_if "/undo removes the calls with their turn" grep -qF '"messages": [' c.json
pass_if "nothing is left" eval '! grep -q "\"role\"" c.json'
# foreign arrays: arguments as objects, null content, unknown tools, arguments that are none
cat >foreign.json <<'E'
[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": null, "refusal": null, "tool_calls": [
 {"id": "1", "type": "function", "function": {"name": "add", "arguments": {"a": 1.50, "b": [true, null, {"c": "d\"e"}]}}},
 {"function": {"name": "other", "arguments": "{}"}}, {"function": {"name": "add", "arguments": "a=1"}}]}]
E
printf '/save a.json\n/continue\n/save b.json\n' | talk --load foreign.json --tool-exec ./good --tool-yes
pass_if "arguments as an object" grep -qF '"arguments": "{\"a\": 1.50, \"b\": [true, null, {\"c\": \"d\\\"e\"}]}"' a.json
pass_if "a call of an unknown tool" grep -qF '"content": "error: there is no tool of this name"' b.json
pass_if "a call with other arguments" grep -qF '"content": "error: the arguments are no JSON object"' b.json

# ---- Reasoning

thinks=(-m "$tiny" --seed 1 -n 30 --chat-template-file hermes.jinja)
run "${thinks[@]}" --think "Hi"
pass_if "reasoning is absent from a pipe" [ "$(cat out)" = "" ]
run "${thinks[@]}" --think --show-thinking "Hi"
pass_if "--show-thinking" eval '[ "$(head -n 1 out)" = "<think>" ] && grep -qx "</think>" out && [ $(wc -c <out) -gt 40 ]'
run "${thinks[@]}" --no-think --show-thinking "Hi"
pass_if "--no-think" eval '! out_has "<think>" && [ -s out ]'
pass_if "the switch is known" eval '! err_has "no such switch"'
run "${thinks[@]}" --think --json "Hi"
pass_if "events of reasoning" jq_is 'of("reasoning") and not of("token") and of("done")[0]["text"] == ""'
printf 'Hi\n/save a.json\n/load a.json\n/save b.json\nHi\n/save c.json\n' |
    setsid -w "$program" "${thinks[@]}" --think -i >out 2>err
pass_if "reasoning is saved and loaded" eval 'grep -q "\"reasoning_content\": \"." a.json && cmp a.json b.json'
pass_if "in every turn" [ "$(grep -c reasoning_content c.json)" = 2 ]
run "${thinks[@]}" --template-variables '{"enable_thinking": true}' --json "Hi"
pass_if "--template-variables" jq_is 'of("reasoning")'
run "${thinks[@]}" --no-think --chat-template-kwargs '{"enable_thinking": true, "x": [1, {"y": null}]}' --json "Hi"
pass_if "--template-variables overrides --no-think" jq_is 'of("reasoning")'
run "${thinks[@]}" --template-variables '{"effort": "low"}' "Hi"
pass_if "a variable is a string of the template" err_has "effort low"
run "${thinks[@]}" --regex 'a{5}' --think "Hi"
pass_if "a regex describes the whole answer" [ "$(cat out)" = aaaaa ]
schema='{"type": "object", "properties": {"x": {"enum": [1, 2]}}, "required": ["x"], "additionalProperties": false}'
run "${thinks[@]}" -n 400 --json-schema "$schema" --no-think --json "Hi"
pass_if "a schema describes the content" jq_is 'kinds[-1] == "done"'
run -m "$tiny" --seed 1 -n 40 --chat-template-file mistral.jinja --json-schema "$schema" "Hi"
pass_if "a schema with a format that has no reasoning" grep -qE '"x"' out
printf '{%% for m in messages %%}{{ m.content }}{%% endfor %%}' >plain.jinja
run -m "$tiny" -n 4 --chat-template-file plain.jinja --think "Hi"
pass_if "a template without a switch" err_has "--think has no effect"

# ---- Bad arguments

refused() # WHAT CODE MESSAGE OPTION...
{
    run -m "$tiny" -n 4 --chat-template-file mistral.jinja "${@:4}" "Hi"
    pass_if "$1: exit code $2" status_is "$2"
    pass_if "$1: no answer" out_empty
    pass_if "$1: '$3'" err_has "$3"
}
bad_tools() # TEXT MESSAGE
{
    printf '%s' "$1" >bad.json
    refused "tools $1" 65 "$2" --tools bad.json
}
bad_tools '' "line 1"
bad_tools '[' "line 1"
bad_tools '5' "neither a tool nor an array of tools"
bad_tools '[]' "neither a tool nor an array of tools"
bad_tools '{"tools": []}' "neither a tool nor an array of tools"
bad_tools '[5]' "tools[0] is no object"
bad_tools '[{"name": "f"}, {}]' "tools[1] has no name"
bad_tools '[{"name": ""}]' "tools[0] has no name"
bad_tools '[{"type": "function", "function": 5}]' "tools[0] is no object"
bad_tools '[{"type": "web_search", "function": {"name": "f"}}]' "tools[0].type 'web_search' is not 'function'"
bad_tools '[{"name": "f"}, {"function": {"name": "f"}}]' "tools[1]: 'f' is the name of an earlier tool"
bad_tools '[{"name": "f", "name": "g"}]' "bad.json"
bad_tools '[{"name": "f", "parameters": {"type": "none"}}]' "--tools: "
bad_tools '[{"name": "f", "parameters": {"type": "object", "properties": {"a": {"$ref": "#/none"}}, "required": ["a"]}}]' \
    "--tools: "
brackets=$(printf '[%.0s' {1..63})
bad_tools "{\"name\": \"f\", \"x\": $brackets${brackets//[/]}}" "nested deeper than 64 levels"
printf '\377\376' >bad.json
refused "tools that are no UTF-8" 65 "bad.json" --tools bad.json
head -c 17000000 /dev/zero >bad.json
refused "17 MB of tools" 65 "exceeds 16 MiB" --tools bad.json
refused "a file that is not there" 66 "cannot read" --tools none.json
refused "a folder" 66 "cannot read" --tools "$folder"
refused "--tool-choice alone" 64 "--tool-choice needs --tools" --tool-choice auto
refused "--tool-exec alone" 64 "--tool-exec needs --tools" --tool-exec ./good --tool-yes
refused "--tool-yes alone" 64 "--tool-yes needs --tool-exec" --tools tools.json --tool-yes
refused "an unknown choice" 64 "'none of them' is neither" --tools tools.json --tool-choice "none of them"
refused "an empty choice" 64 "'' is neither" --tools tools.json --tool-choice ""
refused "no terminal to ask" 64 "--tool-yes runs calls without asking" --tools tools.json --tool-exec ./good
refused "a missing program" 66 "cannot run ./none: No such file" --tools tools.json --tool-exec ./none --tool-yes
refused "a missing program of PATH" 66 "cannot run no-such-tool" --tools tools.json --tool-exec no-such-tool --tool-yes
refused "a program that is a folder" 66 "cannot run /tmp: Is a directory" --tools tools.json --tool-exec /tmp --tool-yes
refused "a program that is none" 66 "cannot run ./tools.json: Permission" --tools tools.json --tool-exec ./tools.json --tool-yes
refused "no program" 64 "there is no program" --tools tools.json --tool-exec "  " --tool-yes
refused "an empty program" 64 "there is no program" --tools tools.json --tool-exec "'' x" --tool-yes
refused "an open quote" 64 "a quote is not closed" --tools tools.json --tool-exec "./good 'x" --tool-yes
refused "no time" 64 "--tool-timeout: 0 seconds" --tools tools.json --tool-exec ./good --tool-yes --tool-timeout 0
refused "a negative time" 64 "--tool-timeout" --tools tools.json --tool-timeout -1
refused "tools and a regex" 64 "not combined" --tools tools.json --regex a
refused "tools without a conversation" 64 "--no-cnv" --tools tools.json --no-cnv
refused "--think and --no-think" 64 "give one of --think and --no-think" --think --no-think
refused "variables that are no JSON" 64 "--template-variables" --template-variables '{'
refused "variables that are no object" 64 "it is not a JSON object" --template-variables '[]'
refused "duplicate variables" 64 "--template-variables" --template-variables '{"a": 1, "a": 2}'
finish
