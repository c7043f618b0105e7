# SPDX-License-Identifier: Apache-2.0
"""Embeddings, rerank, score, tokens, templates and the list of models: every parameter, bad values."""
import base64
import math
import struct
import tempfile

import tiny_bert
from harness import BUNDLED, Server, copy_of_bundled

QUERY = "who lives here?"
DOCUMENTS = ["the fox", "the hill", "a big red hill", "the fox"]


def ask(server, path, **body):
    status, _, answer = server.post(path, body)
    assert status == 200, (path, body, answer)
    return answer


def embed(server, **body):
    answer = ask(server, "/v1/embeddings", **body)
    assert answer["object"] == "list"
    assert [d["index"] for d in answer["data"]] == list(range(len(answer["data"])))
    assert answer["usage"]["prompt_tokens"] == answer["usage"]["total_tokens"] > 0
    return [d["embedding"] for d in answer["data"]]


def refuse(server, path, cases, base):
    for body, param in cases:
        status, _, answer = server.post(path, {**base, **body})
        assert status == (404 if body.get("model") == "none" else 400), (path, str(body)[:100], answer)
        assert answer["error"]["param"] == param, (path, str(body)[:100], answer)


def as_floats(vector):
    return list(struct.unpack(f"<{len(vector)}f", struct.pack(f"<{len(vector)}f", *vector)))


# ---- Embeddings

def check_embeddings(server, model, width, text):
    vector = embed(server, model=model, input=text)[0]
    assert len(vector) == width and abs(math.fsum(x * x for x in vector) - 1) < 1e-5
    raw = embed(server, model=model, input=text, encoding_format="base64")[0]
    assert list(struct.unpack(f"<{width}f", base64.b64decode(raw))) == as_floats(vector)
    assert embed(server, model=model, input=[text, "the fox", text]) == \
        [vector, embed(server, model=model, input="the fox")[0], vector]
    short = embed(server, model=model, input=text, dimensions=8)[0]
    scale = vector[0] / short[0]
    assert len(short) == 8 and all(abs(a * scale - b) < 1e-5 for a, b in zip(short, vector))
    long = embed(server, model=model, input=text, normalize=False)[0]
    norm = math.sqrt(math.fsum(x * x for x in long))
    assert abs(norm - 1) > 1e-3 and all(abs(a / norm - b) < 1e-5 for a, b in zip(long, vector))


def test_embeddings(server):
    check_embeddings(server, "encoder", tiny_bert.WIDTH, "the big fox")
    check_embeddings(server, "tiny", 384, "Once upon a time")
    ids = ask(server, "/tokenize", model="tiny", prompt="Once upon a time")["tokens"]
    vector = embed(server, model="tiny", input="Once upon a time")
    assert embed(server, model="tiny", input=ids) == vector
    assert embed(server, model="tiny", input=[ids, ids]) == vector * 2
    assert embed(server, model="tiny", input="Once upon a time", user="u") == vector
    many = embed(server, model="encoder", input=[f"the fox {'a ' * (i % 7)}" for i in range(2048)])
    assert len(many) == 2048 and many[0] == many[7] and many[0] != many[1]


def test_bad_embeddings(server):
    refuse(server, "/v1/embeddings", [
        ({"input": None}, "input"), ({"input": []}, "input"), ({"input": 5}, "input"), ({"input": ""}, "input"),
        ({"input": ["a", ""]}, "input[1]"), ({"input": ["a", 1]}, "input[1]"),
        ({"input": [[1], "a"]}, "input[1]"), ({"input": [[]]}, "input[0]"), ({"input": ["a"] * 2049}, "input"),
        ({"input": [99999]}, "input"), ({"input": ["a", "the " * 100]}, "input[1]"), ({"input": "the " * 100}, "input"),
        ({"encoding_format": "hex"}, "encoding_format"), ({"encoding_format": 5}, "encoding_format"),
        ({"dimensions": 0}, "dimensions"), ({"dimensions": 33}, "dimensions"), ({"dimensions": "8"}, "dimensions"),
        ({"normalize": 1}, "normalize"), ({"model": "none"}, "model"), ({"model": 1}, "model"), ({"x": 1}, "x"),
        ({"truncate_prompt_tokens": 5}, "truncate_prompt_tokens"),
    ], {"model": "encoder", "input": "the fox"})
    refuse(server, "/v1/completions", [({}, "model")], {"model": "encoder", "prompt": "the fox"})


# ---- Rerank and score

def test_rerank(server):
    answer = ask(server, "/v1/rerank", model="reranker", query=QUERY, documents=DOCUMENTS)
    results = answer["results"]
    scores = [r["relevance_score"] for r in results]
    assert scores == sorted(scores, reverse=True) and sorted(r["index"] for r in results) == [0, 1, 2, 3]
    assert all(0 < s < 1 for s in scores)
    assert all(r["document"] == {"text": DOCUMENTS[r["index"]]} for r in results)
    by_index = {r["index"]: r["relevance_score"] for r in results}
    order = [r["index"] for r in results]
    assert by_index[0] == by_index[3] and order.index(0) < order.index(3), "equal scores keep their order"
    assert answer["usage"]["total_tokens"] > 0 and answer["model"] == "reranker" and answer["id"]
    same = {"model": "reranker", "query": QUERY}
    top = ask(server, "/rerank", documents=[{"text": d, "title": "t"} for d in DOCUMENTS], top_n=2, **same)["results"]
    assert [r["relevance_score"] for r in top] == scores[:2] and top[0]["document"]["title"] == "t"
    bare = ask(server, "/v1/rerank", documents=DOCUMENTS, return_documents=False, top_n=9, **same)["results"]
    assert [r["relevance_score"] for r in bare] == scores and "document" not in bare[0]
    raw = ask(server, "/v1/rerank", documents=DOCUMENTS, use_activation=False, **same)["results"]
    assert all(abs(1 / (1 + math.exp(-r["relevance_score"])) - by_index[r["index"]]) < 1e-6 for r in raw)
    alone = [ask(server, "/v1/rerank", documents=[d], **same)["results"][0]["relevance_score"] for d in DOCUMENTS]
    assert alone == [by_index[i] for i in range(4)], "a score does not depend on its company"
    check_scores(server, by_index)


def check_scores(server, by_index):
    scored = ask(server, "/v1/score", model="alias", text_1=QUERY, text_2=DOCUMENTS)
    assert [d["score"] for d in scored["data"]] == [by_index[i] for i in range(4)]
    assert [d["index"] for d in scored["data"]] == [0, 1, 2, 3] and scored["model"] == "reranker"
    pairs = ask(server, "/score", model="reranker", text_1=[QUERY] * 4, text_2=DOCUMENTS)
    assert pairs["data"] == scored["data"]
    for first, second in ((QUERY, DOCUMENTS[0]), ([QUERY], DOCUMENTS[0]), (QUERY, [DOCUMENTS[0]])):
        one = ask(server, "/v1/score", model="reranker", text_1=first, text_2=second)
        assert [d["score"] for d in one["data"]] == [by_index[0]]


def test_bad_rerank(server):
    refuse(server, "/v1/rerank", [
        ({"query": None}, "query"), ({"query": 5}, "query"), ({"query": ""}, "query"), ({"documents": None}, "documents"),
        ({"documents": "the fox"}, "documents"), ({"documents": []}, "documents"), ({"documents": [5]}, "documents[0]"),
        ({"documents": ["a", {"title": "x"}]}, "documents[1]"), ({"documents": ["a", ""]}, "documents[1]"),
        ({"documents": ["a"] * 2049}, "documents"), ({"documents": ["a", "the " * 100]}, "documents[1]"),
        ({"top_n": -1}, "top_n"), ({"top_n": "2"}, "top_n"), ({"return_documents": "yes"}, "return_documents"),
        ({"use_activation": 1}, "use_activation"), ({"model": "encoder"}, "model"), ({"model": "classifier"}, "model"),
        ({"model": "tiny"}, "model"), ({"model": "none"}, "model"), ({"max_chunks_per_doc": 1}, "max_chunks_per_doc"),
    ], {"model": "reranker", "query": QUERY, "documents": ["the fox"]})
    refuse(server, "/v1/score", [
        ({"text_1": None}, "text_1"), ({"text_1": 5}, "text_1"), ({"text_1": []}, "text_1"), ({"text_2": [""]}, "text_2[0]"),
        ({"text_2": [5]}, "text_2[0]"), ({"text_1": ["a", "b"]}, "text_2"), ({"text_1": ["a"], "text_2": {}}, "text_2"),
        ({"model": "classifier"}, "model"), ({"x": 1}, "x"),
    ], {"model": "reranker", "text_1": QUERY, "text_2": "the fox"})


# ---- Tokens and templates

def test_tokenize(server):
    text = "Grüße <|im_start|> 世界 🙂"
    answer = ask(server, "/tokenize", model="tiny", content=text)
    ids = answer["tokens"]
    assert answer["count"] == len(ids) and answer["max_model_len"] == 2048 and answer["token_strs"] is None
    back = ask(server, "/detokenize", model="tiny", tokens=ids)
    assert back["content"] == back["prompt"] == text
    plain = ask(server, "/tokenize", model="tiny", content=text, parse_special=False)["tokens"]
    assert len(plain) > len(ids) and ask(server, "/detokenize", model="tiny", tokens=plain)["content"] == text
    pieces = ask(server, "/tokenize", model="tiny", content=text, with_pieces=True)["tokens"]
    assert [p["id"] for p in pieces] == ids
    assert b"".join(p["piece"].encode() if isinstance(p["piece"], str) else bytes(p["piece"])
                    for p in pieces).decode() == text
    strings = ask(server, "/tokenize", model="tiny", prompt="the fox", return_token_strs=True)
    assert len(strings["token_strs"]) == strings["count"] and "".join(strings["token_strs"]) == "theĠfox"
    # llama.cpp's form adds no special tokens by default, vLLM's does
    bare, whole = [4, 5], [2, 4, 5, 3]
    for body, want in (({"content": "the fox"}, bare), ({"content": "the fox", "add_special": True}, whole),
                       ({"prompt": "the fox"}, whole), ({"prompt": "the fox", "add_special_tokens": False}, bare)):
        assert ask(server, "/tokenize", model="encoder", **body)["tokens"] == want, body
    assert ask(server, "/tokenize", model="tiny", content="")["tokens"] == []
    assert ask(server, "/detokenize", model="tiny", tokens=[])["content"] == ""
    nul = ask(server, "/tokenize", model="tiny", content="a\0b")["tokens"]
    assert ask(server, "/detokenize", model="tiny", tokens=nul)["content"] == "a\0b"
    echo = ask(server, "/v1/completions", model="tiny", prompt="a\0b", echo=True, logprobs=1, max_tokens=0)
    assert echo["choices"][0]["logprobs"]["tokens"] == ["a", "bytes:\\x00", "b"]
    talk = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "a\0b"}]
    assert ask(server, "/apply-template", model="tiny", messages=talk)["prompt"].endswith("a\0b")
    long = ask(server, "/tokenize", model="tiny", content="the fox " * 20000)
    assert long["count"] > 20000 and len(long["tokens"]) == long["count"]


TALK = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi <|im_end|> there"}]


def test_templates(server):
    prompt = ask(server, "/apply-template", model="tiny", messages=TALK)["prompt"]
    assert "Be brief." in prompt and prompt.endswith("<|im_start|>assistant\n")
    without = ask(server, "/apply-template", model="tiny", messages=TALK, add_generation_prompt=False)["prompt"]
    assert prompt == without + "<|im_start|>assistant\n"
    counted = ask(server, "/tokenize", model="tiny", messages=TALK, add_special_tokens=False)
    used = ask(server, "/v1/chat/completions", model="tiny", messages=TALK, max_tokens=1)["usage"]
    assert counted["count"] == used["prompt_tokens"]
    assert ask(server, "/detokenize", model="tiny", tokens=counted["tokens"])["content"] == prompt
    assert counted["tokens"].count(ask(server, "/tokenize", model="tiny", content="<|im_end|>")["tokens"][0]) == 2, \
        "special tokens in messages are text"
    talk = TALK + [{"role": "assistant", "content": "Hello <|im_end|>"}]
    for extra in ({}, {"continue_final_message": True, "add_generation_prompt": False}):
        assert ask(server, "/apply-template", model="tiny", messages=talk, **extra)["prompt"] == \
            prompt + "Hello <|im_end|>"
    counted = ask(server, "/tokenize", model="tiny", messages=talk)["count"]
    used = ask(server, "/v1/chat/completions", model="tiny", messages=talk, max_tokens=1)["usage"]
    assert counted == used["prompt_tokens"]
    ended = ask(server, "/apply-template", model="tiny", messages=talk, add_generation_prompt=False)["prompt"]
    assert ended.rstrip().endswith("Hello <|im_end|><|im_end|>"), ended


def test_bad_tokens(server):
    refuse(server, "/tokenize", [
        ({}, "content"), ({"content": 5}, "content"), ({"prompt": ["a"]}, "prompt"), ({"content": "a", "prompt": "b"}, "content"),
        ({"content": "a", "with_pieces": 1}, "with_pieces"), ({"content": "a", "add_special": "x"}, "add_special"),
        ({"content": "a", "x": 1}, "x"), ({"messages": []}, "messages"), ({"messages": [{"role": "user"}]}, "messages[0].content"),
        ({"messages": TALK, "add_generation_prompt": 1}, "add_generation_prompt"),
        ({"messages": TALK, "add_special_tokens": True}, "add_special_tokens"),
        ({"messages": TALK, "continue_final_message": True}, "continue_final_message"),
        ({"content": "a", "model": "none"}, "model"),
    ], {"model": "tiny"})
    refuse(server, "/detokenize", [
        ({}, "tokens"), ({"tokens": "x"}, "tokens"), ({"tokens": ["x"]}, "tokens[0]"), ({"tokens": [1, -1]}, "tokens[1]"),
        ({"tokens": [1, 99999]}, "tokens"), ({"tokens": [1.5]}, "tokens[0]"), ({"tokens": [1], "x": 1}, "x"),
    ], {"model": "tiny"})
    refuse(server, "/apply-template", [
        ({}, "messages"), ({"messages": [{"role": "assistant", "content": "x"}]}, "messages"),
        ({"messages": TALK, "model": "encoder"}, "model"), ({"messages": TALK, "tools": 5}, "tools"),
        ({"messages": TALK, "chat_template_kwargs": 5}, "chat_template_kwargs"), ({"messages": TALK, "x": 1}, "x"),
    ], {"model": "tiny"})


# ---- Models

def test_models(server):
    status, _, models = server.get("/v1/models")
    assert status == 200 and models["object"] == "list"
    assert [m["id"] for m in models["data"]] == ["tiny", "encoder", "reranker", "classifier", "closed"]
    for m in models["data"]:
        assert m["object"] == "model" and m["owned_by"] == "quire" and m["created"] > 1.5e9
    by_name = {m["id"]: m for m in models["data"]}
    assert by_name["reranker"]["aliases"] == ["alias"] and by_name["encoder"]["aliases"] == []
    assert by_name["tiny"]["max_model_len"] == 2048 and by_name["tiny"]["state"] == "open"
    meta = by_name["tiny"]["meta"]
    assert meta["n_vocab"] == 3072 and meta["n_embd"] == 384 and meta["n_params"] > 1e7 and meta["size"] > 1e7
    assert by_name["closed"]["meta"] is None and by_name["closed"]["state"] == "closed"
    for path, name in (("tiny", "tiny"), ("alias", "reranker"), ("%74iny", "tiny")):
        status, _, model = server.get("/v1/models/" + path)
        assert status == 200 and model == by_name[name], (path, model)
    for path in ("none", "tiny%", "tiny%2", "tiny%zz", "%2574iny"):
        status, _, answer = server.get("/v1/models/" + path)
        assert status == 404 and answer["error"]["code"] == "model_not_found", (path, answer)
        assert answer["error"]["param"] == "model"
    assert "tiny" in answer["error"]["message"], "the error lists the models"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["--parallel", "4", "-m", "tiny=" + BUNDLED]
        for model, labels in (("encoder", 0), ("reranker", 1), ("classifier", 3)):
            arguments += ["-m", f"{model}={tiny_bert.write(folder + '/' + model, labels)}"]
        arguments += ["-m", "closed=" + copy_of_bundled(folder, "closed"), "--alias", "alias=reranker"]
        with Server(arguments) as the_server:
            for name, test in list(globals().items()):
                if name.startswith("test_"):
                    test(the_server)
                    print("ok", name)
