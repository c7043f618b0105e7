#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_tmux.sh PROGRAM [ARGUMENT...] - the screen of quire-chat in a real terminal, tmux, at 20, 36, 80 and 200 columns:
# progress, long input, resize, Ctrl-C, paste, wide characters, completion, suspend. The arguments select a chat model.
# Exit code 77: skipped.
set -u
command -v tmux >/dev/null || { echo "skipped: tmux is not installed"; exit 77; }
program=$(printf '%q ' "$@")
folder=$(mktemp -d /tmp/quire_tmux_XXXXXX)
unset TMUX QUIRE_ISA NO_COLOR "${!QUIRE_ARG_@}"
export TMUX_TMPDIR=$folder XDG_STATE_HOME=$folder/state LC_ALL=C.UTF-8
echo "set -g exit-empty off" >"$folder/tmux.conf"
tmux() { command tmux -L quire -f "$folder/tmux.conf" -u "$@"; }
trap 'tmux kill-server 2>/dev/null; rm -rf "$folder"' EXIT
failures=0
tests=0
widths="20 36 80 200"
timeout=${QUIRE_TEST_TIMEOUT:-60} # seconds; generous, because test machines are busy

# ---- The screen

# Prints the screen, with -S - after the scrollback, without empty rows at the end. The cursor's row counts from the top
# of the scrollback: tmux moves rows there when its width shrinks.
screen() { tmux capture-pane -p "$@" 2>&1 | sed -e 's/ *$//' -e ':a;/^\n*$/{$d;N;ba}'; }
cursor() { tmux display -p '#{cursor_x},#{e|+:#{cursor_y},#{history_size}}' 2>&1; }
from_prompt() { screen -S - | sed -n '/^>/,$p'; }

failed()
{
    failures=$((failures + 1))
    echo "FAILED: $*"
    screen -S - | sed 's/^/  |/'
    [ $failures -lt 5 ] || exit 1
}

# wait_until WHAT COMMAND... - waits until the command succeeds.
wait_until()
{
    local what=$1 end=$((SECONDS + timeout))
    shift
    tests=$((tests + 1))
    until "$@"; do
        if [ $SECONDS -ge $end ]; then
            failed "$what"
            return 1
        fi
        sleep 0.05
    done
}

input_is() { [ "$(from_prompt)" = "$1" ]; }
cursor_is() { [ "$(cursor)" = "$1" ]; }
shows() { screen -J | grep -qF -- "$1"; }
shows_not() { ! shows "$1"; }

expect_input() { wait_until "$1 at $width columns: the input is
$2" input_is "$2"; }
expect() { wait_until "$1 at $width columns: '$2' is on the screen" shows "$2"; }
expect_cursor() { wait_until "$1 at $width columns: the cursor is at $2, not $(cursor)" cursor_is "$2"; }

# Breaks ASCII text as a terminal does.
broken() { fold -w "$width" <<<"$1" | sed 's/ *$//'; }

# ---- The program

# start WIDTH HEIGHT [OPTION...] - starts the program and prints its exit code on the screen.
start()
{
    width=$1
    local height=$2
    shift 2
    cat >"$folder/run.sh" <<END
cd $folder
trap : INT # Ctrl-C is for the program
sh -c 'echo \$\$ >pid; exec "\$@"' sh $program --ignore-eos -c 512 $@
echo "exit code \$?"
exec cat
END
    tmux new-session -d -x "$width" -y "$height" "sh $folder/run.sh"
}
stop() { tmux kill-session; }
type_text() { tmux send-keys -l -- "$1"; }
press() { tmux send-keys "$@"; }
paste() { printf "$1" | tmux load-buffer - && tmux paste-buffer -p; }

has_size() { [ "$(stty size <"$(tmux display -p '#{pane_tty}')")" = "20 $width" ]; }
resize()
{
    width=$1
    tmux resize-window -x "$width"
    wait_until "a terminal of $width columns" has_size
}

# Starts a conversation and waits for the prompt. Ctrl-L clears the rows above it.
chat()
{
    start "$@" -n 4
    wait_until "a prompt at $width columns" input_is ">"
    press C-l
    wait_until "an empty screen at $width columns" eval '[ "$(screen)" = ">" ]'
    tmux clear-history # to which Ctrl-L has moved the rows
}

# ---- Scenarios

no_progress_is_left() { [ "$(screen -S - | grep -cE 'loading|processing|%')" = 0 ]; }

scenario_progress()
{
    start "$1" 20 -c 16384 --kv-mem 1G --no-cnv -n 2 -f long.txt
    expect "progress" "exit code 0"
    wait_until "the progress is erased at $width columns" no_progress_is_left
    stop
}

# Resizes while the program is stopped, so that it draws again only when it can know the width.
resize_progress()
{
    start 80 20 -c 16384 --kv-mem 1G --no-cnv -n 2 -f long.txt
    wait_until "progress at 80 columns" eval 'shows "%" || shows "exit code"'
    local pid other
    pid=$(cat "$folder/pid")
    for other in 36 200 20 80; do
        kill -STOP "$pid" || break
        resize $other
        kill -CONT "$pid"
        sleep 0.05
    done
    expect "progress" "exit code 0"
}

# A program that is stopped after it has read the width and before it writes draws for the old width, as any program
# does, and leaves a row. That happens to few attempts: one of five has to be clean.
scenario_progress_resized()
{
    local attempt
    resize_progress
    for attempt in 2 3 4 5; do
        no_progress_is_left && break
        stop
        resize_progress
    done
    wait_until "the progress is erased after a resize" no_progress_is_left
    stop
}

scenario_long_input()
{
    local text=""
    chat "$1" 20
    while [ ${#text} -lt $((2 * width + width / 2)) ]; do
        text+="word${#text} "
    done
    text+=.
    type_text "$text"
    expect_input "long input" "$(broken "> $text")"
    press Home
    expect_cursor "Home" 2,0
    type_text X
    expect_input "an insertion at the beginning" "$(broken "> X$text")"
    expect_cursor "an insertion at the beginning" 3,0
    press End
    expect_cursor "End" $(((${#text} + 3) % width)),2
    press BSpace C-w
    expect_input "deletions at the end" "$(broken "> X${text% *}" | sed '$s/[^ ]*$//;s/ *$//')"
    press C-u
    type_text "$(printf '%*s' $((width - 2)) '' | tr ' ' f)" # a row that is exactly full
    expect_cursor "a full row" 0,1
    type_text g
    expect_cursor "the row after a full row" 1,1
    press Left Left
    expect_cursor "left of a full row's end" $((width - 1)),0
    stop
}

scenario_resize()
{
    local text="The quick brown fox jumps over the lazy dog while nobody looks at it, said the hen." other
    chat "$1" 20
    type_text "$text"
    expect_input "before the resize" "$(broken "> $text")"
    for other in 36 200 20 80 21 $1; do
        resize $other
        expect_input "resized" "$(broken "> $text")"
        type_text "."
        text+=.
        expect_input "resized, then typed" "$(broken "> $text")"
    done
    stop
}

# True when the last rows are the given ones and no other row has the word "quick".
ends_once_with() { [ "$(screen | tail -n "$(wc -l <<<"$1")")" = "$1" ] && [ "$(screen -S - | grep -c quick)" = 1 ]; }

# The cursor is inside the text. There are rows above it: tmux moves rows from the top of the screen to the scrollback,
# and a cursor that goes there is lost.
scenario_resize_inside()
{
    local text="The quick brown fox jumps over the lazy dog while nobody looks at it, said the hen." other
    local before="> ${text%over*}"
    chat "$1" 20
    for _ in 1 2 3 4 5 6 7 8; do press Enter; done
    type_text "$text"
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do press M-b; done # before "over"
    type_text "X"
    for other in 36 200 20 80 21 $1; do
        resize $other
        wait_until "resized with the cursor inside, $width columns" ends_once_with "$(broken "${before}Xover${text#*over}")"
        type_text "X"
        before+=X
        wait_until "then typed, $width columns" ends_once_with "$(broken "${before}Xover${text#*over}")"
    done
    stop
}

scenario_interrupt()
{
    chat "$1" 20
    type_text "some text"
    expect_input "before Ctrl-C" "> some text"
    press C-c
    expect_input "Ctrl-C" "> some text
Ctrl-C again exits
>"
    type_text "more"
    expect_input "after Ctrl-C" "> some text
Ctrl-C again exits
> more"
    press BSpace BSpace BSpace BSpace
    local text=""
    for _ in $(seq $((width / 10 + 1))); do text+="nine char "; done
    type_text "${text% }"
    press Home
    expect_cursor "long input" 2,2
    press C-c
    expect_input "Ctrl-C with the cursor inside a long input" "> some text
Ctrl-C again exits
$(broken "> ${text% }")
Ctrl-C again exits
>"
    press C-c
    expect "two Ctrl-C" "exit code 130"
    stop
}

scenario_paste()
{
    chat "$1" 20
    type_text "ab"
    press Left
    paste '\tone\ntwo\nthree\n'
    expect_input "a paste of three lines" ">$(printf ' a    one\ntwo\nthreeb')"
    expect_cursor "a paste of three lines" 5,2
    press Up Home
    type_text "new "
    expect_input "editing a pasted line" ">$(printf ' a    one\nnew two\nthreeb')"
    press Enter
    wait_until "the answer at $width columns" eval '[ "$(screen | grep -c "^>")" = 2 ]'
    type_text "/stats"
    press Enter
    expect "three pasted lines are one turn" "session   1 answers"
    press Up Up # the turn is one entry of the history
    wait_until "the history at $width columns" eval '[ "$(screen | tail -n 2)" = "new two
threeb" ]'
    press C-c
    expect "Ctrl-C" "Ctrl-C again exits"
    type_text "first"
    press M-Enter
    type_text "second"
    wait_until "Alt-Enter at $width columns" eval '[ "$(screen | tail -n 2)" = "> first
second" ]'
    stop
}

scenario_wide()
{
    chat "$1" 20
    type_text $'\u65e5\u672ce\u0301x' # two wide characters, a combining mark
    expect_input "wide characters" $'> \u65e5\u672ce\u0301x'
    expect_cursor "wide characters" 8,0
    press Left Left
    expect_cursor "left of a combining mark" 6,0
    press Left
    expect_cursor "left of a wide character" 4,0
    type_text $'\U0001F600'
    expect_input "an inserted emoji" $'> \u65e5\U0001F600\u672ce\u0301x'
    expect_cursor "an inserted emoji" 6,0
    press BSpace Right Right BSpace
    expect_input "deletions" $'> \u65e5\u672cx'
    expect_cursor "deletions" 6,0
    press C-u
    type_text $'a\U0001F469\u200d\U0001F469\u200d\U0001F467b' # an emoji of three
    press Left Left
    expect_cursor "left of a joined emoji" 3,0
    press Delete
    expect_input "deletion of a joined emoji" "> ab"
    press C-u
    local row
    row=$(for _ in $(seq $((width / 2 - 1))); do printf '\u8a9e'; done)
    type_text "$row"$'\u65e5' # the last wide character begins a row
    expect_input "wide characters over two rows" "> $row"$'\n\u65e5'
    expect_cursor "wide characters over two rows" 2,1
    stop
}

scenario_completion()
{
    chat "$1" 20
    type_text "/sa"
    press Tab
    expect_cursor "completion of a command" 8,0
    expect_input "completion of a command" "> /save"
    type_text "ta"
    press Tab
    expect_input "the common part of two files" "> /save talk-"
    press Tab
    wait_until "the files at $width columns" eval 'shows "talk-one.json  talk-two/"'
    type_text "t"
    press Tab
    wait_until "a folder at $width columns" eval '[ "$(screen | tail -n 1)" = "> /save talk-two/" ]'
    press C-u
    type_text "/new logs"
    press Enter
    expect "a new conversation" "2: logs"
    type_text "/sw"
    press Tab
    type_text "lo"
    press Tab
    wait_until "the name of a conversation at $width columns" \
        eval '[ "$(screen | tail -n 1)" = "> /switch logs" ]'
    press C-u
    type_text "exit"
    press Enter
    expect "the word exit" "exit code 0"
    stop
}

# Text higher than the terminal: the rows around the cursor are shown; the whole text stays when it is sent.
scenario_tall()
{
    local lines
    chat "$1" 6
    lines=$(seq 101 112)
    paste "${lines//$'\n'/\\n}"
    wait_until "the last rows at $width columns" eval '[ "$(screen)" = "$(seq 107 112)" ]'
    for _ in $(seq 11); do press Up; done
    wait_until "the first rows at $width columns" eval '[ "$(screen)" = "> $(seq 101 106)" ]'
    wait_until "editing leaves nothing in the scrollback" eval '[ "$(tmux display -p "#{history_size}")" -lt 12 ]'
    press C-c
    wait_until "all rows at $width columns" eval '[ "$(screen -S - | grep -A 11 "^> 101$" | tail -n 12)" = "> $(seq 101 112)" ]'
    stop
}

scenario_search()
{
    chat "$1" 20
    type_text "/nonsense one"
    press Enter
    expect "a command" "unknown command"
    wait_until "the next prompt" eval '[ "$(screen | tail -n 1)" = ">" ]'
    press C-r
    type_text "sense"
    expect "a search" "/nonsense one"
    press Enter
    wait_until "the found line runs" eval '[ "$(screen -J | grep -c "unknown command")" = 2 ]'
    stop
}

paste_mode_is() { [ "$(grep -ao $'\033\\[?2004.' "$folder/bytes" | tail -n 1)" = $'\033[?2004'"$1" ]; }

# Ctrl-Z under a shell with job control.
scenario_suspend()
{
    width=80
    tmux new-session -d -x 80 -y 20 "cd $folder; PS1='shell: ' exec bash --norc --noediting -i"
    tmux pipe-pane "cat >$folder/bytes"
    expect "a shell" "shell:"
    type_text "$program -n 4"
    press Enter
    expect "a conversation" "/help lists"
    type_text "half a line"
    expect "typing" "> half a line"
    wait_until "bracketed paste is on" paste_mode_is h
    press C-z
    expect "Ctrl-Z" "Stopped"
    wait_until "bracketed paste is off while stopped" paste_mode_is l
    type_text "stty -a | grep -ow -e '-*icanon' -e '-*echo'"
    press Enter
    wait_until "the terminal is restored while stopped" eval '[ "$(screen | tail -n 3 | head -n 2)" = "icanon
echo" ]'
    type_text "clear; fg"
    press Enter
    wait_until "the line is drawn again" eval 'input_is "> half a line"'
    wait_until "bracketed paste is on again" paste_mode_is h
    type_text "."
    expect "typing after fg" "> half a line."
    press C-c
    expect "Ctrl-C after fg" "Ctrl-C again exits"
    press C-c
    expect "the shell again" "shell:"
    wait_until "bracketed paste is off at the end" paste_mode_is l
    stop
}

seq -s ' ' 2000 >"$folder/long.txt"
touch "$folder/talk-one.json"
mkdir "$folder/talk-two"
for w in $widths; do
    for scenario in ${SCENARIOS:-progress long_input resize resize_inside interrupt paste wide completion tall search}; do
        scenario_$scenario $w
    done
done
scenario_progress_resized
scenario_suspend
echo "$tests checks, $failures failed"
[ $failures = 0 ]
