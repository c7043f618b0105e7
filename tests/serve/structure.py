# SPDX-License-Identifier: Apache-2.0
"""Structured output and tools through every API: answers parse whatever the model says, whole and streamed alike."""
import json
import re
import tempfile

from harness import Server

HELLO = [{"role": "user", "content": "What is the weather in Rome?"}]
PERSON = {"type": "object", "additionalProperties": False, "required": ["name", "age", "tags"],
          "properties": {"name": {"type": "string", "maxLength": 12}, "age": {"type": "integer", "minimum": 0, "maximum": 120},
                         "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2}}}
CITY = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 12}}, "required": ["city"],
        "additionalProperties": False}
ZONE = {"type": "object", "properties": {"hours": {"type": "integer", "minimum": -12, "maximum": 12}},
        "required": ["hours"], "additionalProperties": False}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "description": "weather", "parameters": CITY}},
         {"type": "function", "function": {"name": "set_zone", "parameters": ZONE}}]
SAMPLED = [{"temperature": 0}, {"temperature": 1, "seed": 1}, {"temperature": 2, "seed": 2}]


def check_person(text):
    person = json.loads(text)
    assert list(person) == ["name", "age", "tags"], person
    assert len(person["name"]) <= 12 and 0 <= person["age"] <= 120 and set(person["tags"]) <= {"a", "b"}, person


def check_arguments(name, arguments):
    if name == "get_weather":
        assert list(arguments) == ["city"] and len(arguments["city"]) <= 12, arguments
    else:
        assert name == "set_zone" and list(arguments) == ["hours"] and -12 <= arguments["hours"] <= 12, arguments


def chat(server, **change):
    status, _, answer = server.post("/v1/chat/completions", {"messages": HELLO, "max_tokens": 600, "seed": 4, **change})
    assert status == 200, answer
    return answer["choices"][0]


def stream_chat(server, **change):
    """The message and the reason that the deltas of a stream add up to."""
    message = {"content": "", "reasoning_content": "", "tool_calls": []}
    reason = None
    body = {"messages": HELLO, "max_tokens": 600, "seed": 4, "stream": True, **change}
    for _, chunk in server.stream("/v1/chat/completions", body):
        for choice in (chunk["choices"] if chunk != "[DONE]" else []):
            delta = choice["delta"]
            message["content"] += delta.get("content") or ""
            message["reasoning_content"] += delta.get("reasoning_content") or ""
            for call in delta.get("tool_calls", []):
                calls = message["tool_calls"]
                if "id" in call:
                    assert call["index"] == len(calls) and call["type"] == "function", call
                    calls.append({"id": call["id"], "name": call["function"]["name"], "arguments": ""})
                assert call["index"] == len(calls) - 1 and ("id" in call) == ("name" in call["function"]), call
                calls[-1]["arguments"] += call["function"]["arguments"]
            reason = choice["finish_reason"] or reason
    return message, reason


def test_schema(server):
    formats = [{"response_format": {"type": "json_schema",
                                    "json_schema": {"name": "person", "strict": True, "schema": PERSON}}}]
    for change in SAMPLED:
        for form in formats:
            whole = chat(server, **form, **change)
            assert whole["finish_reason"] == "stop", whole
            check_person(whole["message"]["content"])
            message, reason = stream_chat(server, **form, **change)
            assert reason == "stop" and message["content"] == whole["message"]["content"], (message, whole)
    for form in ({"response_format": {"type": "json_object", "schema": PERSON}}, {"json_schema": PERSON},
                 {"guided_json": PERSON}, {"guided_json": json.dumps(PERSON)}, {"structured_outputs": {"json": PERSON}}):
        person = json.loads(chat(server, **form)["message"]["content"])
        assert sorted(person) == ["age", "name", "tags"], person


def test_grammars(server):
    for form, pattern in [({"guided_regex": "[0-9]{3}-[a-f]{2}"}, "[0-9]{3}-[a-f]{2}"),
                          ({"guided_choice": ["yes", "no", "perhaps"]}, "yes|no|perhaps"),
                          ({"grammar": 'root ::= "<" [a-z]{2,5} ">"'}, "<[a-z]{2,5}>"),
                          ({"guided_grammar": 'start: "a" B+\nB: "b" | "c"'}, "a[bc]+"),
                          ({"structured_outputs": {"regex": "x[01]{4}"}}, "x[01]{4}")]:
        for change in SAMPLED:
            choice = chat(server, **form, **{**change, "max_tokens": 60})
            text = choice["message"]["content"]
            assert re.fullmatch(pattern, text) or choice["finish_reason"] == "length", (form, text)
    status, _, answer = server.post("/v1/completions", {"prompt": "The answer is", "guided_choice": ["yes", "no"]})
    assert status == 200 and answer["choices"][0]["text"] in ("yes", "no"), answer
    cut = chat(server, json_schema=PERSON, max_tokens=3)
    assert cut["finish_reason"] == "length", cut
    many = server.post("/v1/chat/completions", {"messages": HELLO, "n": 4, "temperature": 1.5, "seed": 3,
                                                "json_schema": PERSON, "logprobs": True})[2]["choices"]
    assert len({c["message"]["content"] for c in many}) > 1, many
    for choice in many:
        json.loads(choice["message"]["content"])
        assert len(choice["logprobs"]["content"]) > 0, choice


def test_tools(server):
    for change in SAMPLED:
        for tool_choice in ("required", {"type": "function", "function": {"name": "set_zone"}}):
            form = {"tools": TOOLS, "tool_choice": tool_choice, "parallel_tool_calls": False, **change}
            whole = chat(server, **form)
            calls = whole["message"]["tool_calls"]
            assert whole["finish_reason"] == "tool_calls" and len(calls) == 1, whole
            assert whole["message"]["content"] is None and calls[0]["id"], whole
            name, arguments = calls[0]["function"]["name"], calls[0]["function"]["arguments"]
            check_arguments(name, json.loads(arguments))
            assert tool_choice == "required" or name == "set_zone", whole
            message, reason = stream_chat(server, **form)
            assert reason == "tool_calls" and message["content"] == "", message
            assert [(c["name"], c["arguments"]) for c in message["tool_calls"]] == [(name, arguments)], (message, whole)
    none = chat(server, tools=TOOLS, tool_choice="none", temperature=0)
    plain = chat(server, temperature=0)
    assert none["message"] == plain["message"] and "tool_calls" not in plain["message"], none
    follow = HELLO + [{"role": "assistant", "content": None, "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Rome"}'}}]},
        {"role": "tool", "tool_call_id": "a", "content": "sunny"}]
    assert chat(server, messages=follow, tools=TOOLS)["finish_reason"] in ("stop", "length", "tool_calls")


def test_responses(server):
    tools = [{"type": "function", **t["function"]} for t in TOOLS]
    body = {"input": HELLO, "tools": tools, "tool_choice": "required", "parallel_tool_calls": False,
            "max_output_tokens": 300, "temperature": 0}
    status, _, answer = server.post("/v1/responses", body)
    calls = [item for item in answer["output"] if item["type"] == "function_call"]
    assert status == 200 and len(calls) == 1 and answer["tools"] == tools, answer
    check_arguments(calls[0]["name"], json.loads(calls[0]["arguments"]))
    events = [data for _, data in server.stream("/v1/responses", {**body, "stream": True})]
    pieces = "".join(e["delta"] for e in events if e["type"] == "response.function_call_arguments.delta")
    done = [e for e in events if e["type"] == "response.function_call_arguments.done"]
    assert pieces == calls[0]["arguments"] and [e["arguments"] for e in done] == [pieces], events
    status, _, follow = server.post("/v1/responses", {
        "previous_response_id": answer["id"], "max_output_tokens": 20,
        "input": [{"type": "function_call_output", "call_id": calls[0]["call_id"], "output": "sunny"}]})
    assert status == 200 and follow["previous_response_id"] == answer["id"], follow
    form = {"text": {"format": {"type": "json_schema", "name": "person", "strict": True, "schema": PERSON}}}
    answer = server.post("/v1/responses", {"input": HELLO, **form})[2]
    check_person(answer["output"][0]["content"][0]["text"])


def test_anthropic(server):
    tools = [{"name": t["function"]["name"], "input_schema": t["function"]["parameters"]} for t in TOOLS]
    body = {"messages": HELLO, "max_tokens": 300, "tools": tools, "temperature": 0,
            "tool_choice": {"type": "any", "disable_parallel_tool_use": True}}
    status, _, answer = server.post("/v1/messages", body)
    blocks = [b for b in answer["content"] if b["type"] == "tool_use"]
    assert status == 200 and answer["stop_reason"] == "tool_use" and len(blocks) == 1, answer
    check_arguments(blocks[0]["name"], blocks[0]["input"])
    pieces, name = "", None
    for kind, data in server.stream("/v1/messages", {**body, "stream": True}):
        if kind == "content_block_start" and data["content_block"]["type"] == "tool_use":
            name = data["content_block"]["name"]
        elif kind == "content_block_delta" and data["delta"]["type"] == "input_json_delta":
            pieces += data["delta"]["partial_json"]
        elif kind == "message_delta":
            assert data["delta"]["stop_reason"] == "tool_use", data
    assert (name, json.loads(pieces)) == (blocks[0]["name"], blocks[0]["input"]), (name, pieces)
    follow = HELLO + [{"role": "assistant", "content": answer["content"]}, {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": blocks[0]["id"], "content": [{"type": "text", "text": "sunny"}]}]}]
    status, _, answer = server.post("/v1/messages", {"messages": follow, "max_tokens": 20, "tools": tools})
    assert status == 200 and answer["type"] == "message", answer


def test_ollama(server):
    body = {"model": "quire-tiny", "messages": HELLO, "stream": False}
    answer = server.post("/api/chat", {**body, "format": PERSON})[2]
    assert sorted(json.loads(answer["message"]["content"])) == ["age", "name", "tags"], answer
    answer = server.post("/api/chat", {**body, "format": "json", "options": {"num_predict": 400}})[2]
    assert answer["done_reason"] == "length" or isinstance(json.loads(answer["message"]["content"]), dict), answer
    status, _, answer = server.post("/api/chat", {**body, "tools": TOOLS, "options": {"num_predict": 100}})
    assert status == 200 and answer["done"], answer


def test_alone_and_together(server):
    """The same answer alone and among others, with schemas, tools and free text at once."""
    import threading
    forms = [{"json_schema": PERSON, "temperature": 1, "seed": i} for i in range(5)]
    forms += [{"tools": TOOLS, "tool_choice": "required", "temperature": 1, "seed": i} for i in range(5)]
    forms += [{"temperature": 1, "seed": i, "max_tokens": 30} for i in range(5)]
    def strip(choice):
        for call in choice["message"].get("tool_calls", []):
            call.pop("id")
        return choice
    alone = [strip(chat(server, **form)) for form in forms]
    together = [None] * len(forms)
    def run(i):
        together[i] = strip(chat(server, **forms[i]))
    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(forms))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for i, form in enumerate(forms):
        assert together[i] == alone[i], (form, together[i], alone[i])


JOINING = """{{ reasoning_effort }}-{{ reasoning_strength }}
{% for m in messages %}{% for c in m.tool_calls %}{{ '<' + c.function.arguments + '>' }}\
{% else %}{{ m.content }}
{% endfor %}{% endfor %}"""


def test_joining_template():
    """Templates such as DeepSeek's join the arguments of earlier calls with text: they work with every API."""
    zone = {"hours": 1.5, "a": ["\u00e9"]}
    def call(arguments):
        return [*HELLO, {"role": "assistant", "content": "", "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "set_zone", "arguments": arguments}}]},
            {"role": "user", "content": "Thanks!"}]
    written = json.dumps(zone, separators=(",", ":"), ensure_ascii=False)
    blocks = [*HELLO, {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "set_zone",
                                                         "input": zone}]},
              {"role": "user", "content": "Thanks!"}]
    with tempfile.NamedTemporaryFile("w", suffix=".jinja") as f:
        f.write(JOINING)
        f.flush()
        with Server(["--chat-template-file", f.name]) as server:
            for arguments in (zone, written):
                status, _, answer = server.post("/apply-template", {"messages": call(arguments)})
                assert status == 200 and f"<{written}>" in answer["prompt"], answer
            for extra, efforts in (({}, "-"), ({"reasoning_effort": "medium"}, "medium-medium"), ({"reasoning_effort": "none"}, "none-low"),
                                   ({"reasoning_effort": "low", "chat_template_kwargs": {"reasoning_strength": "xhigh"}}, "low-xhigh")):
                status, _, prompt = server.post("/apply-template", {"messages": HELLO, **extra})
                assert status == 200 and prompt["prompt"].startswith(f"{efforts}\n"), prompt
            status, _, answer = server.post("/v1/messages", {"messages": blocks, "max_tokens": 1})
            assert status == 200, answer
            counted = chat(server, messages=call(written), max_tokens=1)
            assert counted["finish_reason"] == "length", counted
            body = {"model": "quire-tiny", "messages": call(zone), "stream": False, "options": {"num_predict": 1}}
            status, _, ollama = server.post("/api/chat", body)
            assert status == 200 and ollama["prompt_eval_count"] == answer["usage"]["input_tokens"], ollama


test_joining_template()
with Server(["--parallel", "8", "--max-queue", "64"]) as the_server:
    for test in (test_schema, test_grammars, test_tools, test_responses, test_anthropic, test_ollama,
                 test_alone_and_together):
        test(the_server)
        print("ok", test.__name__)
