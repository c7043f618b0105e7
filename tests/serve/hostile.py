# SPDX-License-Identifier: Apache-2.0
"""Hostile clients: malformed HTTP, smuggling, slow and vanishing clients, JSON bombs, full queues.
After every attack an ordinary request must get its ordinary answer."""
import json
import os
import resource
import signal
import socket
import subprocess
import threading
import time

from harness import BUNDLED, Server, binary, wait_for_log

HELLO = {"messages": [{"role": "user", "content": "Hello!"}], "temperature": 0}
LONG = {"messages": [{"role": "user", "content": "Tell me a story"}], "max_tokens": 1500,
        "ignore_eos": True, "stream": True}


def raw(body, path="/v1/chat/completions", extra=""):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return (f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{extra}"
            f"Content-Length: {len(data)}\r\n\r\n").encode() + data


def send(server, data, seconds=20):
    """Status of the answer to raw bytes, 0 if the connection is closed without one."""
    with server.connect(seconds) as c:
        try:
            c.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass
        try:
            answer = c.recv(65536)
        except ConnectionResetError:
            return 0
    return int(answer.split(b" ")[1]) if answer.startswith(b"HTTP/1.1 ") else 0


def check(server, expected):
    status, _, answer = server.post("/v1/chat/completions", HELLO)
    assert status == 200 and answer["choices"][0]["message"]["content"] == expected, answer


def wait_idle(server, seconds=60):
    """Waits until no generation is left: the server logs one line for each."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        status, _, slots = server.get("/slots")
        if status == 200 and not any(m["generations"] for m in slots["models"]):
            return
        time.sleep(0.02)
    raise AssertionError(f"requests are still running: {slots}")


def test_malformed(server):
    head = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
    post = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
    for data, expected in [
            (head + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", {400}),
            (head + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", {400}),
            (post + b"Transfer-Encoding: chunked\r\n\r\n-2\r\nab\r\n0\r\n\r\n", {400, 0}),
            (post + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n", {400, 413, 0}),
            (post + b"Transfer-Encoding: gzip\r\n\r\n", {400, 501}),
            (post + b"Content-Length: -1\r\n\r\n", {400}),
            (post + b"Content-Length: 1073741824\r\n\r\n", {413}),
            (post + b"Content-Length: 99999999999999999999999\r\n\r\n", {400, 413}),
            (b"GET / HTTP/9.9\r\n\r\n", {505}),
            (b"GET /health HTTP/1.1\r\n\r\n", {400}),
            (head + b"a: " + b"b" * 100000 + b"\r\n\r\n", {431, 400, 0}),
            (head + b"".join(b"h%d: x\r\n" % i for i in range(10000)) + b"\r\n", {431, 0}),
            (b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n", {414, 431, 0}),
            (b"GET //v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n", {404}),
            (b"GET /v1/../health HTTP/1.1\r\nHost: localhost\r\n\r\n", {404}),
            (b"GET /v1/models/\xff%ff HTTP/1.1\r\nHost: localhost\r\n\r\n", {404}),
            (b"GET /\xed\xa0\x80 HTTP/1.1\r\nHost: localhost\r\n\r\n", {404}),
            (b"BREW /health HTTP/1.1\r\nHost: localhost\r\n\r\n", {405}),
            (raw(b"{}", extra="Origin: http://evil.example\r\n"), {403}),
    ]:
        status = send(server, data)
        assert status in expected, (data[:80], status)


def test_bodies(server):
    deep = b'{"messages":' + b"[" * 100000 + b"]" * 100000 + b"}"
    wide = b'{"messages":[' + b"{}," * 1000000 + b"{}]}"
    late = b'{"messages":[' + b"1," * 900000 + b"x]}" # an error after many values
    for body in [late, b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"a":NaN}', b'{"n":1e999}', deep, wide,
                 b'{"model":"a","model":"b"}', b'{"messages":"\xc3\x28"}',
                 b'{"messages":[{"role":"user","content":"a\\u0000b"}],"stop":"\\u0000"}']:
        status = send(server, raw(body))
        assert status == 400, (body[:60], status)
    for change, param in [({"n": 10**6}, "n"), ({"n": "2"}, "n"), ({"n": 0}, "n"),
                          ({"max_tokens": -2}, "max_tokens"), ({"max_tokens": 2**63}, None),
                          ({"max_tokens": "12"}, "max_tokens"), ({"stop": ["x"] * 100000}, "stop"),
                          ({"stop": "x" * 2000}, "stop"),
                          ({"dry_sequence_breakers": ["x" * 2000]}, "dry_sequence_breakers"),
                          ({"temperature": -1}, "temperature"),
                          ({"top_p": 2}, "top_p"), ({"logit_bias": {"x": 1}}, "logit_bias"),
                          ({"messages": [{"role": "king", "content": ""}]}, "messages[0].role"),
                          ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
                           "messages[0].content[0].type"),
                          ({"no_such_thing": 1}, "no_such_thing")]:
        status, _, answer = server.post("/v1/chat/completions", {**HELLO, **change})
        assert status == 400, (change, answer)
        assert param is None or answer["error"]["param"] == param, answer
    # both names of one parameter
    both = {**HELLO, "stop": [f"{i}#" for i in range(15)]}
    status, _, answer = server.post("/v1/chat/completions", {**both, "stop_sequences": "e"})
    assert status == 200 and "e" not in answer["choices"][0]["message"]["content"], answer
    status, _, answer = server.post("/v1/chat/completions", {**both, "stop_sequences": ["e"] * 16})
    assert status == 400 and answer["error"]["param"] == "stop_sequences", answer
    status, _, answer = server.post("/v1/chat/completions", {
        "messages": [{"role": "user", "content": "word " * 4000}]})
    assert status == 400 and answer["error"]["code"] == "context_length_exceeded", answer


def test_too_large(server):
    """A chunked body over the limit is not kept, and answered when it ends."""
    with server.connect() as c:
        c.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
                  b"\r\n")
        piece = b"10000\r\n" + b" " * 65536 + b"\r\n"
        for _ in range(160):
            c.sendall(piece)
        c.sendall(b"0\r\n\r\n")
        assert c.recv(65536).startswith(b"HTTP/1.1 413 ")


def test_disconnects(server):
    for stream in (True, False):
        data = raw({**LONG, "stream": stream})
        for n in range(0, len(data), 9):
            with server.connect() as c:
                c.sendall(data[:n])
        for seconds in (0, 0.01, 0.05, 0.2):
            with server.connect() as c:
                c.sendall(data)
                time.sleep(seconds)
        with server.connect() as c: # a reset instead of an end of stream
            c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            c.sendall(data)
            time.sleep(0.05)
    wait_idle(server)


def test_slow_reader(server):
    """A client that does not read neither stalls others nor keeps its request for ever."""
    slow = []
    for _ in range(4):
        c = socket.socket()
        c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        c.connect(("127.0.0.1", server.port))
        c.sendall(raw({**LONG, "n": 3})) # 12 of the 16 sequences that run at a time
        slow.append(c)
    assert server.post("/v1/chat/completions", HELLO)[0] == 200
    for c in slow:
        c.close()
    wait_idle(server)


def test_idle_connections(server, expected):
    idle = [server.connect() for _ in range(900)]
    for c in idle[::3]:
        c.sendall(b"GET /heal")
    check(server, expected)
    for c in idle:
        c.close()


def test_timeouts():
    with Server(["--header-timeout", "0.5", "--body-timeout", "0.5", "--idle-timeout", "0.5"]) as s:
        for data in (b"", b"GET /health HTTP/1.1\r\n", raw(HELLO)[:-5],
                     b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"):
            with s.connect(30) as c:
                c.sendall(data)
                while c.recv(65536): # the server closes, or the socket times out
                    pass
        with s.connect(30) as c: # a byte at a time is no progress
            try:
                for byte in raw(HELLO):
                    c.sendall(bytes([byte]))
                    time.sleep(0.02)
                answer = c.recv(65536)
            except (BrokenPipeError, ConnectionResetError):
                answer = b""
            assert not answer.startswith(b"HTTP/1.1 200 "), answer


def open_sockets(folder):
    """The number of sockets among the descriptors of a process, which may close while they are
    listed."""
    count = 0
    for name in os.listdir(folder):
        try:
            count += os.readlink(os.path.join(folder, name)).startswith("socket:")
        except FileNotFoundError:
            pass
    return count


def test_half_requests():
    """Clients that leave before their request is complete: their connections are closed at once,
    not when a deadline has passed."""
    with Server(["--header-timeout", "10000", "--body-timeout", "10000"]) as s:
        data = raw({**HELLO, "user": "u" * 50000})
        for n in range(0, len(data), 499):
            with s.connect() as c:
                c.sendall(data[:n])
        folder = f"/proc/{s.process.pid}/fd"
        for _ in range(600):
            sockets = open_sockets(folder)
            if sockets == 1:  # the listening one
                return
            time.sleep(0.1)
        raise AssertionError(f"{sockets} sockets are still open")


def test_no_reader():
    """A client that reads nothing is dropped, and its request cancelled; one that reads slowly is
    served to the end."""
    body = {**LONG, "n": 4, "logprobs": True, "top_logprobs": 20}
    with Server(["--send-timeout", "0.5"]) as s:
        with socket.socket() as c:
            c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            c.connect(("127.0.0.1", s.port))
            c.sendall(raw(body))
            wait_idle(s)
            wait_for_log(s, "reason=cancelled")
        with socket.socket() as c:
            c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
            c.connect(("127.0.0.1", s.port))
            c.sendall(raw({**body, "n": 1}))
            data = b""
            while not data.endswith(b"[DONE]\n\n\r\n0\r\n\r\n"):
                time.sleep(0.002)
                piece = c.recv(16384)
                assert piece, data[-200:]
                data = data[-100:] + piece


def test_rebinding():
    """A page whose name resolves to 127.0.0.1 reads nothing (DNS rebinding)."""
    def status_of(server, host, path="/v1/models"):
        return send(server, f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())

    allowed = ["localhost", "LOCALHOST:8080", "localhost.:80", "quire.localhost", "127.0.0.1:8080",
               "10.1.2.3", "[::1]:8080", "[fe80::1]"]
    refused = ["evil.example", "evil.example:8080", "notlocalhost", "localhost.evil.example",
               "127.0.0.1.evil.example", "[::1", "[evil.example]:80", "::1", ":80", "a:b", "n" * 300]
    with Server() as s:
        for host in allowed:
            assert status_of(s, host) == 200, host
        for host in refused:
            assert status_of(s, host) == 403, host
        assert status_of(s, "evil.example", "/health") == 200
    with Server(["--allowed-host", "chat.example", "--allowed-host", "b"]) as s:
        for host, status in [("Chat.example:443", 200), ("b", 200), ("evil.example", 403)]:
            assert status_of(s, host) == status, host
    with Server(["--allowed-host", "*"]) as s:
        assert status_of(s, "evil.example") == 200
    with Server(["--host", "0.0.0.0"]) as s: # other machines may know it by any name
        assert status_of(s, "server.example") == 200


def test_full_queue():
    """More than the queue holds: 429 with Retry-After, and all that was accepted is answered."""
    with Server(["--max-queue", "4", "--parallel", "2"]) as s:
        # prompts take their turns; several answers to one prompt cannot
        prompts = {"prompt": ["a", "b", "c", "d", "e", "f"], "max_tokens": 2}
        status, _, answer = s.post("/v1/completions", prompts)
        assert status == 200 and len(answer["choices"]) == 6, answer
        status, _, answer = s.post("/v1/completions", {**prompts, "n": 5})
        assert status == 400 and answer["error"]["param"] == "n", answer
        results = []

        def ask():
            results.append(s.post("/v1/chat/completions", {**LONG, "stream": False,
                                                           "max_tokens": 300}))
        threads = [threading.Thread(target=ask) for _ in range(12)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        codes = sorted(r[0] for r in results)
        assert codes.count(200) >= 4 and codes.count(429) >= 1 and set(codes) == {200, 429}, codes
        for status, headers, answer in results:
            if status == 429:
                assert int(headers["Retry-After"]) >= 1, answer
                assert answer["error"]["type"] == "rate_limit_error", answer


def test_few_descriptors(expected):
    """Out of file descriptors: others wait, and the server stays."""
    saved = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (160, saved[1]))
    try:
        server = Server()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, saved)
    with server:
        idle = [server.connect() for _ in range(200)]
        for c in idle:
            c.close()
        check(server, expected)


def test_one_port():
    with Server() as s:
        other = subprocess.run([binary(), "--port", str(s.port), "-m", BUNDLED],
                               stderr=subprocess.PIPE, timeout=20)
        assert other.returncode != 0 and str(s.port).encode() in other.stderr, other


def test_shutdown_while_opening():
    """SIGTERM before the model is open."""
    for seconds in (0, 0.02, 0.1, 0.3):
        with Server():
            time.sleep(seconds)


def test_no_work_while_draining():
    """A connection that stays open gets no more work done, whatever the route."""
    with Server(["--drain-timeout", "2"]) as s:
        long = s.connect()
        long.sendall(raw(LONG))
        with s.connect() as c:
            c.sendall(raw({**LONG, "stream": False, "max_tokens": 100}))
            wait_for_generations(s, 2)
            s.process.send_signal(signal.SIGTERM)
            answers = b""
            while not answers.endswith(b"}\n"):
                answers += c.recv(65536)
            assert answers.startswith(b"HTTP/1.1 200 "), answers
            c.sendall(raw({"content": "a"}, "/tokenize"))
            answer = c.recv(65536)
            assert answer.startswith(b"HTTP/1.1 503 "), answer
        long.close()


def wait_for_generations(server, n):
    for _ in range(1000):
        models = server.get("/slots")[2]["models"]
        if sum(len(m["generations"]) for m in models) >= n:
            return
        time.sleep(0.005)
    raise AssertionError(models)


def test_shutdown_under_load():
    """SIGTERM: streams are finished within the drain time, or end with an error event."""
    for drain, complete in (("30", True), ("0.2", False)):
        with Server(["--drain-timeout", drain]) as s:
            ends = []

            def ask():
                events = [e for _, e in s.stream("/v1/chat/completions",
                                                 {**LONG, "max_tokens": 400 if complete else 1800})]
                ends.append(events[-1] == "[DONE]" and "error" not in events[-2])
            threads = [threading.Thread(target=ask) for _ in range(4)]
            for t in threads:
                t.start()
            time.sleep(0.3)
            code = s.stop()
            for t in threads:
                t.join()
            assert code == 0 and len(ends) == 4, (code, ends)
            assert all(ends) if complete else not all(ends), (drain, ends)


with Server(["--max-connections", "1000"]) as server:
    expected = server.post("/v1/chat/completions", HELLO)[2]["choices"][0]["message"]["content"]
    for test in (test_malformed, test_bodies, test_too_large, test_disconnects, test_slow_reader):
        test(server)
        check(server, expected)
    test_idle_connections(server, expected)
test_timeouts()
test_half_requests()
test_no_reader()
test_rebinding()
test_full_queue()
test_few_descriptors(expected)
test_one_port()
test_shutdown_while_opening()
test_no_work_while_draining()
test_shutdown_under_load()
