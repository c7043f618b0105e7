#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_conversations.sh PROGRAM CHECKER SOURCE_DIR - conversations of quire-chat: commands, files, a full context, the
# repetition guard. CHECKER is check_events. Uses a tiny model of the reference data; exit code 77: there is none.
set -u
program=$1
checker=$2
tiny=${QUIRE_SHARED:-$3/../shared}/goldens/gguf/llama-q8_0.gguf
[ -e "$tiny" ] || {
    echo "skipped: no reference data (set QUIRE_SHARED)"
    exit 77
}
. "$(dirname "$0")/checks.sh"
export XDG_STATE_HOME=$folder/state HOME=$folder
cat >"$folder/template.jinja" <<'END'
{% for m in messages %}{{ m.role }}: {{ m.content }}
{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}
END
chat=(-m "$tiny" --chat-template-file "$folder/template.jinja" -t 1 --temp 0)

# Runs a conversation whose lines are standard input.
talk()
{
    "$program" "${chat[@]}" "$@" >"$folder/out" 2>"$folder/err"
    status=$?
}
err_lacks() { ! err_has "$1"; }
last_answer() { grep '"event":"done"' "$folder/out" | tail -n 1 | grep -o '"text":.*,"prompt_tokens"'; }
lines_on_stderr() { [ "$(grep -cF -- "$2" "$folder/err")" = "$1" ]; }
messages_in() { [ "$(grep -c '"role"' "$1")" = "$2" ]; }

# ---- Commands

for name in help system set stats regen continue undo reset clear save load new switch list close exit quit; do
    talk -i < <(printf '/help\n')
    pass_if "/help lists /$name" grep -qE "^  /$name " "$folder/err"
done
for name in exit quit; do
    talk -i --json < <(printf '/%s\nnever\n' $name)
    pass_if "/$name: success" status_is 0
    pass_if "/$name leaves" out_empty
done
talk -i < <(printf '/undo\n/continue\n/regen\n/set\n/set temp\n/reset now\n')
pass_if "/undo without a turn" err_has "no turn to remove"
pass_if "/continue without an answer" err_has "no answer to continue"
pass_if "/regen without a turn" err_has "no turn to answer"
pass_if "/set without a name" err_has "/set needs NAME VALUE"
pass_if "/set without a value" err_has "/set needs a NAME and a VALUE"
pass_if "/reset with an argument" err_has "/reset takes no argument"

talk -n 8 --json -sys "Be brief." Hello
last_answer >"$folder/brief"
talk -n 8 --json Hello
last_answer >"$folder/plain"
pass_if "the system message matters" [ "$(cat "$folder/brief")" != "$(cat "$folder/plain")" ]
talk -i -n 8 --json < <(printf '/system Be brief.\nHello\n')
pass_if "/system gives the answer of --system-prompt" [ "$(last_answer)" = "$(cat "$folder/brief")" ]
talk -i -n 8 --json -sys "Be brief." < <(printf '/system\nHello\n')
pass_if "/system without text removes the message" [ "$(last_answer)" = "$(cat "$folder/plain")" ]
talk -i -n 8 --json < <(printf '/system Be long.\n/system Be brief.\nFirst\n/clear\nHello\n')
pass_if "/clear keeps the last system message alone" [ "$(last_answer)" = "$(cat "$folder/brief")" ]
talk -i -n 8 --json < <(printf 'First\n/undo\nHello\n/save %s/undone\n' "$folder")
pass_if "/undo removes a turn" [ "$(last_answer)" = "$(cat "$folder/plain")" ]
pass_if "/undo removes it from the file" messages_in "$folder/undone" 2

# ---- /set: the names, checks and messages of the options

while read -r name value shown; do
    talk -i < <(printf '/set %s %s\n/stats\n' "$name" "$value")
    pass_if "/set $name $value" err_has "$shown"
done <<'END'
temp 0.5 temperature 0.5
temperature 0.25 temperature 0.25
--top-k 7 top-k 7
top_p 0.5 top-p 0.5
min-p 0.125 min-p 0.125
repeat-penalty 1.5 repeat 1.5
presence-penalty 0.5 presence 0.5
frequency-penalty 0.5 frequency 0.5
repeat-last-n 9 over 9 tokens
seed 77 seed 77
typical 0.5 typical 0.5
top-n-sigma 1.5 top-n-sigma 1.5
xtc-probability 0.5 XTC probability 0.5, threshold 0.1
dry-multiplier 0.5 DRY multiplier 0.5, base 1.75, allowed length 2
dynatemp-range 0.5 dynamic temperature, range 0.5, exponent 1
mirostat 2 mirostat 2, 5 bits, learning rate 0.1
samplers top_k;temperature top_k;temperature
END
talk -i --xtc-probability 1 --dry-multiplier 1 --dynatemp-range 1 --mirostat 2 < <(printf '%s\n' '/set xtc_threshold 0.25' \
    '/set dry-base 1.5' '/set dry-allowed-length 3' '/set dynatemp-exp 2' '/set mirostat-ent 3' '/set mirostat-lr 0.5' /stats)
for shown in "threshold 0.25" "base 1.5, allowed length 3" "range 1, exponent 2" "mirostat 2, 3 bits, learning rate 0.5"; do
    pass_if "/stats shows $shown" err_has "$shown"
done
talk -i --ignore-eos --json < <(printf '/set predict 3\nHello\n/set n 2\nHello\n')
pass_if "/set predict and /set n limit the answer" events_have 'completion=3 ' 'completion=2 '
while read -r name value; do
    talk "--$name" "$value" Hello
    pass_if "--$name $value is a usage error" status_is 64
    cp "$folder/err" "$folder/of_option"
    talk -i < <(printf '/stats\n')
    cp "$folder/err" "$folder/stats"
    talk -i < <(printf '/set %s %s\n/stats\n' "$name" "$value")
    cat "$folder/of_option" "$folder/stats" | grep -v 'context\|seed' | sort >"$folder/expected"
    pass_if "/set $name $value: the message of the option, and nothing changes" \
        [ "$(grep -v 'context\|seed' "$folder/err" | sort)" = "$(cat "$folder/expected")" ]
done <<'END'
temp warm
top-p 1.5
min-p -1
repeat-penalty 0
repeat-last-n -2
typical 1.5
xtc-probability 2
xtc-threshold -1
dry-multiplier -1
dry-base 0.5
dry-allowed-length 5000
dry-penalty-last-n 0
dynatemp-range -1
dynatemp-exp -1
mirostat 1
mirostat-lr -1
mirostat-ent -1
samplers top_k;top_k
samplers warmth
predict 0
END
talk -i < <(printf '/set ctx-size 100\n/set warmth 1\n')
pass_if "/set of an option that cannot change" err_has "'ctx-size' is none of predict, temp, top-k"
pass_if "/set of an unknown name" err_has "'warmth' is none of"

# ---- Continued answers

printf '[{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Once"}]' >"$folder/begun"
printf 'user: Hi.\nassistant: Once' >"$folder/text"
"$program" -m "$tiny" --no-cnv --temp 0 -n 8 --json -f "$folder/text" >"$folder/out" 2>"$folder/err"
last_answer >"$folder/expected"
talk -i --load "$folder/begun" -n 8 --json < <(printf '/continue\n/save %s/continued\n' "$folder")
pass_if "/continue continues the text of a loaded answer" [ "$(last_answer)" = "$(cat "$folder/expected")" ]
pass_if "/continue extends the message" messages_in "$folder/continued" 2
pass_if "/continue keeps the beginning" grep -q '"content": "Once.' "$folder/continued"
printf '[{"role": "user", "content": "Hello"}]' >"$folder/asked"
talk -i --load "$folder/asked" -n 8 --json < <(printf '/continue\n')
pass_if "/continue answers a last user message" [ "$(last_answer)" = "$(cat "$folder/plain")" ]

# ---- Files

talk -i -n 2 < <(printf 'Hello\n/save ~/home.json\n/load ~/home.json\n')
pass_if "~ is the home directory in /save" [ -f "$folder/home.json" ]
pass_if "~ is the home directory in /load" err_has "loaded 2 messages"
pass_if "saved files are private" [ "$(stat -c %a "$folder/home.json")" = 600 ]
chmod 644 "$folder/home.json"
talk -i < <(printf '/load ~/home.json\n/save ~/home.json\n')
pass_if "replaced files are private" [ "$(stat -c %a "$folder/home.json")" = 600 ]

mkdir "$folder/targets"
mkfifo "$folder/targets/fifo"
mkdir "$folder/targets/directory"
ln -s "$folder/home.json" "$folder/targets/link"
ln -s "$folder/nowhere" "$folder/targets/dangling"
python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$folder/targets/socket"
(cd "$folder/targets" && stat -c '%n %F %i' -- *) >"$folder/before"
for kind in fifo directory link dangling socket; do
    talk -i -n 2 < <(printf 'Hello\n/save %s\n' "$folder/targets/$kind")
    pass_if "/save to a $kind: success of the program" status_is 0
    pass_if "/save to a $kind is refused" err_has "cannot save $folder/targets/$kind: it is"
    printf '/load %s\n' "$folder/targets/$kind" | timeout 20 "$program" "${chat[@]}" -i >"$folder/out" 2>"$folder/err"
    [ $kind = link ] || pass_if "/load of a $kind is refused" err_has "cannot load"
done
pass_if "targets of /save stay as they were" \
    [ "$(cd "$folder/targets" && stat -c '%n %F %i' -- *)" = "$(cat "$folder/before")" ]
pass_if "the target of a link stays as it was" grep -q '"messages"' "$folder/home.json"

printf '[{"role": "user", "content": [{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}]}]' >"$folder/parts"
talk -i < <(printf '/load %s\n/save %s/joined\n' "$folder/parts" "$folder")
pass_if "text parts are joined by newlines" grep -qF '"content": "Hel\nlo"' "$folder/joined"
talk -i < <(printf '/set temp 0.5\n/load %s\n/stats\n' "$folder/asked")
pass_if "an array of messages keeps the settings" err_has "temperature 0.5"
printf '[{"role": "user", "content": "Hello", "name": null}]' >"$folder/null"
talk -i < <(printf '/load %s\n' "$folder/null")
pass_if "null members are ignored" err_has "loaded 1 messages"

# $1 = contents of the file, $2 = part of the message
is_refused()
{
    printf '%s' "$1" >"$folder/bad"
    talk -i < <(printf '/load %s/begun\n/load %s/bad\n/save %s/kept\n' "$folder" "$folder" "$folder")
    pass_if "/load of $1: $2" err_has "$2"
    pass_if "/load of $1 changes nothing" messages_in "$folder/kept" 2
    talk --load "$folder/bad" Hello
    pass_if "--load of $1 exits with 65" status_is 65
}
is_refused '[{"role": "user", "content": [{"type": "image_url"}]}]' "messages[0].content[0] of type 'image_url' is not text"
is_refused '[{"role": "user", "content": [{"type": "text"}]}]' "messages[0].content[0] of type 'text' is not text"
is_refused '[{"role": "user", "content": "a"}, {"role": "user", "content": 5}]' "messages[1].content is neither"
is_refused '[{"role": "user"}]' "messages[0].content is neither"
is_refused '[{"content": "a"}]' "messages[0] has no role"
is_refused '["a"]' "messages[0] has no role"
is_refused '[{"role": "assistant", "content": "", "audio": {}}]' "messages[0].audio is not supported"
is_refused '[{"role": "user", "content": "a", "name": "Ann"}]' "messages[0].name is not supported"
is_refused '[{"role": "assistant", "content": "", "reasoning_content": 5}]' "messages[0].reasoning_content is not a string"
is_refused '[{"role": "assistant", "tool_calls": []}]' "messages[0].content is neither"
is_refused '[{"role": "assistant", "tool_calls": {}}]' "messages[0].tool_calls is not an array"
is_refused '[{"role": "assistant", "tool_calls": [5]}]' "messages[0].tool_calls[0].function has no name"
is_refused '[{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": 5}}]}]' \
    "arguments that are neither a string nor an object"
is_refused '[{"role": "tool", "content": "", "tool_call_id": 5}]' "messages[0].tool_call_id is not a string"
is_refused '{"messages": []}' "neither a conversation file of this program nor an array"
is_refused '{"format": "quire-chat conversation", "version": 99}' "cannot load"
is_refused '{"format": "quire-chat conversation", "version": 1}' "messages is not an array"
is_refused '[' "line 1"

talk --load "$folder/none" Hello
pass_if "--load of a missing file exits with 66" status_is 66
talk --load "$folder/targets/directory" Hello
pass_if "--load of a directory exits with 66" status_is 66
talk -i < <(printf '/set temp 0.5\n/set predict 3\nHello\n/save %s/settings\n' "$folder")
printf '/stats\nHello\n' | "$program" "${chat[@]:0:4}" -i --ignore-eos --json --load "$folder/settings" --top-k 7 \
    >"$folder/out" 2>"$folder/err"
pass_if "--load restores settings" err_has "temperature 0.5, top-k 7"
pass_if "--load restores the length" events_have 'completion=3 '
talk -i --load "$folder/settings" --temp 0.25 < <(printf '/stats\n')
pass_if "options override the settings of --load" err_has "temperature 0.25"

talk -i -q -n 2 < <(printf '/system Hi\n/set temp 1\nHello\n/save %s/quiet\n/load %s/quiet\n/undo\n/reset\n' "$folder" "$folder")
pass_if "--quiet prints nothing" [ ! -s "$folder/err" ]

# ---- Several conversations

# The table of /list: a line of standard error matches the pattern from its beginning to its end.
listed() { grep -qE -- "^$1\$" "$folder/err"; }
listed_current() { [ "$(grep -cE '^\*' "$folder/err")" = "$1" ]; }

talk -i -n 8 --json < <(printf '%s\n' Hello '/new work' "Another one" '/switch 1' /regen "/save $folder/first" \
    '/switch work' "/save $folder/second" /list)
pass_if "conversations: success" status_is 0
pass_if "conversations: all turns are answered" answers_are 3
pass_if "/switch: /regen answers the turn of its conversation" \
    [ "$(last_answer)" = "$(cat "$folder/plain")" ]
pass_if "/switch: /save writes the current conversation" messages_in "$folder/first" 2
pass_if "/switch: each file has its own messages" grep -q '"content": "Another one"' "$folder/second"
pass_if "/switch by number" err_has "conversation 1: Hello, 1 turn"
pass_if "/switch by name" err_has "conversation 2: work, 1 turn"
pass_if "/list: number, turns, tokens, first words" listed '    1      1 +[0-9]+  Hello'
pass_if "/list marks the current conversation" listed '\*   2      1 +[0-9]+  work'
pass_if "/list marks one conversation" listed_current 1

talk -i -n 2 < <(printf '%s\n' Hello /new /list '/switch Hello' /clear /list)
pass_if "a conversation without turns has its number as name" listed '\*   2      0       -  2'
pass_if "/switch by the first words" err_has "conversation 1: Hello, 1 turn"
pass_if "/clear clears the current conversation" listed '\*   1      0       -  1'
talk -i -n 2 < <(printf '%s\n' '  Tell   me a very long story about ships  ' /new 'Incomprehensibilitiesandmore words' /list)
pass_if "first words end between words" listed ' +1 +1 +[0-9]+  Tell me a very long'
pass_if "a long first word is cut" listed '. +2 +1 +[0-9]+  Incomprehensibilitiesand'
talk -i -n 2 < <(printf '%s\n' 'Same' /new Same '/switch Same' /list)
pass_if "/switch to one of two equal first words" err_has "/switch: several conversations have this name"
pass_if "/switch to one of two equal first words stays" listed '\*   2 +1 +[0-9]+  Same'

talk -i -n 8 --json < <(printf '%s\n' '/system Be brief.' /new /system /new '/switch 1' Hello)
pass_if "/system acts on the current conversation" [ "$(last_answer)" = "$(cat "$folder/brief")" ]
talk -i -n 8 --json < <(printf '%s\n' '/system Be brief.' /new Hello)
pass_if "/new keeps the system message" [ "$(last_answer)" = "$(cat "$folder/brief")" ]
talk -i -n 2 < <(printf '%s\n' '/set temp 0.5' /new /stats)
pass_if "/new keeps the settings" err_has "temperature 0.5"
talk -i -n 2 < <(printf '%s\n' Hello /new "/load $folder/begun" '/switch 1' "/save $folder/kept")
pass_if "/load replaces the current conversation alone" grep -q '"content": "Hello"' "$folder/kept"

talk -i -n 2 < <(printf '%s\n' Hello '/new a' '/new b' /close /list)
pass_if "/close: the conversation before it is next" listed '\*   2 +0 +-  a'
pass_if "/close removes the conversation" err_lacks "3      0       -  b"
talk -i -n 2 < <(printf '%s\n' Hello '/new a' '/switch 1' /close /list '/switch 1')
pass_if "/close of the first conversation: the one after it is next" listed '\*   2 +0 +-  a'
pass_if "numbers are not used again" err_has "/switch: there is no such conversation; /list"
talk -i -n 8 --json < <(printf '%s\n' '/system Be brief.' First /close /list Hello)
pass_if "/close of the last conversation begins one" listed '\*   2 +0 +-  2'
pass_if "/close of the last conversation keeps the system message" [ "$(last_answer)" = "$(cat "$folder/brief")" ]

# $1 = name, $2 = part of the message
name_is_refused()
{
    talk -i < <(printf '/new %s\n/list\n' "$1")
    pass_if "/new $1: $2" err_has "/new: $2"
    pass_if "/new $1 begins no conversation" listed '\*   1 +0 +-  1'
}
name_is_refused "$(printf 'a%.0s' $(seq 65))" "the name has more than 64 bytes"
name_is_refused $'bell\a' "the name has a control character"
name_is_refused $'c1\xc2\x85' "the name has a control character" # U+0085 in UTF-8, whatever the locale
name_is_refused $'turned\xe2\x80\xae' "the name has a control character" # U+202E
name_is_refused $'caf\xe9' "the name is not UTF-8"
name_is_refused 7 "a name is not a number"
talk -i -n 2 < <(printf '%s\n' Hello '/new one' '/new one  ' '/new Hello' '/new über 日本' '/switch one' '/switch über 日本  ' \
    '/switch nowhere' '/switch 99999999999999999999999' '/switch 0' /switch '/list all' '/close 1')
pass_if "duplicate names are refused" lines_on_stderr 2 "/new: another conversation has this name"
pass_if "names are UTF-8" lines_on_stderr 2 "conversation 3: über 日本, 0 turns"
pass_if "unknown names and numbers" lines_on_stderr 3 "/switch: there is no such conversation; /list"
pass_if "/switch needs an argument" err_has "/switch needs NAME|NUMBER"
pass_if "/list takes no argument" err_has "/list takes no argument"
pass_if "/close takes no argument" err_has "/close takes no argument"

talk -i -n 1 < <({ for i in $(seq 2 100); do printf '/new n%s\nHello %s\n' "$i" "$i"; done; printf '/switch n57\n/list\n'
    for i in $(seq 2 100); do echo /close; done; echo /list; })
pass_if "100 conversations: success" status_is 0
pass_if "100 conversations are listed, then one" [ "$(grep -cE '^[* ] +[0-9]+ +[0-9]+ ' "$folder/err")" = 101 ]
pass_if "100 conversations: one is current" listed '\*  57 +1 +[0-9]+  n57'
pass_if "100 conversations: all but one are closed" lines_on_stderr 99 "is closed"
pass_if "100 conversations: the last one is current" listed '\* 100 +1 +[0-9]+  n100'

# together the first three prompts exceed the context: a cache of one context evicts the first one
fill=$(printf 'and then? %.0s' $(seq 14))
talk -c 256 -n 4 -i --json < <(printf '%s\n' "One $fill" /new "Two $fill" /new "Three $fill" '/switch 1' "Go on")
pass_if "a switch back reuses the prefix cache" \
    [ "$(tail -n 1 "$folder/out" | grep -o '"cached_tokens":[0-9]*' | cut -d: -f2)" -ge 100 ]
run -m "$tiny" -c 256 --dry-run --json
pass_if "without commands the cache holds one context" out_has '"cache_tokens":256,'
run -m "$tiny" -c 256 -i --dry-run --json
pass_if "with commands the cache holds four contexts" out_has '"cache_tokens":1024,'
run -m "$tiny" -c 256 -i --kv-mem 150K --dry-run --json
pass_if "the cache stays within the budget" out_has '"cache_tokens":352,'
run -m "$tiny" -c 256 -i --mlock --dry-run --json
pass_if "--mlock locks one context" out_has '"cache_tokens":256,'
talk -i -q -n 2 < <(printf '%s\n' /new Hello '/switch 1' '/new x' /close)
pass_if "--quiet: no messages of conversations" [ ! -s "$folder/err" ]

# ---- A full context

questions() { for i in $(seq "$1"); do echo "Please tell me all about number $i"; done; }
long_question=$(printf 'and then? %.0s' $(seq 14))
talk -c 256 -n 24 --json -sys "Be brief." "$long_question"
last_answer >"$folder/expected"
talk -c 256 -n 24 --json -sys "Be brief." < <({ questions 6; echo "$long_question"; })
pass_if "a rolling conversation: success" status_is 0
pass_if "a rolling conversation: all turns are answered" answers_are 7
pass_if "a rolling conversation says so once" lines_on_stderr 1 "oldest turns are no longer part"
pass_if "after a roll the prompt is the system message and the last turns" [ "$(last_answer)" = "$(cat "$folder/expected")" ]
talk -c 256 -n 24 -i -sys "Be brief." < <({ questions 6; echo "/save $folder/all"; })
pass_if "/save writes the turns that were dropped" messages_in "$folder/all" 13
talk -c 256 -n 24 -i -sys "Be brief." < <({ questions 6; echo "/system Be long."; questions 1; echo "/undo"; echo "/save $folder/all"; })
pass_if "/system and /undo after a roll" messages_in "$folder/all" 13
talk -c 256 -n 24 --json --no-roll < <(questions 6)
pass_if "--no-roll ends with 65" status_is 65
pass_if "--no-roll gives the sizes" err_has "tokens, the context is 256"
pass_if "--no-roll gives the remedy" err_has "/reset clears"
talk -c 64 "$long_question $long_question"
pass_if "a turn longer than the context exits with 65" status_is 65
pass_if "a turn longer than the context: the remedy" err_has "-c N sets"
# the penalty makes the model repeat the letters of the prompt: text that is tokenized again as it was generated
talk -i -c 160 --ignore-eos --repeat-penalty 0.01 --json < <(printf '/set predict 8\nHi\n/set predict -1\nHello\n/set predict 4\n/continue\nHello\n/save %s/full\n' "$folder")
pass_if "an answer to the end of the context: success" status_is 0
pass_if "an answer to the end of the context names /continue" err_has "is full: /continue"
pass_if "/continue and a further turn after a full context" events_have \
    'completion=8 ' 'full=yes' 'reason=length .* completion=4 '
pass_if "/continue and a further turn after a full context: four answers" answers_are 4
pass_if "the answer and its continuation are one message" messages_in "$folder/full" 6

# ---- Repetition: a negative penalty makes the model repeat one token for ever

loop=(-c 2048 --frequency-penalty -100 --repeat-last-n -1)
talk -i "${loop[@]}" --json < <(printf 'Hello\nHello\n/save %s/loop\n' "$folder")
pass_if "the guard ends answers" events_have 'reason=repetition .* completion=5[12][0-9] '
pass_if "the guard ends answers: success" status_is 0
pass_if "both turns are answered" answers_are 2
pass_if "the guard names its option" err_has "--no-repeat-guard"
pass_if "the guard keeps no repetition" [ "$(wc -c <"$folder/loop")" -lt 2000 ]
talk "${loop[@]}" --json --no-repeat-guard Hello
pass_if "--no-repeat-guard" events_have 'reason=length .* full=yes'
talk "${loop[@]}" --json --ignore-eos Hello
pass_if "--ignore-eos has no guard" events_have 'reason=length .* full=yes'
talk "${loop[@]}" --json -n 400 Hello
pass_if "a shorter repetition is no loop" events_have 'reason=length .* completion=400 '

# ---- Messages in the words of the user

talk -c 2048 --kv-mem 1K Hello
pass_if "too small a budget names --kv-mem" err_has "--kv-mem: one block"
talk -c 100000 --kv-mem 1M Hello
pass_if "too large a context names --ctx-size" err_has "--ctx-size: the KV cache"
talk -t 999 -n 1 Hello
pass_if "too many threads: success" status_is 0
pass_if "too many threads: a warning" err_has "999 threads on"
talk -t 1 -n 1 Hello
pass_if "one thread: no warning" err_lacks "threads on"
run -m "$folder/targets/directory" Hello
pass_if "a folder without a model" err_has "directory is not a model folder: config.json"
pass_if "a folder without a model exits with 66" status_is 66
run -m "$folder/begun" Hello
pass_if "a conversation as model" err_has "begun: not a GGUF file"
pass_if "a conversation as model exits with 65" status_is 65
cp "$folder/begun" "$folder/talk.json"
run -m "$folder/talk.json" Hello
pass_if "a JSON file as model" err_has "talk.json is not a GGUF file"

finish
