# SPDX-License-Identifier: Apache-2.0
"""POST /v1/prefix-key: the documented hash, keys of follow-up turns, bad bodies."""
import hashlib
from harness import Server


def key(*strings):
    return hashlib.sha256("\n".join(strings).encode()).hexdigest()[:16]


def message(role, content):
    return {"role": role, "content": content}


SYSTEM, USER = message("system", "Be brief \u00e9."), message("user", "Who?\nYou!")
EXPECTED = key("m", "system", "Be brief \u00e9.", "user", "Who?\nYou!")

GOOD = [  # body, strings
    ({"model": "m", "messages": [SYSTEM, USER]}, None),
    ({"messages": [SYSTEM, USER], "model": "m", "stream": True, "temperature": 0.3, "tools": []}, None),
    ({"model": "m", "messages": [SYSTEM, USER, message("assistant", "Me."), message("user", "Oh")]}, None),
    ({"model": "m", "messages": [SYSTEM, message("user", [{"type": "text", "text": "Who?\n"}, {"text": "You!"}])]}, None),
    ({"model": "m", "system": "Be brief \u00e9.", "messages": [USER], "max_tokens": 3}, None),
    ({"model": "m", "system": [{"type": "text", "text": "Be brief \u00e9."}], "messages": [USER]}, None),
    ({"model": "m", "instructions": "Be brief \u00e9.", "input": "Who?\nYou!"}, None),
    ({"model": "m", "instructions": "Be brief \u00e9.", "input": [
        {"type": "reasoning", "summary": []}, message("user", [{"type": "input_text", "text": "Who?\nYou!"}])]}, None),
    ({"messages": [USER]}, ["", "user", "Who?\nYou!"]),
    ({"messages": [message("user", None)], "model": None}, ["", "user", ""]),
    ({"messages": []}, [""]),
    ({"messages": [message("developer", "a"), message("assistant", "b")]}, ["", "developer", "a", "assistant", "b"]),
    ({"prompt": "p" * 300}, ["", "prompt", "p" * 256]),
    ({"prompt": "p" * 256 + "q", "model": "m"}, ["m", "prompt", "p" * 256]),
    ({"prompt": ["one", "two"]}, ["", "prompt", "one"]),
    ({"prompt": list(range(100))}, ["", "prompt", " ".join(map(str, range(64)))]),
    ({"prompt": [[1, 2], [3]]}, ["", "prompt", "1 2"]),
    ({"prompt": ""}, ["", "prompt", ""]),
]
BAD = [  # body, param
    ({}, "messages"), ({"messages": "x"}, "messages"), ({"messages": [1]}, "messages[0]"),
    ({"messages": [{"role": 1}]}, "messages[0].role"), ({"model": 1, "messages": []}, "model"),
    ({"messages": [message("user", 5)]}, "messages[0].content"),
    ({"messages": [message("user", ["x"])]}, "messages[0].content[0]"),
    ({"messages": [message("user", [{"text": 5}])]}, "messages[0].content[0].text"),
    ({"messages": [], "system": 5}, "system"), ({"input": 5}, "input"), ({"input": "a", "instructions": 5}, "instructions"),
    ({"prompt": 5}, "prompt"), ({"prompt": [1, "x"]}, "prompt"), ({"prompt": [{}]}, "prompt"),
    ({"messages": [{}] * 4097}, "messages"), ({"input": [{}] * 4097}, "input"), ("[]", None), ("{", None), ("", None),
]

with Server() as server:
    for body, strings in GOOD:
        status, _, answer = server.post("/v1/prefix-key", body)
        expected = key(*strings) if strings else EXPECTED
        assert (status, answer) == (200, {"key": expected, "header": "X-Quire-Prefix"}), (body, answer)
    for body, param in BAD:
        status, _, answer = server.post("/v1/prefix-key", body)
        assert status == 400 and answer["error"]["param"] == param, (str(body)[:100], answer)
print("prefix_key: passed")
