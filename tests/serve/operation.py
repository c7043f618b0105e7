#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""/health, /ready, /version, /slots, /metrics, and limits of API keys."""
import hashlib
import os
import re
import tempfile
import threading
import time

from harness import BUNDLED, ROOT, Server

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (-?[0-9.e+-]+|NaN|[+-]Inf)")


def parse(text):
    """Parses Prometheus' text format strictly: {name: (type, {labels: value})}. A histogram's samples have the
    suffix as a label `_`."""
    families, current, seen = {}, None, set()
    assert text.endswith("\n")
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            current = re.fullmatch(rf"# HELP ({NAME}) (\S.*)", line).group(1)
            assert current not in families, line
            assert "\\" not in line, line
        elif line.startswith("# TYPE "):
            name, kind = re.fullmatch(rf"# TYPE ({NAME}) (counter|gauge|histogram)", line).groups()
            assert name == current and name not in families, line
            assert (kind == "counter") == name.endswith("_total"), line
            families[name] = (kind, {})
        else:
            found = SAMPLE.fullmatch(line)
            assert found, line
            assert line.rsplit(" ", 1)[0] not in seen, "twice: " + line
            seen.add(line.rsplit(" ", 1)[0])
            add_sample(families[current], current, found.group(1), found.group(2) or "", float(line.rsplit(" ", 1)[1]))
    for name, (kind, samples) in families.items():
        assert samples, name + " has no samples"
        if kind == "histogram":
            check_histogram(name, samples)
    return families


def add_sample(family, current, name, labels, value):
    kind, samples = family
    labels = dict((k, v) for k, v in re.findall(LABEL, labels))
    if kind == "histogram":
        assert re.fullmatch(current + "_(bucket|sum|count)", name), name
        labels["_"] = name[len(current):]
    else:
        assert name == current, name
        assert "le" not in labels
    if kind != "gauge":
        assert value >= 0, (name, value)
    samples[frozenset(labels.items())] = value


def check_histogram(name, samples):
    series = {}
    for labels, value in samples.items():
        labels = dict(labels)
        suffix, bound = labels.pop("_"), labels.pop("le", None)
        series.setdefault(frozenset(labels.items()), {})[(suffix, bound)] = value
    for values in series.values():
        bounds = sorted((float(b), v) for (s, b), v in values.items() if s == "_bucket")
        counts = [v for _, v in bounds]
        assert counts == sorted(counts) and bounds[-1][0] == float("inf"), name
        assert counts[-1] == values[("_count", None)] and ("_sum", None) in values, name


def value(families, metric, **labels):
    return families[metric][1].get(frozenset(labels.items()))


def metrics(server):
    status, headers, body = server.get("/metrics")
    assert status == 200, status
    assert headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8", headers
    return parse(body.decode("utf-8"))


def chat(server, text="Hello", headers=None, **more):
    return server.post("/v1/chat/completions", {"messages": [{"role": "user", "content": text}], **more},
                       headers=headers)


def documented():
    with open(os.path.join(ROOT, "serve/operation/metrics.def"), encoding="utf-8") as f:
        return re.findall(r'METRIC\(\w+, \w+, "(\w+)"', f.read())


def test_documentation():
    with open(os.path.join(ROOT, "docs/server-operation.md"), encoding="utf-8") as f:
        page = f.read()
    for name in documented():
        assert f"`{name}`" in page, f"docs/server-operation.md lacks {name}"


def test_state(server):
    for _ in range(500):
        if server.get("/ready")[0] == 200:
            break
        time.sleep(0.02)
    assert server.get("/ready")[2] == {"status": "ready"}
    assert server.get("/health")[2] == {"status": "ok"}
    assert re.fullmatch(r"\d+\.\d+\.\d+", server.get("/version")[2]["version"])
    status, _, slots = server.get("/slots")
    assert status == 200 and slots["draining"] is False
    model, = slots["models"]
    assert (model["model"], model["state"], model["generations"]) == ("quire-tiny", "open", [])
    assert model["engine"]["running"] == 0 and model["engine"]["max_sequences"] > 0


def test_slots_while_running(server):
    events = server.stream("/v1/chat/completions", {
        "messages": [{"role": "user", "content": "Tell me a secret"}], "stream": True, "ignore_eos": True})
    for _ in range(10):
        next(events)
    _, _, slots = server.get("/slots")
    generation, = slots["models"][0]["generations"]
    assert generation["phase"] == "generating" and generation["answers"] == 1, generation
    assert generation["prompt_tokens"] == generation["prompt_tokens_done"] > 5, generation
    assert generation["completion_tokens"] >= 8 and generation["seconds"] > 0, generation
    assert "secret" not in str(slots)
    running = value(metrics(server), "quire_requests_running", model="quire-tiny")
    assert running == 1, running
    events.close()  # the client leaves: the answer ends
    for _ in range(500):
        if not server.get("/slots")[2]["models"][0]["generations"]:
            return
        time.sleep(0.02)
    raise AssertionError("the answer of a client that left goes on")


def test_metrics(server):
    route = {"route": "/v1/chat/completions"}
    before = metrics(server)
    text = "Count these tokens and find them in the cache the second time, " * 12
    usage = [chat(server, text, max_tokens=4, user="someone")[2]["usage"] for _ in range(2)]
    assert chat(server, max_tokens="x")[0] == 400
    expected = (value(before, "quire_http_requests_total", status="200", **route) or 0) + 2
    for _ in range(500):  # an answer is counted when its connection is done with it
        after = metrics(server)
        if (value(after, "quire_http_requests_total", status="200", **route) == expected
                and value(after, "quire_http_requests_total", status="400", **route)):
            break
        time.sleep(0.02)
    unknown = set(after) - set(documented())
    assert not unknown, unknown

    def grown(metric, **labels):
        old = value(before, metric, **labels) if metric in before else 0
        return value(after, metric, **labels) - (old or 0)

    def histogram(metric, **labels):
        return grown(metric, _="_count", **labels)

    assert grown("quire_http_requests_total", status="200", **route) == 2
    assert grown("quire_http_requests_total", status="400", **route) == 1
    assert histogram("quire_http_request_duration_seconds", **route) == 3
    model = {"model": "quire-tiny"}
    assert histogram("quire_time_to_first_token_seconds", **model) == 2
    assert histogram("quire_generation_duration_seconds", **model) == 2
    assert grown("quire_answers_total", finish_reason="length", **model) == 2
    tokens = sum(u["completion_tokens"] for u in usage)
    assert grown("quire_completion_tokens_total", **model) == tokens == 8
    assert grown("quire_prompt_tokens_total", **model) == sum(u["prompt_tokens"] for u in usage)
    cached = sum(u["prompt_tokens_details"]["cached_tokens"] for u in usage)
    assert grown("quire_prompt_cached_tokens_total", **model) == cached > 0
    assert grown("quire_engine_steps_total", **model) >= 8
    assert grown("quire_ignored_parameters_total", parameter="user") == 2
    assert value(after, "quire_models_open") == value(after, "quire_model_open", **model) == 1
    assert value(after, "quire_kv_blocks", **model) >= value(after, "quire_kv_blocks_cached", **model) > 0
    assert value(after, "process_resident_memory_bytes") > 1 << 20
    assert 3 < value(after, "process_open_fds") <= value(after, "process_max_fds")
    assert time.time() - value(after, "process_start_time_seconds") < 600
    version = server.get("/version")[2]["version"]
    assert value(after, "quire_build_info", version=version) == 1


def test_switched_off():
    with Server(["--no-metrics"]) as server:
        status, _, body = server.get("/metrics")
        assert status == 404 and "--no-metrics" in body["error"]["message"], body


def test_draining():
    with Server(["--drain-timeout", "20"]) as server:
        events = server.stream("/v1/chat/completions", {
            "messages": [{"role": "user", "content": "x"}], "stream": True, "ignore_eos": True, "max_tokens": 1500})
        next(events)
        # Connections without a request are closed: the rest of this one comes after the signal.
        probe = server.connect()
        probe.sendall(b"GET /ready HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n")
        time.sleep(0.2)
        server.process.terminate()
        time.sleep(0.2)
        probe.sendall(b"x")
        answer = probe.makefile("rb").readline()
        assert answer.startswith(b"HTTP/1.1 503"), answer
        events.close()


def key_line(name, key, more=""):
    return f"{name} sha256:{hashlib.sha256(key.encode()).hexdigest()} {more}\n"


def test_keys():
    with tempfile.NamedTemporaryFile("w", suffix=".keys") as f:
        f.write("# clients\n" + key_line("alice", "key-a", "rpm=3") + key_line("bob", "key-b", "concurrent=1"))
        f.flush()
        with Server(["--api-key-file", f.name]) as server:
            alice, bob = {"Authorization": "Bearer key-a"}, {"x-api-key": "key-b"}
            for headers in ({}, {"Authorization": "Bearer key-c"}, {"Authorization": "Basic key-a"}):
                status, _, body = chat(server, headers=headers)
                assert status == 401 and body["error"]["type"] == "authentication_error", body
            assert server.get("/metrics")[0] == server.get("/slots")[0] == 401
            assert server.get("/health")[0] == 200
            for _ in range(3):
                assert chat(server, max_tokens=1, headers=alice)[0] == 200
            status, headers, body = chat(server, max_tokens=1, headers=alice)
            assert status == 429 and 1 <= int(headers["Retry-After"]) <= 20, (status, headers)
            assert body["error"]["code"] == "rate_limit_exceeded" and "key-a" not in str(body), body
            check_concurrency(server, bob)
            found = parse(server.get("/metrics", headers=bob)[2].decode())
            assert value(found, "quire_requests_refused_total", reason="key") >= 2
            assert not any("key-" in line for line in server.log)


def check_concurrency(server, headers):
    statuses = []
    threads = [threading.Thread(target=lambda: statuses.append(
        chat(server, max_tokens=300, ignore_eos=True, headers=headers)[0])) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(statuses) == [200, 429, 429], statuses
    assert chat(server, max_tokens=1, headers=headers)[0] == 200


def test_salts_separate_caches():
    with tempfile.NamedTemporaryFile("w", suffix=".keys") as f:
        f.write(key_line("a", "1") + key_line("b", "2") + key_line("c", "3", "salt=x") + key_line("d", "4", "salt=x"))
        f.flush()
        text = "A long prompt that is worth keeping in the prefix cache for the next time. " * 10

        def cached(server, key):
            _, _, body = chat(server, text, max_tokens=1, headers={"x-api-key": key})
            return body["usage"]["prompt_tokens_details"]["cached_tokens"]

        with Server(["--api-key-file", f.name]) as server:
            assert cached(server, "1") == 0
            assert cached(server, "2") == 0 and cached(server, "3") == 0
            assert cached(server, "1") > 0 and cached(server, "4") > 0


def test_drafts():
    """A draft model or prompt lookup drafts for the requests; the answers stay the same."""
    answers = []
    for args in ([], ["-md", BUNDLED], ["--draft-lookup"], ["--draft-lookup", "--draft-max", "0"]):
        with Server(args) as server:
            _, _, body = server.post("/v1/completions", {
                "prompt": "One, two, one, two, one, two,", "temperature": 0, "max_tokens": 80,
                "ignore_eos": True})
            answers.append(body["choices"][0]["text"])
            families = metrics(server)
            def drafted(source):
                return value(families, "quire_draft_tokens_total", model="quire-tiny", source=source)
            assert (drafted("model") > 0) == (args[:1] == ["-md"]), (args, drafted("model"))
            if args[:1] != ["-md"]:
                assert (drafted("lookup") > 0) == (args == ["--draft-lookup"]), (args, drafted("lookup"))
    assert len(set(answers)) == 1


def main():
    test_documentation()
    test_drafts()
    with Server() as server:
        test_state(server)
        test_slots_while_running(server)
        test_metrics(server)
    test_switched_off()
    test_draining()
    test_keys()
    test_salts_separate_caches()


if __name__ == "__main__":
    main()
