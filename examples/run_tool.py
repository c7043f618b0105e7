#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tools of tools.json for `quire-chat --tool-exec`: {"name", "arguments"} on its input, the
result on its output. The weather comes from a table here; a real tool would ask a service."""
import json
import sys

WEATHER = {"Oslo": ("snowy", -3), "Lisbon": ("sunny", 24), "Dublin": ("rainy", 11)}

call = json.load(sys.stdin)
arguments = call["arguments"]
if call["name"] == "calculate":
    sign = -1 if arguments["operation"] == "subtract" else 1
    print(arguments["a"] + sign * arguments["b"])
elif call["name"] == "get_weather":
    if arguments["town"] not in WEATHER:
        sys.exit(f"no weather is known of {arguments['town']}")
    sky, temperature = WEATHER[arguments["town"]]
    print(json.dumps({"temperature": temperature, "sky": sky}))
else:
    sys.exit(f"there is no tool {call['name']}")
