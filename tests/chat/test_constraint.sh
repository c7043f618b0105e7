#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_constraint.sh PROGRAM SOURCE_DIR - --json-schema, --grammar and --regex of quire-chat with the bundled model.
# Exit code 77: skipped.
set -u
program=$1
model=$2/models/quire-tiny/quire-tiny.gguf
[ -e "$model" ] || { echo "skipped: there is no bundled model"; exit 77; }
. "$(dirname "$0")/checks.sh"

schema='{"type":"object","additionalProperties":false,"required":["name","age"],"properties":
  {"name":{"type":"string","maxLength":12},"age":{"type":"integer","minimum":0,"maximum":120}}}'
is_person()
{
    python3 - "$folder/out" <<'END'
import json, sys
person = json.load(open(sys.argv[1]))
assert list(person) == ["name", "age"] and len(person["name"]) <= 12 and 0 <= person["age"] <= 120, person
END
}
out_is() { grep -qxE -- "$1" "$folder/out"; }

for seed in 1 2 3; do
    run --seed $seed -j "$schema" "Tell me about Anna."
    pass_if "an answer with a schema ends" status_is 0
    pass_if "an answer has the form of the schema" is_person
    run --seed $seed --regex '[0-9]{3}-[a-c]{2}' "A number?"
    pass_if "an answer matches the expression" out_is '[0-9]{3}-[a-c]{2}'
done
printf '%s' "$schema" >"$folder/schema.json"
run --json-schema "$folder/schema.json" "Tell me about Anna."
pass_if "a schema in a file" is_person
printf 'root ::= answer "."\nanswer ::= "yes" | "no"\n' >"$folder/answer.gbnf"
run --grammar "$folder/answer.gbnf" "Is it late?"
pass_if "a grammar in GBNF" out_is '(yes|no)\.'
printf 'start: "it is " WHEN\nWHEN: "early" | "late"\n' >"$folder/answer.lark"
run --grammar-file "$folder/answer.lark" "Is it late?"
pass_if "a grammar in Lark" out_is 'it is (early|late)'
printf 'Hello!\nIs it late?\n' | "$program" --grammar "$folder/answer.gbnf" >"$folder/out" 2>"$folder/err"
pass_if "every turn is constrained" [ "$(grep -cxE '(yes|no)\.' "$folder/out")" = 2 ]
run -n 3 -j "$schema" "Tell me about Anna."
pass_if "an answer is cut at the limit of tokens" status_is 0

# without the grammar there is no answer
refused()
{
    run "${@:3}" "Hello!"
    pass_if "$1: exit code $2" status_is "$2"
    pass_if "$1: no answer" out_empty
}
refused "a schema that is none" 65 -j '{"type":"nothing"}'
pass_if "the place in the schema is named" err_has "--json-schema: #/type"
refused "a schema that is no JSON" 65 -j '{"type":'
refused "a schema that nothing satisfies" 65 -j '{"type":"integer","minimum":5,"maximum":3}'
refused "an expression that is none" 65 --regex 'a(b'
pass_if "the place in the expression is named" err_has "--regex: offset"
printf 'root ::= nothing\n' >"$folder/bad.gbnf"
refused "a grammar with an undefined rule" 65 --grammar "$folder/bad.gbnf"
pass_if "the line of the grammar is named" err_has "line 1"
refused "a file that is not there" 66 --grammar "$folder/none.gbnf"
refused "a folder" 66 -j "$folder"
refused "two of the options" 64 --regex a --grammar "$folder/answer.gbnf"
finish
