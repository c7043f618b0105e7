#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_tools_tmux.sh PROGRAM SOURCE_DIR - calls, questions, results and reasoning of quire-chat on the screen of a real
# terminal, tmux, at 40, 80 and 200 columns. Exit code 77: skipped.
set -u
command -v tmux >/dev/null || { echo "skipped: tmux is not installed"; exit 77; }
program=$1
tiny=${QUIRE_SHARED:-$2/../shared}/goldens/gguf/llama-q8_0.gguf
[ -e "$tiny" ] || { echo "skipped: no reference data (set QUIRE_SHARED)"; exit 77; }
folder=$(mktemp -d /tmp/quire_tools_XXXXXX)
unset TMUX QUIRE_ISA NO_COLOR "${!QUIRE_ARG_@}"
export TMUX_TMPDIR=$folder XDG_STATE_HOME=$folder/state LC_ALL=C.UTF-8
echo "set -g exit-empty off" >"$folder/tmux.conf"
tmux() { command tmux -L quire -f "$folder/tmux.conf" -u "$@"; }
trap 'tmux kill-server 2>/dev/null; rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failures=0
tests=0
timeout=${QUIRE_TEST_TIMEOUT:-60} # seconds; generous, because test machines are busy

# Every value of the schema is forced, so that all rows are known. [TOOL_CALLS] is the
# mark of Mistral's format.
cat >tools.json <<'E'
[{"name": "look_up_the_weather", "parameters": {"type": "object", "properties": {"place": {"const":
"Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch"}}, "required": ["place"], "additionalProperties": false}}]
E
cat >call.jinja <<'E'
{# [TOOL_CALLS] #}{% for m in messages %}{{ m.role }}{% endfor %}{% if add_generation_prompt %}A:{% endif %}
E
cat >think.jinja <<'E'
{# <tool_call> thinking #}{% for m in messages %}{{ m.role }}{% endfor %}{% if add_generation_prompt %}<think>{% endif %}
E
cat >tool <<'E'
#!/bin/sh
cat >>calls
printf 'rain \033[31mred\007\n'
E
chmod +x tool

# ---- The screen, without empty rows at the end; with its attributes

screen() { tmux capture-pane -p "$@" 2>&1 | sed -e 's/ *$//' -e ':a;/^\n*$/{$d;N;ba}'; }
shows() { screen -J | grep -qE -- "$1"; }
# Text that takes several rows.
joined() { screen | tr -d ' \t\n'; }
shows_joined() { joined | grep -qF -- "$1"; }
is_dim() { tmux capture-pane -pe | grep -qE $'\033\\[[0-9;]*2m'"$1"; }

# wait_until WHAT COMMAND... - waits until the command succeeds.
wait_until()
{
    local what=$1 end=$((SECONDS + timeout))
    shift
    tests=$((tests + 1))
    until "$@"; do
        if [ $SECONDS -ge $end ]; then
            failures=$((failures + 1))
            echo "FAILED at $width columns: $what"
            screen -S - | sed 's/^/  |/'
            return 1
        fi
        sleep 0.05
    done
}

# start OPTION... - starts a conversation.
start()
{
    rm -f calls
    cat >run.sh <<END2
cd $folder
trap : INT # Ctrl-C is for the program
$program -m $tiny --seed 1 $*
echo "exit code \$?"
exec cat
END2
    tmux new-session -d -x "$width" -y 40 "sh $folder/run.sh"
    wait_until "a prompt" shows '^>$'
}
stop() { tmux kill-session; }
type_line() { tmux send-keys -l -- "$1" && tmux send-keys Enter; }

call='call:look_up_the_weather{"place":"Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch"}'
question='run it\? \(y\)es, \(n\)o, \(a\)lways:'
calls_are() { [ "$(grep -cF '"name": "look_up_the_weather"' calls 2>/dev/null || true)" = "$1" ]; }
asks() { wait_until "the question" shows "$question\$"; }
chooses="--tools tools.json --chat-template-file call.jinja --tool-choice required --tool-exec ./tool -n 200"


scenario_answers()
{
    start "$chooses"
    type_line "Hi"
    asks
    wait_until "the call, in whole" shows_joined "$call"
    type_line "maybe"
    wait_until "another answer: asks again" shows "$question maybe"
    asks
    wait_until "nothing has run" calls_are ""
    type_line "n"
    wait_until "declined: nothing has run" eval 'shows "$question n" && [ ! -e calls ]'
    stop
}

scenario_yes()
{
    start "$chooses"
    type_line "Hi"
    asks
    type_line "yes"
    wait_until "the result, escaped" shows '^result: rain \\x1b\[31mred\\x07$'
    wait_until "the result is dimmed" is_dim "result: rain"
    wait_until "the call has run" calls_are 1
    stop
}

# A long result takes four rows, of any width.
scenario_rows()
{
    printf '#!/bin/sh\necho one; seq -s " " 75; seq 3\n' >rows
    chmod +x rows
    start "$chooses --tool-exec ./rows"
    type_line "Hi"
    asks
    type_line "y"
    wait_until "the end of the result" shows '^2 \.\.\.$'
    wait_until "its four rows" eval '[ "$(screen | grep -A 3 "^result: one" | cut -c 1-6 | tr "\n" /)" = "result/1 2 3 /1/2 .../" ]'
    wait_until "a cut row" eval 'screen | grep -A 1 "^result: one" | grep -qE "^1 2 3 .* \.\.\.$"'
    stop
}

# "always" holds for all calls of the tool.
scenario_always()
{
    start "$chooses"
    type_line "Hi"
    asks
    type_line "always"
    wait_until "the call has run" calls_are 1
    wait_until "a prompt" shows '^>$'
    tmux send-keys C-l
    type_line "Hi"
    wait_until "the next call has run" eval '[ "$(grep -c look_up calls)" -ge 2 ]'
    wait_until "without a question" eval '! shows "run it"'
    stop
}

scenario_stop()
{
    start "$chooses"
    type_line "Hi"
    asks
    tmux send-keys C-c
    wait_until "Ctrl-C at the question ends the turn" shows '^>$'
    wait_until "the call has not run" [ ! -e calls ]
    type_line "/save stopped.json"
    wait_until "the conversation is saved" grep -qsF "error: the user stopped the turn" stopped.json
    stop
}

# Ctrl-C while a tool runs.
scenario_interrupt()
{
    printf '#!/bin/sh\ncat >>calls; sleep 2; echo done\n' >slow
    chmod +x slow
    start "$chooses --tool-exec ./slow"
    type_line "Hi"
    asks
    type_line "a"
    wait_until "the call runs" calls_are 1
    tmux send-keys C-c
    wait_until "Ctrl-C ends the tool and the turn" shows '^>$'
    type_line "/continue"
    wait_until "the answer to the result" shows '^>$'
    stop
}

scenario_pipe()
{
    start "$chooses >answer.txt"
    type_line "Hi"
    asks
    wait_until "the question shows a call that the output does not" shows_joined "$call"
    type_line "n"
    wait_until "a prompt" shows '^>$'
    wait_until "the output has no call" eval '! grep -q look_up answer.txt'
    stop
}

scenario_think()
{
    start "--chat-template-file think.jinja -n 300 $1"
    type_line "Hi"
    wait_until "a prompt again" eval '[ "$(screen | grep -c "^>")" -ge 2 ]'
    if [ "$1" ]; then
        wait_until "marks in a pipe" grep -q '^<think>' answer.txt
    else
        wait_until "reasoning is dimmed" eval 'tmux capture-pane -pe -S - | grep -q $'"'\\033\\[2m'"
        wait_until "the prompt is not" eval 'tmux capture-pane -pe | tail -n 40 | grep -qE "\[(0;)?1m.*>"'
    fi
    stop
}

for width in 40 80 200; do
    for scenario in answers yes rows always stop interrupt pipe; do
        scenario_$scenario
    done
    scenario_think ""
    scenario_think "--show-thinking >answer.txt"
done
echo "$tests checks, $failures failed"
[ $failures = 0 ]
