# SPDX-License-Identifier: Apache-2.0
"""Chat completions and completions of OpenAI's API: the effect of every parameter, bad values, streams, usage,
log-probabilities, and equal answers alone and under load."""
import threading

from harness import Server

HELLO = [{"role": "user", "content": "Hello!"}]
PROMPT = "Once upon a time"
CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"


def ask(server, path, **body):
    status, headers, answer = server.post(path, body)
    assert status == 200, (path, body, answer)
    assert headers["X-Request-Id"]
    return answer


def chat(server, **body):
    return ask(server, CHAT, **{"messages": HELLO, "temperature": 0, "max_tokens": 16, **body})


def complete(server, **body):
    return ask(server, COMPLETIONS, **{"prompt": PROMPT, "temperature": 0, "max_tokens": 12, **body})


def text_of(answer):
    c = answer["choices"][0]
    return c["message"]["content"] if "message" in c else c["text"]


# ---- Shape of answers

def check_usage(usage):
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"], usage
    assert 0 <= usage["prompt_tokens_details"]["cached_tokens"] <= usage["prompt_tokens"], usage


def test_shape(server):
    first, second = chat(server), chat(server, model="quire-tiny")
    for answer, kind in ((first, "chat.completion"), (complete(server), "text_completion")):
        assert answer["object"] == kind and answer["model"] == "quire-tiny", answer
        assert answer["created"] > 1.7e9 and answer["choices"][0]["index"] == 0
        assert answer["choices"][0]["logprobs"] is None
        assert set(answer["timings"]) >= {"prompt_n", "prompt_ms", "predicted_n", "predicted_per_second"}
        check_usage(answer["usage"])
    assert first["id"] != second["id"] and first["id"].startswith("chatcmpl-")
    assert first["system_fingerprint"] == second["system_fingerprint"]
    assert first["choices"] == second["choices"]
    assert first["choices"][0]["message"] == {"role": "assistant", "content": text_of(first), "refusal": None}
    again = complete(server, prompt=PROMPT + " there was")
    again = complete(server, prompt=PROMPT + " there was")
    assert again["usage"]["prompt_tokens_details"]["cached_tokens"] == again["usage"]["prompt_tokens"] - 1
    assert again["timings"]["cache_n"] == again["usage"]["prompt_tokens"] - 1


# ---- Effects

def test_length(server):
    for name in ("max_tokens", "max_completion_tokens", "n_predict"):
        answer = ask(server, CHAT, messages=HELLO, temperature=0, **{name: 3})
        assert answer["choices"][0]["finish_reason"] == "length"
        assert answer["usage"]["completion_tokens"] == 3
    whole = chat(server, max_tokens=-1)
    assert whole["choices"][0]["finish_reason"] == "stop"
    assert text_of(whole).startswith(text_of(chat(server, max_tokens=3)))
    assert ask(server, COMPLETIONS, prompt=PROMPT, temperature=0)["usage"]["completion_tokens"] == 16
    longer = chat(server, max_tokens=100, ignore_eos=True)
    assert longer["usage"]["completion_tokens"] == 100
    n = whole["usage"]["completion_tokens"]
    assert chat(server, max_tokens=100, min_tokens=n + 5)["usage"]["completion_tokens"] >= n + 5
    assert complete(server, max_tokens=0)["choices"][0] == {
        "text": "", "index": 0, "logprobs": None, "finish_reason": "length"}


# Each changes the text that temperature 1.2 and seed 1 give.
SAMPLING = [
    {"temperature": 0}, {"seed": 2}, {"top_k": 1}, {"top_p": 0.01}, {"min_p": 0.9}, {"typical_p": 0.01},
    {"top_n_sigma": 0.1}, {"presence_penalty": 20}, {"frequency_penalty": 20}, {"repeat_penalty": 4},
    {"repetition_penalty": 4}, {"xtc_probability": 1, "xtc_threshold": 0.05},
    {"mirostat": 2, "mirostat_tau": 0.1}, {"dynatemp_range": 1}, {"samplers": ["top_k"], "top_k": 1},
    {"logit_bias": {"33": 100}}, {"logit_bias": [[33, 100]]},
]


def test_sampling(server):
    base = {"temperature": 1.2, "seed": 1, "max_tokens": 32, "top_k": 0, "top_p": 1, "min_p": 0}
    for ask_text in (chat, complete):
        text = text_of(ask_text(server, **base))
        assert text == text_of(ask_text(server, **base))
        for change in SAMPLING:
            other = text_of(ask_text(server, **{**base, **change}))
            assert other != text, (ask_text.__name__, change)
    greedy = text_of(complete(server, max_tokens=32))
    for change in ({"top_k": 1}, {"top_p": 0}, {"min_p": 1}):
        assert text_of(complete(server, **{**base, **change})) == greedy, change
    assert set(text_of(complete(server, logit_bias={"33": 100}))) == {"!"}
    assert text_of(complete(server, logit_bias={"33": 100}, max_tokens=2)) == "!!"
    assert text_of(complete(server, max_tokens=32, dry_multiplier=20)) != greedy
    texts = {text_of(chat(server, **{**base, "seed": None})) for _ in range(4)}
    assert len(texts) > 1, "without a seed answers differ"


def test_stop(server):
    whole = text_of(chat(server, max_tokens=64))
    cut = whole.index(" ", 5)
    for stop in (whole[cut:cut + 4], ["@@", whole[cut:cut + 4]]):
        answer = chat(server, max_tokens=64, stop=stop)
        assert text_of(answer) == whole[:cut] and answer["choices"][0]["finish_reason"] == "stop"
    assert text_of(chat(server, max_tokens=64, stop=[])) == whole
    token = server.post("/tokenize", {"content": " am"})[2]["tokens"][0]
    assert text_of(chat(server, stop_token_ids=[token])) == whole[:whole.index(" am")]


def test_several(server):
    answer = chat(server, n=3, temperature=1.5, seed=3)
    texts = [c["message"]["content"] for c in answer["choices"]]
    assert [c["index"] for c in answer["choices"]] == [0, 1, 2] and len(set(texts)) > 1
    assert texts[0] == text_of(chat(server, temperature=1.5, seed=3))
    check_usage(answer["usage"])
    one = chat(server, temperature=1.5, seed=3)["usage"]
    assert answer["usage"]["prompt_tokens"] == one["prompt_tokens"]
    assert answer["usage"]["completion_tokens"] > one["completion_tokens"]
    best = complete(server, n=1, best_of=4, temperature=1.5, seed=3)
    assert len(best["choices"]) == 1
    beams = complete(server, use_beam_search=True, n=2, best_of=4)
    assert len(beams["choices"]) == 2 and beams["choices"][0]["text"] != beams["choices"][1]["text"]


def test_messages(server):
    plain = text_of(chat(server))
    parts = [{"role": "user", "content": [{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo!"}]}]
    assert text_of(chat(server, messages=parts)) == plain
    system = [{"role": "system", "content": "Answer in capital letters."}]
    developer = [{"role": "developer", "content": "Answer in capital letters."}]
    with_system = chat(server, messages=system + HELLO)
    assert with_system["usage"]["prompt_tokens"] > chat(server)["usage"]["prompt_tokens"]
    assert with_system["choices"] == chat(server, messages=developer + HELLO)["choices"]
    begin = plain[:plain.index(" ", 4)]
    continued = HELLO + [{"role": "assistant", "content": begin}]
    for extra in ({}, {"continue_final_message": True}, {"continue_final_message": True,
                                                          "add_generation_prompt": False}):
        assert begin + text_of(chat(server, messages=continued, max_tokens=8, **extra)) == \
            text_of(chat(server, messages=HELLO, max_tokens=8 + len(tokens(server, begin)))), extra
    assert text_of(chat(server, add_generation_prompt=True, continue_final_message=False)) == plain
    # variables of a template that does not use them change nothing
    assert text_of(chat(server, chat_template_kwargs={"enable_thinking": False}, reasoning_effort="low",
                        documents=[{"title": "a", "text": "b"}])) == plain


def tokens(server, text):
    return server.post("/tokenize", {"content": text})[2]["tokens"]


def test_prompts(server):
    text = text_of(complete(server))
    ids = server.post("/tokenize", {"prompt": PROMPT})[2]["tokens"]
    assert text_of(complete(server, prompt=ids)) == text
    for prompts in ([PROMPT, "Two"], [ids, tokens(server, "Two")]):
        answer = complete(server, prompt=prompts, n=2)
        assert [c["index"] for c in answer["choices"]] == [0, 1, 2, 3]
        assert answer["choices"][0]["text"] == answer["choices"][1]["text"] == text
        assert answer["choices"][2]["text"] == text_of(complete(server, prompt="Two"))
        check_usage(answer["usage"])
        assert answer["usage"]["prompt_tokens"] == len(ids) + len(tokens(server, "Two"))
    seeded = {"temperature": 1.5, "seed": 9}
    assert complete(server, prompt=["Two", PROMPT], **seeded)["choices"][1]["text"] == \
        text_of(complete(server, **seeded)), "each prompt has the answer that it has alone"
    equal = complete(server, prompt=[PROMPT] * 4, temperature=1.5, max_tokens=24)["choices"]
    assert len({c["text"] for c in equal}) > 1
    assert len(complete(server, prompt=["a"] * 64, max_tokens=1)["choices"]) == 64
    assert text_of(complete(server, echo=True)) == PROMPT + text
    assert text_of(complete(server, echo=True, max_tokens=0)) == PROMPT
    assert text_of(complete(server, suffix="")) == text
    marker = "<|im_start|>"
    assert complete(server, prompt=marker)["usage"]["prompt_tokens"] == 1
    assert complete(server, prompt=marker, parse_special=False)["usage"]["prompt_tokens"] > 1
    assert complete(server, prompt=marker, echo=True, max_tokens=0, skip_special_tokens=False)[
        "choices"][0]["text"] == marker
    cached = complete(server, prompt=PROMPT + " in the hills")
    assert complete(server, prompt=PROMPT + " in the hills", cache_prompt=False)["usage"][
        "prompt_tokens_details"]["cached_tokens"] == 0
    assert cached["choices"][0]["text"] == text_of(complete(server, prompt=PROMPT + " in the hills"))


def test_harmless(server):
    plain = chat(server)["choices"]
    for extra in ({"user": "u"}, {"store": True}, {"metadata": {"a": "b"}}, {"service_tier": "auto"},
                  {"safety_identifier": "s"}, {"prompt_cache_key": "k"}, {"prompt_cache_retention": "24h"},
                  {"prediction": {"type": "content", "content": "x"}}, {"id_slot": 3}, {"verbosity": "medium"},
                  {"modalities": ["text"]}, {"response_format": {"type": "text"}}, {"tool_choice": "none"},
                  {"tool_choice": "auto"}, {"tools": []}, {"logit_bias": {}}, {"stop": None}, {"audio": None},
                  {"stream": False}, {"timings_per_token": True}, {"return_progress": True}):
        assert chat(server, **extra)["choices"] == plain, extra
    metrics = server.get("/metrics")[2].decode()
    assert 'parameter="service_tier"' in metrics, "ignored parameters are counted"


# ---- Streams

def joined(events):
    """Texts by index, finish reasons, chunks."""
    texts, reasons, chunks = {}, {}, []
    assert events[-1] == (None, "[DONE]")
    for name, chunk in events[:-1]:
        assert name is None
        chunks.append(chunk)
        for c in chunk["choices"]:
            assert c["index"] not in reasons, "nothing follows the reason"
            piece = c["delta"].get("content") if "delta" in c else c["text"]
            texts[c["index"]] = texts.get(c["index"], "") + (piece or "")
            if c["finish_reason"]:
                reasons[c["index"]] = c["finish_reason"]
    return texts, reasons, chunks


def test_streams(server):
    for path, body in ((CHAT, {"messages": HELLO}), (CHAT, {"messages": HELLO, "n": 3}),
                       (COMPLETIONS, {"prompt": PROMPT}), (COMPLETIONS, {"prompt": [PROMPT, "Two"], "n": 2}),
                       (COMPLETIONS, {"prompt": PROMPT, "echo": True}),
                       (CHAT, {"messages": HELLO, "stop": [" am"]}),
                       (COMPLETIONS, {"prompt": PROMPT, "n": 2, "best_of": 3})):
        for sampling in ({"temperature": 0}, {"temperature": 1.5, "seed": 5}):
            body = {**body, **sampling, "max_tokens": 24}
            whole = ask(server, path, **body)
            options = {"stream": True, "stream_options": {"include_usage": True}}
            texts, reasons, chunks = joined(list(server.stream(path, {**body, **options})))
            want = {c["index"]: c["message"]["content"] if path == CHAT else c["text"] for c in whole["choices"]}
            assert texts == want, (body, texts, want)
            assert reasons == {c["index"]: c["finish_reason"] for c in whole["choices"]}
            assert len({c["id"] for c in chunks}) == 1 and len({c["created"] for c in chunks}) == 1
            assert chunks[-1]["choices"] == [] and all(c["usage"] is None for c in chunks[:-1])
            usage = chunks[-1]["usage"]
            check_usage(usage)
            assert usage["completion_tokens"] == whole["usage"]["completion_tokens"]
            if path == CHAT:
                assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
                assert {c["object"] for c in chunks} == {"chat.completion.chunk"}


def test_stream_options(server):
    body = {"messages": HELLO, "stream": True, "temperature": 0, "max_tokens": 6}
    _, _, chunks = joined(list(server.stream(CHAT, body)))
    assert all("usage" not in c for c in chunks) and "timings" in chunks[-1]
    _, _, chunks = joined(list(server.stream(CHAT, {**body, "stream_options": {
        "continuous_usage_stats": True, "include_usage": True, "include_obfuscation": False}})))
    counts = [c["usage"]["completion_tokens"] for c in chunks]
    assert counts == sorted(counts) and counts[0] == 0 and counts[-1] == 6, counts
    _, _, chunks = joined(list(server.stream(CHAT, {**body, "timings_per_token": True})))
    assert all("timings" in c for c in chunks)
    long_prompt = [{"role": "user", "content": " ".join(f"word{i}" for i in range(280))}]
    _, _, chunks = joined(list(server.stream(CHAT, {**body, "messages": long_prompt, "return_progress": True})))
    progress = [c["prompt_progress"] for c in chunks if "prompt_progress" in c]
    assert len(progress) >= 1 and all(0 < p["processed"] <= p["total"] for p in progress), progress
    assert all(p["time_ms"] > 0 for p in progress), progress
    assert [p["processed"] for p in progress] == sorted(p["processed"] for p in progress)


# ---- Log-probabilities

def echo_logprobs(server, ids, top):
    """The engine's own numbers for a sequence of tokens."""
    answer = complete(server, prompt=ids, echo=True, max_tokens=0, logprobs=top)
    return answer["choices"][0]["logprobs"]


def test_chat_logprobs(server):
    answer = chat(server, logprobs=True, top_logprobs=3)
    content = answer["choices"][0]["logprobs"]["content"]
    assert "".join(c["token"] for c in content) == text_of(answer)
    assert bytes(b for c in content for b in c["bytes"]).decode() == text_of(answer)
    prompt = server.post("/tokenize", {"messages": HELLO})[2]["tokens"]
    ids = prompt + tokens(server, text_of(answer))
    own = echo_logprobs(server, ids, 3)
    assert own["tokens"][len(prompt):] == [c["token"] for c in content]
    assert own["token_logprobs"][len(prompt):] == [c["logprob"] for c in content]
    for c, top in zip(content, own["top_logprobs"][len(prompt):]):
        assert len(c["top_logprobs"]) == 3
        assert {t["token"]: t["logprob"] for t in c["top_logprobs"]} == top
        assert c["top_logprobs"][0]["logprob"] == c["logprob"], "greedy"
    plain = chat(server, logprobs=True)["choices"][0]["logprobs"]["content"]
    assert [c["logprob"] for c in plain] == [c["logprob"] for c in content]
    assert all(c["top_logprobs"] == [] for c in plain)
    streamed = [e for _, e in server.stream(CHAT, {"messages": HELLO, "temperature": 0, "max_tokens": 16,
                                                   "logprobs": True, "top_logprobs": 3, "stream": True})][:-1]
    entries = [x for e in streamed for c in e["choices"] if c["logprobs"] for x in c["logprobs"]["content"]]
    assert entries == content
    ended = chat(server, logprobs=True, max_tokens=200)["choices"][0]
    assert ended["finish_reason"] == "stop"
    assert "".join(c["token"] for c in ended["logprobs"]["content"]) == ended["message"]["content"]


def test_completion_logprobs(server):
    for prompt in (PROMPT, "Grüße, 世界 🙂 and more"):
        body = {"prompt": prompt, "echo": True, "logprobs": 2, "max_tokens": 8}
        answer = complete(server, **body)
        text, lp = text_of(answer), answer["choices"][0]["logprobs"]
        assert len({len(v) for v in lp.values()}) == 1
        assert lp["token_logprobs"][0] is None and lp["top_logprobs"][0] is None
        whole = [i for i, t in enumerate(lp["tokens"]) if not t.startswith("bytes:")]
        for i in whole:
            at = lp["text_offset"][i]
            assert text[at:at + len(lp["tokens"][i])] == lp["tokens"][i], (i, lp["tokens"][i], text)
        for value, top, name in list(zip(lp["token_logprobs"], lp["top_logprobs"], lp["tokens"]))[1:]:
            assert top[name] == value and len(top) in (2, 3)
        streamed = [e for _, e in server.stream(COMPLETIONS, {**body, "temperature": 0, "stream": True})][:-1]
        for name in lp:
            got = [x for e in streamed for c in e["choices"] if c["logprobs"] for x in c["logprobs"][name]]
            assert got == lp[name], name
    generated = complete(server, logprobs=0)["choices"][0]["logprobs"]
    assert generated["text_offset"][0] == 0
    assert all(list(t) == [name] for t, name in zip(generated["top_logprobs"], generated["tokens"]))
    assert len(complete(server, logprobs=20)["choices"][0]["logprobs"]["top_logprobs"][0]) == 20


# ---- Bad values

BAD_SHARED = [  # for both routes: body, param
    ({"model": 5}, "model"), ({"model": "none"}, "model"), ({"stream": "yes"}, "stream"),
    ({"stream_options": []}, "stream_options"), ({"stream_options": {"include_usage": True}}, "stream_options"),
    ({"stream": True, "stream_options": {"include_usage": 1}}, "stream_options.include_usage"),
    ({"stream": True, "stream_options": {"x": 1}}, "stream_options.x"),
    ({"temperature": "1"}, "temperature"), ({"temperature": -0.1}, "temperature"), ({"top_p": 1.1}, "top_p"),
    ({"top_p": [1]}, "top_p"), ({"top_k": 1.5}, "top_k"), ({"min_p": 2}, "min_p"), ({"typical_p": -1}, "typical_p"),
    ({"presence_penalty": "x"}, "presence_penalty"), ({"frequency_penalty": {}}, "frequency_penalty"),
    ({"repeat_penalty": 0}, "repeat_penalty"), ({"seed": "x"}, "seed"), ({"seed": 0.5}, "seed"),
    ({"n": 0}, "n"), ({"n": 1000000}, "n"), ({"n": "2"}, "n"), ({"best_of": 1, "n": 2}, "best_of"),
    ({"max_tokens": -2}, "max_tokens"), ({"max_tokens": "5"}, "max_tokens"), ({"max_tokens": 1e20}, "max_tokens"),
    ({"max_completion_tokens": 2.5}, "max_completion_tokens"), ({"n_predict": False}, "n_predict"),
    ({"min_tokens": -1}, "min_tokens"), ({"min_tokens": 9, "max_tokens": 5}, "min_tokens"),
    ({"stop": 5}, "stop"), ({"stop": ["a", 5]}, "stop"), ({"stop": ["a"] * 17}, "stop"),
    ({"stop_token_ids": ["x"]}, "stop_token_ids"), ({"logit_bias": "x"}, "logit_bias"),
    ({"logit_bias": {"x": 1}}, "logit_bias"), ({"logit_bias": {"1": "y"}}, "logit_bias"),
    ({"logit_bias": {"99999999": 1}}, "logit_bias"), ({"ignore_eos": 1}, "ignore_eos"),
    ({"cache_prompt": "no"}, "cache_prompt"), ({"samplers": ["nope"]}, "samplers"), ({"mirostat": 1}, "mirostat"),
    ({"response_format": "x"}, "response_format"), ({"response_format": {}}, "response_format.type"),
    ({"response_format": {"type": "xml"}}, "response_format.type"),
    ({"response_format": {"type": "json_schema"}}, "response_format.json_schema"),
    ({"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}}, "response_format.json_schema.schema"),
    ({"response_format": {"type": "json_object", "x": 1}}, "response_format.x"),
    ({"response_format": {"type": "structural_tag", "format": {"type": "x"}}}, "response_format"),
    ({"grammar": "root ::= x"}, "grammar"), ({"grammar": "root := 5"}, "grammar"), ({"grammar": 5}, "grammar"),
    ({"guided_json": "{"}, "guided_json"), ({"guided_json": {"$ref": "#/nowhere"}}, "guided_json"),
    ({"guided_regex": "(a"}, "guided_regex"), ({"guided_choice": []}, "guided_choice"),
    ({"guided_choice": "x"}, "guided_choice"), ({"guided_grammar": "start: x"}, "guided_grammar"),
    ({"json_schema": {"type": "nothing"}}, "json_schema"), ({"json_schema": 5}, "json_schema"),
    ({"structured_outputs": {"x": 1}}, "structured_outputs.x"), ({"structured_outputs": 1}, "structured_outputs"),
    ({"guided_regex": "a", "guided_choice": ["b"]}, None), ({"guided_whitespace_pattern": "x"}, "guided_whitespace_pattern"),
    ({"return_progress": 1}, "return_progress"), ({"timings_per_token": 0}, "timings_per_token"),
    ({"unknown_thing": 1}, "unknown_thing"), ({"use_beam_search": True}, "best_of"),
]
TOOL = {"type": "function", "function": {"name": "f", "parameters": {}}}
BAD_CHAT = [
    ({"messages": None}, "messages"), ({"messages": "hi"}, "messages"), ({"messages": []}, "messages"),
    ({"messages": [5]}, "messages[0]"), ({"messages": [{"content": "x"}]}, "messages[0].role"),
    ({"messages": [{"role": "king", "content": "x"}]}, "messages[0].role"),
    ({"messages": HELLO + [{"role": "user", "content": 5}]}, "messages[1].content"),
    ({"messages": [{"role": "user"}]}, "messages[0].content"),
    ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
     "messages[0].content[0].type"),
    ({"messages": [{"role": "assistant", "content": "x"}]}, "messages"),
    ({"max_tokens": 0}, "max_tokens"), ({"max_completion_tokens": 0}, "max_completion_tokens"),
    ({"logprobs": 5}, "logprobs"), ({"top_logprobs": 3}, "top_logprobs"),
    ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"), ({"logprobs": True, "top_logprobs": "x"}, "top_logprobs"),
    ({"tools": [5]}, "tools[0]"), ({"tools": [{"type": "function"}]}, "tools[0].function"),
    ({"tools": [{"type": "custom", "custom": {"name": "x"}}]}, "tools[0].type"), ({"tools": {}}, "tools"),
    ({"tools": [{"type": "function", "function": {"name": ""}}]}, "tools[0].function.name"),
    ({"tools": [{"type": "function", "function": {"name": "f", "parameters": []}}]}, "tools[0].function.parameters"),
    ({"tools": [TOOL, TOOL]}, "tools[1]"), ({"tools": [{**TOOL, "x": 1}]}, "tools[0].x"),
    ({"guided_json": "{", "tools": [TOOL]}, "guided_json"),
    ({"tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "x"}}}]}, "tools"),
    ({"tool_choice": "required"}, "tool_choice"), ({"tools": [TOOL], "tool_choice": "some"}, "tool_choice"),
    ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, "tool_choice"),
    ({"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "g"}}}, "tool_choice"),
    ({"tools": [TOOL], "grammar": "root ::= [a-z]"}, "tools"),
    ({"parallel_tool_calls": 5}, "parallel_tool_calls"), ({"functions": [{"name": "f"}]}, "functions"),
    ({"function_call": {"name": "f"}}, "function_call"), ({"modalities": ["audio"]}, "modalities"),
    ({"audio": {"voice": "x"}}, "audio"), ({"web_search_options": {}}, "web_search_options"),
    ({"verbosity": "high"}, "verbosity"), ({"reasoning_effort": "huge"}, "reasoning_effort"),
    ({"reasoning_effort": 3}, "reasoning_effort"), ({"chat_template_kwargs": []}, "chat_template_kwargs"),
    ({"reasoning_format": "x"}, "reasoning_format"), ({"echo": True}, "echo"), ({"documents": "x"}, "documents"),
    ({"add_generation_prompt": False}, "add_generation_prompt"),
    ({"continue_final_message": True}, "continue_final_message"),
    ({"messages": HELLO + [{"role": "assistant", "content": "x"}], "continue_final_message": False},
     "continue_final_message"),
    ({"messages": [{"role": "user", "content": "a " * 3000}]}, "messages"),
]
BAD_COMPLETIONS = [
    ({"prompt": None}, "prompt"), ({"prompt": 5}, "prompt"), ({"prompt": []}, "prompt"), ({"prompt": {}}, "prompt"),
    ({"prompt": ["a", 5]}, "prompt[1]"), ({"prompt": [1, "a"]}, "prompt[1]"), ({"prompt": [1, -1]}, "prompt[1]"),
    ({"prompt": [[1], "a"]}, "prompt[1]"), ({"prompt": [[]]}, "prompt[0]"), ({"prompt": [[1], [1.5]]}, "prompt[1][0]"),
    ({"prompt": ["a"] * 65}, "prompt"), ({"prompt": [10 ** 12]}, "prompt[0]"), ({"prompt": [99999999]}, "prompt"),
    ({"prompt": [True]}, "prompt[0]"), ({"prompt": "a " * 3000}, "prompt"), ({"prompt": ["a", "a " * 3000]}, "prompt[1]"),
    ({"prompt": ""}, "prompt"),
    ({"echo": "yes"}, "echo"), ({"logprobs": 21}, "logprobs"), ({"logprobs": -1}, "logprobs"),
    ({"logprobs": True}, "logprobs"), ({"suffix": "x"}, "suffix"), ({"suffix": 5}, "suffix"),
    ({"messages": HELLO}, "messages"), ({"add_special_tokens": 1}, "add_special_tokens"),
]


def test_bad_values(server):
    before = chat(server)["choices"]
    for path, base, cases in ((CHAT, {"messages": HELLO}, BAD_SHARED + BAD_CHAT),
                              (COMPLETIONS, {"prompt": PROMPT}, BAD_SHARED + BAD_COMPLETIONS)):
        for body, param in cases:
            status, _, answer = server.post(path, {**base, **body})
            where = (path, str(body)[:200], answer)
            assert status == (404 if body.get("model") == "none" else 400), where
            error = answer["error"]
            assert error["param"] == param, where
            assert error["message"] and error["type"] and "code" in error, where
    status, _, answer = server.post(CHAT, {"messages": [{"role": "user", "content": "a " * 3000}]})
    assert answer["error"]["code"] == "context_length_exceeded", answer
    for body in (b"", b"[]", b"{", b'{"messages": [], "messages": []}', b'{"messages": NaN}', b"\xff{}"):
        status, _, answer = server.post(CHAT, body)
        assert status == 400 and answer["error"]["type"] == "invalid_request_error", (body, answer)
    assert chat(server)["choices"] == before


# ---- The same answers under load

def test_company(server):
    """16 requests at once have the texts that they have alone."""
    jobs = []
    for i in range(16):
        sampling = {"temperature": 0} if i % 2 else {"temperature": 1.3, "seed": 100 + i}
        if i % 3 == 0:
            jobs.append((COMPLETIONS, {"prompt": f"{i} little foxes went", "max_tokens": 40, **sampling}))
        else:
            message = [{"role": "user", "content": f"Tell me {i} things about the hill."}]
            jobs.append((CHAT, {"messages": message, "max_tokens": 40, "logprobs": i % 4 == 0, **sampling}))
    alone = [ask(server, path, **body)["choices"] for path, body in jobs]
    together = [None] * len(jobs)

    def run(i):
        path, body = jobs[i]
        together[i] = ask(server, path, **body)["choices"]

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(jobs))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert together == alone


def test_short_queue():
    """A call with more prompts than the queue has room for takes a part of it at a time."""
    with Server(["--max-queue", "8", "-c", "256"]) as server:
        answer = complete(server, prompt=[f"{i} foxes" for i in range(40)], n=3, max_tokens=2)
        assert len(answer["choices"]) == 120
        assert answer["choices"][117]["text"] == text_of(complete(server, prompt="39 foxes", max_tokens=2))
        assert len(ask(server, "/v1/embeddings", input=["a"] * 100)["data"]) == 100
        status, _, answer = server.post(COMPLETIONS, {"prompt": "a", "n": 9})
        assert status == 400 and answer["error"]["param"] == "n", answer


if __name__ == "__main__":
    test_short_queue()
    with Server(["--parallel", "16", "-c", "1024"]) as the_server:
        for name, test in list(globals().items()):
            if name.startswith("test_") and name != "test_short_queue":
                test(the_server)
                print("ok", name)
