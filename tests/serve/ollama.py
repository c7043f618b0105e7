# SPDX-License-Identifier: Apache-2.0
"""Ollama's API: chat, generate, embed, lists, errors."""
import http.client
import json
import re

from harness import Server

HELLO = {"model": "quire-tiny", "messages": [{"role": "user", "content": "Hello!"}],
         "options": {"temperature": 0, "num_predict": 60}}
PROMPT = {"model": "quire-tiny:latest", "prompt": "Hello!", "options": HELLO["options"]}


def lines(server, path, body):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("POST", path, json.dumps(body))
    answer = connection.getresponse()
    assert answer.status == 200, answer.read()
    assert answer.headers["Content-Type"] == "application/x-ndjson", answer.headers
    result = [json.loads(line) for line in answer]
    connection.close()
    return result


def check_end(last, reason="stop"):
    assert last["done"] is True and last["done_reason"] == reason, last
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", last["created_at"]), last
    for name in ("total_duration", "load_duration", "prompt_eval_duration", "eval_duration"):
        assert isinstance(last[name], int) and last[name] >= 0, (name, last)
    assert last["total_duration"] >= last["eval_duration"] > 0, last
    assert last["prompt_eval_count"] > 5 and last["eval_count"] > 2, last


def test_chat(server):
    status, _, whole = server.post("/api/chat", {**HELLO, "stream": False})
    assert status == 200 and whole["message"]["role"] == "assistant", whole
    check_end(whole)
    parts = lines(server, "/api/chat", HELLO) # streaming is the default
    assert all(p["model"] == "quire-tiny" and not p["done"] for p in parts[:-1]), parts
    assert "".join(p["message"]["content"] for p in parts) == whole["message"]["content"], parts
    check_end(parts[-1])
    short = lines(server, "/api/chat", {**HELLO, "options": {"num_predict": 3}})
    check_end(short[-1], "length")
    assert short[-1]["eval_count"] == 3, short[-1]
    stop = whole["message"]["content"][4:6]
    stopped = server.post("/api/chat", {**HELLO, "stream": False, "options": {
        **HELLO["options"], "stop": [stop]}})[2]
    assert stopped["message"]["content"] == whole["message"]["content"].split(stop)[0], stopped


def test_generate(server):
    chat = server.post("/api/chat", {**HELLO, "stream": False})[2]["message"]["content"]
    status, _, whole = server.post("/api/generate", {**PROMPT, "stream": False})
    assert status == 200 and whole["response"] == chat, whole
    check_end(whole)
    parts = lines(server, "/api/generate", PROMPT)
    assert "".join(p["response"] for p in parts) == chat, parts
    raw = server.post("/api/generate", {**PROMPT, "raw": True, "stream": False})[2]
    assert raw["prompt_eval_count"] < whole["prompt_eval_count"], (raw, whole)
    system = server.post("/api/generate", {**PROMPT, "system": "Be brief.", "stream": False})[2]
    assert system["prompt_eval_count"] > whole["prompt_eval_count"], (system, whole)


def test_load(server):
    for path, body in (("/api/chat", {"model": "quire-tiny", "messages": []}),
                       ("/api/generate", {"model": "quire-tiny"})):
        status, _, answer = server.post(path, body)
        assert status == 200 and answer["done"] and answer["done_reason"] == "load", answer


def test_embed(server):
    status, _, answer = server.post("/api/embed", {"model": "quire-tiny", "input": ["a", "b c"]})
    assert status == 200 and len(answer["embeddings"]) == 2, answer
    first, second = answer["embeddings"]
    assert abs(sum(x * x for x in first) - 1) < 1e-3 and first != second
    assert answer["prompt_eval_count"] >= 3 and answer["total_duration"] > 0, answer
    one = server.post("/api/embed", {"model": "quire-tiny", "input": "a"})[2]["embeddings"]
    assert one == [first]
    old = server.post("/api/embeddings", {"model": "quire-tiny", "prompt": "a"})[2]["embedding"]
    scale = sum(x * x for x in old) ** 0.5
    assert max(abs(x / scale - y) for x, y in zip(old, first)) < 1e-5


def test_lists(server):
    tags = server.get("/api/tags")[2]["models"]
    assert [m["name"] for m in tags] == ["quire-tiny"] and tags[0]["details"]["format"] == "gguf"
    running = server.get("/api/ps")[2]["models"]
    assert running[0]["model"] == "quire-tiny" and running[0]["context_length"] > 0, running
    show = server.post("/api/show", {"model": "quire-tiny"})[2]
    family = show["model_info"]["general.architecture"]
    assert show["details"]["family"] == family and show["model_info"][family + ".block_count"] > 0
    assert show["capabilities"] == ["completion", "embedding"] and "{%" in show["template"], show
    assert re.match(r"\d+\.\d+\.\d+$", server.get("/api/version")[2]["version"])


def test_bad_values(server):
    for path, body, text in [
            ("/api/chat", {"model": ...}, "model"), ("/api/chat", {"messages": 5}, "messages"),
            ("/api/chat", {"messages": [{"role": "x", "content": ""}]}, "messages[0].role"),
            ("/api/chat", {"options": {"temperature": "x"}}, "options.temperature"),
            ("/api/chat", {"options": {"no_such": 1}}, "options.no_such"),
            ("/api/chat", {"options": {"num_predict": -3}}, "options.num_predict"),
            ("/api/chat", {"options": {"n": 2}}, "options.n"), ("/api/chat", {"options": 1}, "options"),
            ("/api/chat", {"format": "xml"}, "format"), ("/api/chat", {"format": 5}, "format"),
            ("/api/chat", {"format": {"type": "x"}}, "type"), ("/api/chat", {"think": 5}, "think"),
            ("/api/chat", {"tools": [{}]}, "tools[0].function"), ("/api/chat", {"stream": "x"}, "stream"),
            ("/api/chat", {"nonsense": 1}, "nonsense"), ("/api/chat", {"logprobs": True}, "logprobs"),
            ("/api/chat", {"messages": [{"role": "user", "content": "a", "images": ["eA=="]}]},
             "messages[0].images"),
            ("/api/generate", {"suffix": "x"}, "suffix"),
            ("/api/generate", {"template": "x"}, "template"),
            ("/api/generate", {"images": ["x"]}, "images"),
            ("/api/generate", {"context": [1]}, "context"),
            ("/api/embed", {}, "input"), ("/api/embed", {"input": [1.5]}, "input"),
            ("/api/embed", {"input": "x", "dimensions": 10**9}, "dimensions"),
            ("/api/embeddings", {"prompt": ["a", "b"]}, "prompt"), ("/api/show", {"model": ...}, "model")]:
        base = {"/api/chat": HELLO, "/api/generate": PROMPT}.get(path, {"model": "quire-tiny"})
        full = {k: v for k, v in {**base, **body}.items() if v is not ...}
        status, _, answer = server.post(path, full)
        assert status == 400 and list(answer) == ["error"] and text in answer["error"], \
            (path, body, answer)
    status, _, answer = server.post("/api/chat", {**HELLO, "model": "gone"})
    assert status == 404 and "gone" in answer["error"], answer
    accepted = {**HELLO, "keep_alive": "5m", "think": False, "tools": [], "format": "", "logprobs": False,
                "options": {"num_predict": 2, "num_ctx": 1024, "num_gpu": 0}}
    assert lines(server, "/api/chat", accepted)[-1]["done"]


with Server() as server:
    for test in (test_chat, test_generate, test_load, test_embed, test_lists, test_bad_values):
        test(server)
        print("ok", test.__name__)
