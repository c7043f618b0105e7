# SPDX-License-Identifier: Apache-2.0
"""Anthropic's API: messages, streams, stop sequences, counts, errors."""
from harness import Server

HELLO = {"model": "quire-tiny", "max_tokens": 60, "temperature": 0,
         "messages": [{"role": "user", "content": "Hello!"}]}


def ask(server, **change):
    body = {k: v for k, v in {**HELLO, **change}.items() if v is not ...}
    status, _, answer = server.post("/v1/messages", body)
    return status, answer


def text_of(answer):
    return "".join(block["text"] for block in answer["content"])


def test_message(server):
    status, answer = ask(server)
    assert status == 200 and answer["type"] == "message" and answer["role"] == "assistant", answer
    assert answer["id"].startswith("msg") and answer["model"] == "quire-tiny", answer
    assert answer["stop_reason"] == "end_turn" and answer["stop_sequence"] is None, answer
    usage = answer["usage"]
    again = ask(server)[1]["usage"]
    total = usage["input_tokens"] + usage["cache_read_input_tokens"]
    assert total == again["input_tokens"] + again["cache_read_input_tokens"] > 5, (usage, again)
    assert again["cache_read_input_tokens"] > usage["cache_read_input_tokens"], (usage, again)
    assert usage["output_tokens"] == again["output_tokens"] > 3, usage


def test_forms(server):
    """Blocks and strings mean the same; the system message reaches the template."""
    plain = text_of(ask(server)[1])
    blocks = [{"role": "user", "content": [{"type": "text", "text": "Hel"},
                                           {"type": "text", "text": "lo!"}]}]
    assert text_of(ask(server, messages=blocks)[1]) == plain
    count = lambda **change: server.post("/v1/messages/count_tokens", {
        k: v for k, v in {**HELLO, **change}.items() if k in ("model", "messages", "system")}
        )[2]["input_tokens"]
    assert count() == sum(ask(server)[1]["usage"][k] for k in
                          ("input_tokens", "cache_read_input_tokens"))
    system = count(system="You are a pirate.")
    assert system > count()
    assert count(system=[{"type": "text", "text": "You are"},
                         {"type": "text", "text": " a pirate."}]) == system


def test_ends(server):
    status, answer = ask(server, max_tokens=3)
    assert answer["stop_reason"] == "max_tokens" and answer["usage"]["output_tokens"] == 3, answer
    whole = text_of(ask(server)[1])
    stop = whole[6:9]
    status, answer = ask(server, stop_sequences=["zzz", stop])
    assert answer["stop_reason"] == "stop_sequence" and answer["stop_sequence"] == stop, answer
    assert text_of(answer) == whole[:whole.index(stop)], (answer, whole)
    status, answer = ask(server, stop_sequences=[whole[0]])
    assert answer["content"] == [] and answer["stop_sequence"] == whole[0], answer


def test_streams(server):
    for change in ({}, {"stop_sequences": ["quire"]}, {"max_tokens": 4},
                   {"temperature": 0.9, "seed": 5}):
        status, whole = ask(server, **change)
        events = list(server.stream("/v1/messages", {**HELLO, **change, "stream": True}))
        assert all(name == data["type"] for name, data in events), events
        names = [name for name, _ in events]
        middle = names[3:-3]
        assert names[:3] == ["message_start", "ping", "content_block_start"], names
        assert set(middle) <= {"content_block_delta"}, names
        assert names[-3:] == ["content_block_stop", "message_delta", "message_stop"], names
        text = "".join(data["delta"]["text"] for _, data in events[3:-3])
        assert text == text_of(whole), (text, whole)
        delta = events[-2][1]
        assert delta["delta"]["stop_reason"] == whole["stop_reason"], (delta, whole)
        assert delta["delta"]["stop_sequence"] == whole["stop_sequence"], (delta, whole)
        assert delta["usage"]["output_tokens"] == whole["usage"]["output_tokens"], delta
        start = events[0][1]["message"]
        assert start["content"] == [] and start["stop_reason"] is None, start


def test_bad_values(server):
    for change, text in [
            ({"max_tokens": ...}, "max_tokens"), ({"max_tokens": 0}, "max_tokens"),
            ({"max_tokens": "5"}, "max_tokens"), ({"messages": ...}, "messages"),
            ({"messages": []}, "messages"),
            ({"messages": [{"role": "system", "content": "x"}]}, "messages[0].role"),
            ({"messages": [{"role": "user", "content": [{"type": "image"}]}]},
             "messages[0].content[0].type"),
            ({"system": 5}, "system"), ({"system": "a\0b"}, "system"),
            ({"system": [{"type": "image"}]}, "system[0].type"),
            ({"stop_sequences": [5]}, "stop_sequences"), ({"temperature": -1}, "temperature"),
            ({"top_k": "x"}, "top_k"), ({"tools": [{}]}, "tools[0].name"), ({"tools": 5}, "tools"),
            ({"tools": [{"name": "f", "type": "bash_20250124"}]}, "tools[0].type"),
            ({"tools": [{"name": "f", "input_schema": 5}]}, "tools[0].input_schema"),
            ({"tool_choice": {"type": "any"}}, "tool_choice"), ({"tool_choice": {"type": "x"}}, "tool_choice.type"),
            ({"tools": [{"name": "f"}], "tool_choice": {"type": "tool", "name": "g"}}, "tool_choice"),
            ({"tools": [{"name": "f"}], "tool_choice": {"type": "tool"}}, "tool_choice.name"),
            ({"thinking": {"type": "loud"}}, "thinking.type"), ({"output_format": {"type": "x"}}, "output_format.type"),
            ({"output_format": {"type": "json_schema"}}, "output_format.schema"),
            ({"messages": [{"role": "user", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}]},
             "messages[0].content[0].type"),
            ({"messages": [{"role": "user", "content": [{"type": "tool_result"}]}]},
             "messages[0].content[0].tool_use_id"),
            ({"stream": 1}, "stream"), ({"nonsense": 1}, "nonsense"), ({"n": 2}, "n")]:
        status, answer = ask(server, **change)
        assert status == 400 and answer["type"] == "error", (change, answer)
        assert answer["error"]["type"] == "invalid_request_error", (change, answer)
        assert text in answer["error"]["message"] and answer["request_id"], (change, answer)
    status, answer = ask(server, model="gone")
    assert status == 404 and answer["error"]["type"] == "not_found_error", answer
    assert ask(server, tools=[], thinking={"type": "disabled"}, metadata={"user_id": "u"})[0] == 200


with Server() as server:
    for test in (test_message, test_forms, test_ends, test_streams, test_bad_values):
        test(server)
        print("ok", test.__name__)
