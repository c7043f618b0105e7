#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tool program of `run`: reads a call and prints the next result of the file that is named.

The file is a JSON array of texts; what is printed is taken from it.
"""
import json
import pathlib
import sys

path = pathlib.Path(sys.argv[1])
sys.stdin.read()
results = json.loads(path.read_text(encoding="utf-8"))
if not results:
    sys.exit("no result is left: more calls than expected")
print(results[0])
path.write_text(json.dumps(results[1:]), encoding="utf-8")
