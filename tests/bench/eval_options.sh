#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# eval_options.sh PROGRAM SOURCE_DIR - --help, man page and bash completion of quire-eval agree with its tables, and the
# program knows every option that they list.
set -u
program=$1
source_dir=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0
failed()
{
    failures=$((failures + 1))
    echo "FAILED: $*"
}

"$program" --list-options >"$folder/list" || failed "--list-options"
"$program" --list-commands | sort >"$folder/commands" || failed "--list-commands"
cut -d'|' -f1 "$folder/list" | tr ' ' '\n' | sort -u >"$folder/names"
[ "$(wc -l <"$folder/names")" -ge 20 ] || failed "the list has $(wc -l <"$folder/names") names"

# ---- --help

"$program" --help >"$folder/help"
while IFS='|' read -r names value _; do
    grep -qE -- "^  ${names/ /, }${value:+ $value}( |$)" "$folder/help" || failed "--help lacks $names $value"
done <"$folder/list"
while read -r name; do
    grep -qE "^  $name " "$folder/help" || failed "--help lacks $name"
done <"$folder/commands"

# ---- Man page: headings are the lines after .TP

section() { sed -n "/^\.SH $1/,/^\.SH $2/p" "$source_dir/docs/man/quire-eval.1" | sed -n '/^\.TP/{n;s/\\-/-/g;s/\\f.//g;p}'; }
section OPTIONS ENVIRONMENT | grep -oE -- '--?[a-z][a-z0-9-]*' | sort -u >"$folder/man_names"
cmp -s "$folder/names" "$folder/man_names" || failed "the man page: $(diff "$folder/names" "$folder/man_names")"
section COMMANDS OPTIONS | sed 's/^\.BI* //;s/ .*//' | sort >"$folder/man_commands"
cmp -s "$folder/commands" "$folder/man_commands" || failed "the man page: $(diff "$folder/commands" "$folder/man_commands")"

# ---- The program: no known option is a bad one

while IFS='|' read -r names value words; do
    word=${words%% *}
    for name in $names; do
        case $name in -h | --help | --list-levels) continue ;; esac
        case $word in file | model | "") word=1 ;; esac
        "$program" template "$name" ${value:+"$word"} >"$folder/out" 2>&1
        ! grep -q "bad option" "$folder/out" || failed "$name $word: $(head -n 1 "$folder/out")"
    done
done <"$folder/list"
"$program" template --none 1 >"$folder/out" 2>&1
[ $? = 64 ] && grep -q "bad option --none 1" "$folder/out" || failed "an unknown option: $(head -n 1 "$folder/out")"

# ---- Completion

. "$source_dir/chat/quire.bash" || failed "the completion script"
complete_line()
{
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    COMPREPLY=()
    _quire "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
    printf '%s\n' "${COMPREPLY[@]}" | sort -u
}
complete_line "$program" "" >"$folder/completed"
cmp -s "$folder/completed" "$folder/commands" || failed "commands: $(diff "$folder/completed" "$folder/commands")"
complete_line "$program" golden - >"$folder/completed"
cmp -s "$folder/completed" "$folder/names" || failed "options: $(diff "$folder/completed" "$folder/names")"
[ "$(complete_line "$program" sch)" = schema ] || failed "completion of sch"
[ "$(complete_line "$program" schema --cl)" = --clock ] || failed "completion of --cl"
[ "$(complete_line "$program" schema --clock "")" = $'cpu\nwall' ] || failed "completion of --clock"
complete_line "$program" kv -ctk int | grep -qx int8 || failed "completion of -ctk"
complete_line "$program" kv --isa "" | grep -qx generic || failed "completion of --isa"

echo "$(wc -l <"$folder/list") options, $failures failed"
[ $failures = 0 ]
