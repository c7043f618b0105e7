#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh TEST SOURCE_DIR QUIRE_CHAT CHECK_EVENTS TEST_TERMINAL - runs a test of quire-chat with a tiny model of the
# reference data and with the bundled model, where they exist. Exit code 77: skipped.
set -u
test=$1
shared=${QUIRE_SHARED:-$2/../shared}
program=$3
check_events=$4
test_terminal=$5
tiny=$shared/goldens/gguf/llama-q8_0.gguf
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/template.jinja" <<'END'
{% for m in messages %}{{ m.role }}: {{ m.content }}
{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}
END

status=0
if [ "$test" = chat_program ]; then
    here=$(dirname "$0")
    "$here/test_chat.sh" "$program" "$check_events" || status=1
    if [ -e "$tiny" ]; then
        "$here/test_chat.sh" "$program" "$check_events" "$tiny" || status=1
    fi
else
    here=$(dirname "$0")
    case $test in
    chat_terminal) command=$test_terminal ;;
    chat_tmux) command=$here/test_tmux.sh ;;
    chat_input) command=$here/test_input.sh ;;
    esac
    if [ -e "$tiny" ]; then
        "$command" "$program" -m "$tiny" --chat-template-file "$folder/template.jinja"
        status=$?
    elif "$program" --dry-run >/dev/null 2>&1; then
        "$command" "$program"
        status=$?
    else
        echo "skipped: no bundled model and no reference data (set QUIRE_SHARED)"
        status=77
    fi
fi
exit $status
