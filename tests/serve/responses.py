# SPDX-License-Identifier: Apache-2.0
"""OpenAI's responses API: answers, streams, the store, turns that continue, keys, errors."""
import os
import subprocess
import tempfile

from harness import Server, binary

HELLO = {"model": "quire-tiny", "input": "Hello!", "temperature": 0, "max_output_tokens": 60}


def ask(server, headers=None, **change):
    body = {k: v for k, v in {**HELLO, **change}.items() if v is not ...}
    status, _, answer = server.post("/v1/responses", body, headers=headers)
    return status, answer


def text_of(answer):
    return answer["output"][0]["content"][0]["text"]


def test_response(server):
    status, answer = ask(server, metadata={"a": "b"}, instructions=None)
    assert status == 200 and answer["object"] == "response", answer
    assert answer["id"].startswith("resp") and answer["status"] == "completed", answer
    assert answer["error"] is None and answer["incomplete_details"] is None, answer
    item = answer["output"][0]
    assert (item["type"], item["role"], item["status"]) == ("message", "assistant", "completed")
    assert item["content"][0]["type"] == "output_text" and text_of(answer), item
    usage = answer["usage"]
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"] > 10, usage
    assert answer["metadata"] == {"a": "b"} and answer["temperature"] == 0, answer
    assert answer["text"] == {"format": {"type": "text"}} and answer["tools"] == [], answer
    chat = server.post("/v1/chat/completions", {"temperature": 0, "messages": [
        {"role": "user", "content": "Hello!"}]})[2]
    assert chat["choices"][0]["message"]["content"] == text_of(answer)
    for form in ([{"role": "user", "content": "Hello!"}],
                 [{"type": "message", "role": "user",
                   "content": [{"type": "input_text", "text": "Hello!"}]}]):
        assert text_of(ask(server, input=form)[1]) == text_of(answer)
    more = ask(server, instructions="Be brief.")[1]
    assert more["usage"]["input_tokens"] > usage["input_tokens"]
    status, answer = ask(server, max_output_tokens=3)
    assert answer["status"] == "incomplete", answer
    assert answer["incomplete_details"] == {"reason": "max_output_tokens"}, answer


def test_logprobs(server):
    answer = ask(server, top_logprobs=2, include=["message.output_text.logprobs"])[1]
    entries = answer["output"][0]["content"][0]["logprobs"]
    assert "".join(e["token"] for e in entries) == text_of(answer), entries
    assert all(len(e["top_logprobs"]) == 2 for e in entries), entries


def test_long_events(server):
    """The last events repeat the whole answer, here several MiB together."""
    events = [name for name, _ in server.stream("/v1/responses", {
        **HELLO, "max_output_tokens": 600, "ignore_eos": True, "top_logprobs": 20,
        "stream": True})]
    assert events[-1] == "response.incomplete", events[-1]


def test_streams(server):
    for change in ({}, {"max_output_tokens": 4}, {"temperature": 0.9, "seed": 3},
                   {"top_logprobs": 1}):
        whole = ask(server, **change)[1]
        events = list(server.stream("/v1/responses", {**HELLO, **change, "stream": True}))
        assert all(name == data["type"] for name, data in events), events
        assert [d["sequence_number"] for _, d in events] == list(range(len(events)))
        names = [name.removeprefix("response.") for name, _ in events]
        assert names[:4] == ["created", "in_progress", "output_item.added", "content_part.added"]
        assert set(names[4:-4]) == {"output_text.delta"}, names
        assert names[-4:] == ["output_text.done", "content_part.done", "output_item.done",
                              whole["status"]], names
        text = "".join(d["delta"] for _, d in events[4:-4])
        assert text == text_of(whole) == events[-4][1]["text"], text
        last = events[-1][1]["response"]
        assert text_of(last) == text and last["status"] == whole["status"], last
        assert last["usage"]["output_tokens"] == whole["usage"]["output_tokens"], last
        assert last["output"][0]["id"] == events[2][1]["item"]["id"] == events[4][1]["item_id"]
        assert events[0][1]["response"]["status"] == "in_progress"
        assert server.get("/v1/responses/" + last["id"])[2] == last


def test_turns(server):
    """A response that continues another one has the prompt of the whole conversation."""
    first = ask(server, input="My name is Ann.")[1]
    second = ask(server, input="What is my name?", previous_response_id=first["id"])[1]
    assert second["previous_response_id"] == first["id"], second
    chat = server.post("/v1/chat/completions", {"temperature": 0, "messages": [
        {"role": "user", "content": "My name is Ann."},
        {"role": "assistant", "content": text_of(first)},
        {"role": "user", "content": "What is my name?"}]})[2]
    assert chat["choices"][0]["message"]["content"] == text_of(second), (chat, second)
    assert chat["usage"]["prompt_tokens"] == second["usage"]["input_tokens"]
    third = ask(server, input="Thank you.", previous_response_id=second["id"])[1]
    assert third["usage"]["input_tokens"] > second["usage"]["input_tokens"]
    items = server.get(f"/v1/responses/{second['id']}/input_items")[2]
    assert items["data"][0]["content"][0]["text"] == "What is my name?", items


def test_store(server):
    kept, unkept = ask(server)[1]["id"], ask(server, store=False)[1]["id"]
    assert server.get("/v1/responses/" + kept)[0] == 200
    assert server.get("/v1/responses/" + unkept)[0] == 404
    status, _, answer = server.post(f"/v1/responses/{kept}/cancel", {})
    assert status == 400 and "background" in answer["error"]["message"], answer
    status, _, answer = server.request("DELETE", "/v1/responses/" + kept)
    assert status == 200 and answer["deleted"] is True and answer["id"] == kept, answer
    assert server.request("DELETE", "/v1/responses/" + kept)[0] == 404
    assert server.get("/v1/responses/" + kept)[0] == 404
    status, answer = ask(server, previous_response_id=kept)
    assert status == 404 and answer["error"]["param"] == "previous_response_id", answer
    for path in ("/v1/responses/", f"/v1/responses/{unkept}/cancel", "/v1/responses/a/b/c"):
        assert server.post(path, {})[0] in (404, 405), path


def test_bad_values(server):
    for change, param in [
            ({"input": ...}, "input"), ({"input": 5}, "input"), ({"input": []}, "input"),
            ({"input": [{"role": "user"}]}, "input[0].content"),
            ({"input": [{"content": "x"}]}, "input[0].role"),
            ({"input": [{"role": "king", "content": "x"}]}, "input[0].role"),
            ({"input": [{"type": "function_call_output", "output": "x"}]}, "input[0]"),
            ({"input": [{"type": "function_call", "call_id": "1"}]}, "input[0]"),
            ({"input": [{"type": "item_reference", "id": "x"}]}, "input[0].type"),
            ({"input": [{"role": "user", "content": [{"type": "input_image"}]}]},
             "input[0].content[0].type"),
            ({"instructions": 1}, "instructions"), ({"max_output_tokens": 0}, "max_output_tokens"),
            ({"temperature": "hot"}, "temperature"), ({"top_logprobs": 21}, "top_logprobs"),
            ({"include": ["reasoning.encrypted_content"]}, "include"),
            ({"tools": [{"type": "web_search"}]}, "tools[0].type"), ({"tool_choice": "required"}, "tool_choice"),
            ({"tools": [{"type": "function"}]}, "tools[0].name"),
            ({"tools": [{"type": "function", "name": "f"}], "tool_choice": {"type": "function", "name": "g"}},
             "tool_choice"),
            ({"background": True}, "background"), ({"conversation": "c"}, "conversation"),
            ({"truncation": "auto"}, "truncation"), ({"prompt": {"id": "p"}}, "prompt"),
            ({"text": {"format": {"type": "x"}}}, "text.format.type"),
            ({"text": {"format": {"type": "json_schema", "name": "x"}}}, "text.format.schema"),
            ({"text": {"verbosity": "low"}}, "text.verbosity"),
            ({"reasoning": {"effort": "x"}}, "reasoning_effort"), ({"metadata": 1}, "metadata"),
            ({"store": "x"}, "store"), ({"n": 2}, "n"), ({"nonsense": 1}, "nonsense")]:
        status, answer = ask(server, **change)
        assert status == 400 and answer["error"]["param"] == param, (change, answer)


def test_keys_and_bounds():
    """A key does not see the responses of another one; the oldest ones are dropped."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "keys")
        with open(path, "w") as f:
            for name, key in (("ann", "secret-a"), ("bob", "secret-b")):
                digest = subprocess.run([binary(), "--hash-key"], input=key, text=True,
                                        stdout=subprocess.PIPE, check=True).stdout.strip()
                f.write(f"{name} {digest}\n")
        os.chmod(path, 0o600)
        ann, bob = ({"Authorization": "Bearer secret-" + c} for c in "ab")
        with Server(["--api-key-file", path, "--response-store", "3"]) as server:
            ids = [ask(server, ann, max_output_tokens=2)[1]["id"] for _ in range(4)]
            found = [server.get("/v1/responses/" + i, headers=ann)[0] for i in ids]
            assert found == [404, 200, 200, 200], found
            assert server.get("/v1/responses/" + ids[3], headers=bob)[0] == 404
            assert ask(server, bob, previous_response_id=ids[3])[0] == 404
            assert server.request("DELETE", "/v1/responses/" + ids[3], headers=bob)[0] == 404
            assert server.get("/v1/responses/" + ids[3], headers=ann)[0] == 200
            assert server.get("/v1/responses/" + ids[3])[0] == 401


with Server() as server:
    for test in (test_response, test_logprobs, test_long_events, test_streams, test_turns, test_store,
                 test_bad_values):
        test(server)
        print("ok", test.__name__)
test_keys_and_bounds()
