#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_bundled.sh PROGRAM SOURCE_DIR - the bundled model calls the tools of examples/ by itself, answers from their
# results, calls none where none is needed, and writes JSON. Exit code 77: skipped.
set -u
program=$1
model=$2/models/quire-tiny/quire-tiny.gguf
[ -e "$model" ] || { echo "skipped: there is no bundled model"; exit 77; }
. "$(dirname "$0")/checks.sh"
tools=(--tools "$2/examples/tools.json" --tool-exec "$2/examples/run_tool.py" --tool-yes)

# Turns, each of them a line, with tools at temperature 0; the events go to $folder/out.
talk()
{
    printf '%s\n' "$@" | "$program" --json --temp 0 "${tools[@]}" >"$folder/out" 2>"$folder/err"
    status=$?
}

# The names and arguments of the calls equal $1, the last answer contains $2.
calls_and_answers()
{
    python3 - "$folder/out" "$1" "$2" <<'END'
import json, sys
events = [json.loads(line) for line in open(sys.argv[1])]
calls = [[e["name"], e["arguments"]] for e in events if e["event"] == "tool_call"]
assert calls == json.loads(sys.argv[2]), calls
answer = [e["text"] for e in events if e["event"] == "done"][-1]
assert sys.argv[3] in answer, answer
END
}

talk "What is 4711 + 285?"
pass_if "a sum" calls_and_answers '[["calculate", {"operation": "add", "a": 4711, "b": 285}]]' 4996
talk "What is the weather like in Lisbon?"
pass_if "the weather" calls_and_answers '[["get_weather", {"town": "Lisbon"}]]' sunny
talk "What is the weather like in Oslo and in Dublin?"
pass_if "two calls" calls_and_answers '[["get_weather", {"town": "Oslo"}], ["get_weather", {"town": "Dublin"}]]' rainy
talk "Hello!" "What is 900 - 150?"
pass_if "a call in the second turn only" \
    calls_and_answers '[["calculate", {"operation": "subtract", "a": 900, "b": 150}]]' 750
talk "Hello!"
pass_if "no call" calls_and_answers '[]' ''

fact="Sonia works as a baker. Sonia is 31."
run --temp 0 "$fact As JSON, please, with name, age and job."
pass_if "JSON" [ "$(cat "$folder/out")" = '{"name": "Sonia", "age": 31, "job": "baker"}' ]
schema='{"type": "object", "additionalProperties": false, "required": ["name", "job"], "properties":
  {"name": {"type": "string"}, "job": {"type": "string"}}}'
run --temp 0 -j "$schema" "$fact Give me JSON with name and job."
pass_if "JSON with a schema" [ "$(cat "$folder/out")" = '{"name": "Sonia", "job": "baker"}' ]
finish
