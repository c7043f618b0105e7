#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_options.sh PROGRAM SOURCE_DIR - --help, man page and bash completion of quire-chat agree with
# its option table, which --list-options prints as NAMES|VALUE|COMPLETION.
set -u
program=$1
source_dir=$2
unset QUIRE_ISA "${!QUIRE_ARG_@}"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

failed()
{
    failures=$((failures + 1))
    echo "FAILED: $*"
}

"$program" --list-options >"$folder/list" || failed "--list-options"
[ "$(wc -l <"$folder/list")" -ge 30 ] || failed "--list-options prints $(wc -l <"$folder/list") options"
cut -d'|' -f1 "$folder/list" | tr ' ' '\n' | sort -u >"$folder/names"

# ---- --help, where a row begins like "  -m, --model FILE"

"$program" --help >"$folder/help"
while IFS='|' read -r names value _; do
    for name in $names; do
        grep -qE -- "^  (-[a-z-]+, )?$name${value:+ $value}( |$)" "$folder/help" && continue 2
    done
    failed "--help lacks $names $value"
done <"$folder/list"
[ "$(awk 'length > 80' "$folder/help")" = "" ] || failed "--help is wider than 80 columns"

# ---- Man page: option headings are the lines after .TP in the section OPTIONS

sed -n '/^\.SH OPTIONS/,/^\.SH COMMANDS/p' "$source_dir/docs/man/quire-chat.1" |
    sed -n '/^\.TP/{n;s/\\-/-/g;s/\\f.//g;s/^\.B[A-Z]* //;s/"//g;s/ \+/ /g;s/ ,/,/g;p}' >"$folder/man"
grep -oE -- '(^|[ ,])--?[a-z][a-z0-9-]*' "$folder/man" | tr -d ' ,' | sort -u >"$folder/man_names"
while read -r name; do
    grep -qxF -- "$name" "$folder/names" || failed "the man page has $name, the program does not"
done <"$folder/man_names"
while IFS='|' read -r names value _; do
    for name in $names; do
        grep -qxF -- "$name" "$folder/man_names" || failed "the man page lacks $name"
    done
    for name in $names; do # the value follows the last name
        grep -qE -- "(^|[ ,])$name${value:+ $value}(,|$| )" "$folder/man" && continue 2
    done
    failed "the man page lacks the value of $names: $value"
done <"$folder/list"

# ---- Commands: the rows of the table, and the headings of the section COMMANDS

grep -oE '\{ "/[a-z]+"' "$source_dir/chat/commands.c" | grep -oE '/[a-z]+' | sort -u >"$folder/commands"
[ -s "$folder/commands" ] || failed "no commands in chat/commands.c"
sed -n '/^\.SH COMMANDS/,/^\.SH ENVIRONMENT/p' "$source_dir/docs/man/quire-chat.1" | grep -A1 '^\.TP' |
    grep -oE '/[a-z]+' | sort -u >"$folder/documented"
cmp -s "$folder/commands" "$folder/documented" ||
    failed "commands of the man page: $(diff "$folder/commands" "$folder/documented")"

# ---- Completion

. "$source_dir/chat/quire.bash" || failed "the completion script"

# Completes a command line; its last word is the one under the cursor.
complete_line()
{
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    COMPREPLY=()
    _quire "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
    printf '%s\n' "${COMPREPLY[@]}" | sort -u
}

complete_line "$program" - >"$folder/completed"
cmp -s "$folder/completed" "$folder/names" || failed "completion of -: $(diff "$folder/completed" "$folder/names")"
[ "$(complete_line "$program" --dry-r)" = --dry-run ] || failed "completion of --dry-r"
for option in -ctk --cache-type-v; do
    complete_line "$program" $option int | grep -qxF int8 || failed "completion of $option int"
done
complete_line "$program" --isa "" >"$folder/levels"
grep -qxF generic "$folder/levels" || failed "completion of --isa"
while read -r level; do # exit code 64 = not a level of this build
    "$program" --cpu --isa "$level" >/dev/null 2>&1
    [ $? != 64 ] || failed "completion offers --isa $level"
done <"$folder/levels"
[ "$(complete_line "$program" --compute "")" = $'f32\nnative\nthroughput' ] || failed "completion of --compute"
[ "$(complete_line "$program" -n "")" = "" ] || failed "completion of -n"
touch "$folder/model.gguf" "$folder/notes.txt"
mkdir "$folder/hugging"
[ "$(complete_line "$program" -m "$folder/m")" = "$folder/model.gguf" ] || failed "completion of -m, a file"
[ "$(complete_line "$program" -m "$folder/no")" = "" ] || failed "completion of -m, another file"
[ "$(complete_line "$program" --model "$folder/hug")" = "$folder/hugging" ] || failed "completion of -m, a folder"
[ "$(complete_line "$program" -f "$folder/no")" = "$folder/notes.txt" ] || failed "completion of -f"

echo "$(wc -l <"$folder/list") options, $failures failed"
[ $failures = 0 ]
