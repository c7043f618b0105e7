#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Spans that a server sends to an OpenTelemetry collector, which is played by this test."""
import http.server
import json
import os
import re
import socket
import subprocess
import threading
import time

from harness import BUNDLED, Server, binary, wait_for_log

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


class Collector(http.server.ThreadingHTTPServer):
    """Keeps the bodies that it receives; answers with the statuses in `answers`, then with 200."""
    daemon_threads = True

    def __init__(self, answers=()):
        self.answers, self.bodies, self.requests = list(answers), [], []
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/v1/traces"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def spans(self):
        return [span for body in self.bodies for r in body["resourceSpans"] for s in r["scopeSpans"]
                for span in s["spans"]]

    def wait_for(self, n):
        for _ in range(1000):
            if len(self.spans()) >= n:
                return self.spans()
            time.sleep(0.02)
        raise AssertionError(f"{len(self.spans())} spans instead of {n}")


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, dict(self.headers)))
        status = self.server.answers.pop(0) if self.server.answers else 200
        if status == 200:
            self.server.bodies.append(body)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


def chat(server, headers=None, **more):
    return server.post("/v1/chat/completions", {
        "messages": [{"role": "user", "content": "A secret prompt"}], "max_tokens": 5, "ignore_eos": True, **more},
        headers=headers)


def attributes(span):
    return {a["key"]: next(iter(a["value"].values())) for a in span["attributes"]}


def counted(server):
    text = server.get("/metrics")[2].decode()
    return {k: int(v) for k, v in re.findall(r'quire_trace_spans_total\{result="(\w+)"\} (\d+)', text)}


def wait_for_counts(server, **expected):
    for _ in range(1000):
        if all(counted(server)[k] == v for k, v in expected.items()):
            return
        time.sleep(0.02)
    raise AssertionError(f"{counted(server)} instead of {expected}")


def test_spans(sandbox):
    collector = Collector()
    before = time.time_ns()
    # LeakSanitizer cannot work in a sandbox
    options = os.environ.get("ASAN_OPTIONS", "") + (":detect_leaks=0" if sandbox else "")
    with Server(["--otlp-endpoint", collector.url, *sandbox], env={"ASAN_OPTIONS": options}) as server:
        _, _, body = chat(server, {"traceparent": f"00-{TRACE}-{PARENT}-01"})
        assert chat(server, {"traceparent": f"00-{TRACE}-{PARENT}-00"})[0] == 200  # not sampled: no span
        assert chat(server, {"traceparent": "00-nonsense"}, n=2)[0] == 200
        assert chat(server, messages=[{"role": "user", "content": "too long " * 5000}])[0] == 400
        list(server.stream("/v1/chat/completions", {
            "messages": [{"role": "user", "content": "x"}], "max_tokens": 5, "stream": True}))
        first, second, rejected = collector.wait_for(4)[:3]
        wait_for_counts(server, sent=4, failed=0, dropped=0)
        leave = server.stream("/v1/chat/completions", {
            "messages": [{"role": "user", "content": "x"}], "ignore_eos": True, "stream": True})
        next(leave)
        leave.close()
        last = collector.wait_for(5)[4]
        assert chat(server)[0] == 200  # sent while the server ends
    after = time.time_ns()
    assert len(collector.spans()) == 6, len(collector.spans())

    assert first["traceId"] == TRACE and first["parentSpanId"] == PARENT, first
    assert first["name"] == "chat quire-tiny" and first["kind"] == 2 and "status" not in first, first
    start, end = int(first["startTimeUnixNano"]), int(first["endTimeUnixNano"])
    assert before <= start < end <= after, (before, start, end, after)
    a = attributes(first)
    assert a["gen_ai.operation.name"] == "chat" and a["http.route"] == "/v1/chat/completions", a
    assert a["gen_ai.request.model"] == a["gen_ai.response.model"] == "quire-tiny", a
    assert a["gen_ai.usage.input_tokens"] == str(body["usage"]["prompt_tokens"]), a
    assert a["gen_ai.usage.output_tokens"] == a["gen_ai.request.max_tokens"] == "5", a
    assert a["gen_ai.response.finish_reasons"] == {"values": [{"stringValue": "length"}]}, a
    assert 0 < a["quire.time_to_first_token"] < (end - start) / 1e9 + 1e-6, a

    assert "parentSpanId" not in second and re.fullmatch("[0-9a-f]{32}", second["traceId"]), second
    assert attributes(second)["gen_ai.request.choice.count"] == "2", second
    assert len(attributes(second)["gen_ai.response.finish_reasons"]["values"]) == 2, second
    assert attributes(rejected)["error.type"] == "rejected" and rejected["status"] == {"code": 2}, rejected
    assert attributes(last)["error.type"] == "cancelled" and last["status"] == {"code": 2}, last
    assert len({s["spanId"] for s in collector.spans()}) == 6

    path, headers = collector.requests[0]
    assert path == "/v1/traces" and headers["Content-Type"] == "application/json", headers
    resource = attributes(collector.bodies[0]["resourceSpans"][0]["resource"])
    assert resource["service.name"] == "quire-server", resource
    everything = json.dumps(collector.bodies)
    assert "secret" not in everything and body["choices"][0]["message"]["content"] not in everything


def test_retry():
    collector = Collector([503])
    with Server(["--otlp-endpoint", collector.url]) as server:
        chat(server)
        collector.wait_for(1)
        wait_for_counts(server, sent=1, failed=0)
        collector.answers = [400]  # the collector does not want the batch: no second attempt
        chat(server)
        wait_for_counts(server, sent=1, failed=1)
        wait_for_log(server, "not received by the collector", "400")
        chat(server)
        wait_for_counts(server, sent=2, failed=1)


def test_absent_collector():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))  # nobody listens
        with Server(["--otlp-endpoint", f"http://127.0.0.1:{s.getsockname()[1]}"]) as server:
            for _ in range(3):
                assert chat(server)[0] == 200
            stopped = time.monotonic()
        assert time.monotonic() - stopped < 30


def test_silent_collector():
    """A collector that accepts and never answers holds nobody up; the queue is bounded."""
    with socket.create_server(("127.0.0.1", 0)) as s:
        with Server(["--otlp-endpoint", f"http://127.0.0.1:{s.getsockname()[1]}"]) as server:
            assert [chat(server)[0] for _ in range(5)] == [200] * 5


def test_process():
    """The sender has no socket of the server, and ends with it."""
    collector = Collector()
    with Server(["--otlp-endpoint", collector.url]) as server:
        with open(f"/proc/{server.process.pid}/task/{server.process.pid}/children", encoding="utf-8") as f:
            child = int(f.read())
        for _ in range(500):
            with open(f"/proc/{child}/comm", encoding="utf-8") as f:
                if f.read() == "quire-trace\n":
                    break
            time.sleep(0.02)
        links = {fd: os.readlink(f"/proc/{child}/fd/{fd}") for fd in os.listdir(f"/proc/{child}/fd")}
        assert sorted(links) == ["0", "1", "2", "3"] and links["3"].startswith("socket:"), links
        chat(server)
        server.process.kill()  # without any chance to say good-bye
        server.expect_exit = -9
        collector.wait_for(1)
        for _ in range(1000):
            if not os.path.exists(f"/proc/{child}/fd/3"):  # gone, or nobody has waited for it yet
                return
            time.sleep(0.02)
        raise AssertionError("the sender outlives the server")


def test_bad_urls():
    for url, message in (("https://localhost/v1/traces", "http://"), ("localhost:4318", "http://"),
                         ("http://localhost:0/", "the port must be"), ("http://name.invalid/", "name.invalid")):
        run = subprocess.run([binary(), "--port", "0", "-m", BUNDLED, "--otlp-endpoint", url], capture_output=True,
                             text=True, timeout=60)
        assert run.returncode in (64, 78) and message in run.stderr, run


def has_sandbox():
    run = subprocess.run([binary(), "--sandbox", "--port", "0", "-m", "/nonexistent"], capture_output=True, text=True,
                         timeout=60)
    return "needs" not in run.stderr


def main():
    test_spans([])
    if has_sandbox():
        test_spans(["--sandbox"])
    else:
        print("without --sandbox, which this kernel does not support")
    test_retry()
    test_absent_collector()
    test_silent_collector()
    test_process()
    test_bad_urls()


if __name__ == "__main__":
    main()
