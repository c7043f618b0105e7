#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A server with --sandbox does all its work. tests/serve/test_sandbox.c tries what is denied."""
import os
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile

from harness import BUNDLED, Server, binary, copy_of_bundled, skip, wait_for_log

# LeakSanitizer, in builds that have it, traces the process from another one at exit, which the sandbox denies.
os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"

HELLO = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 8, "temperature": 0}


def need_sandbox():
    """Skips on kernels that lack Landlock or seccomp, with the server's own words."""
    run = subprocess.run([binary(), "--sandbox", "--port", "0", "-m", "/nonexistent"], capture_output=True, text=True,
                         timeout=60)
    assert run.returncode != 0
    if "needs Landlock" in run.stderr or "needs seccomp" in run.stderr:
        skip(run.stderr.strip())
    assert "/nonexistent" in run.stderr, run.stderr


def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        return dict(line.split(":\t", 1) for line in f.read().splitlines() if ":\t" in line)


def test_work(folder):
    """Models opened after the start, reload, metrics, the prefix cache at exit."""
    config, cache = os.path.join(folder, "server.conf"), os.path.join(folder, "cache")
    os.mkdir(cache)
    with open(config, "w", encoding="utf-8") as f:
        f.write(f"model first={BUNDLED}\nmodel second={copy_of_bundled(folder, 'second')}\n")
    with Server(["--sandbox", "--config", config, "--cache-dir", cache]) as server:
        status = status_of(server.process.pid)
        assert status["Seccomp"].strip() == "2" and status["NoNewPrivs"].strip() == "1", status
        assert int(status["CapPrm"], 16) & ~(1 << 1 | 1 << 2 | 1 << 14) == 0, status["CapPrm"]
        answers = []
        for name in ("first", "second"):
            code, _, body = server.post("/v1/chat/completions", {"model": name, **HELLO})
            assert code == 200, body
            answers.append(body["choices"][0]["message"]["content"])
        assert answers[0] == answers[1] != ""
        list(server.stream("/v1/chat/completions", {**HELLO, "stream": True}))
        metrics = server.get("/metrics")[2].decode()
        assert "\nprocess_resident_memory_bytes " in metrics and "\nprocess_open_fds " in metrics, metrics[-600:]
        server.process.send_signal(signal.SIGHUP)
        wait_for_log(server, "models reloaded")
    assert sorted(os.listdir(cache)) == ["first.cache", "second.cache"], os.listdir(cache)


def test_unix_socket(folder):
    path = os.path.join(folder, "socket")
    process = subprocess.Popen([binary(), "--sandbox", "--unix-socket", path, "-m", BUNDLED], stderr=subprocess.PIPE,
                               text=True)
    for line in process.stderr:
        if "ready" in line:
            break
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        s.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert s.makefile("rb").readline().startswith(b"HTTP/1.1 200"), path
    process.terminate()
    rest = process.stderr.read()
    assert process.wait(60) == 0, rest
    assert not os.path.exists(path)


def test_tls(folder):
    if shutil.which("openssl") is None:
        print("without TLS: openssl is not installed")
        return
    key, cert = os.path.join(folder, "key.pem"), os.path.join(folder, "cert.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", key, "-out", cert, "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
                   check=True, capture_output=True)
    context = ssl.create_default_context(cafile=cert)
    with Server(["--sandbox", "--tls-cert", cert, "--tls-key", key]) as server:
        for _ in range(3):
            with context.wrap_socket(server.connect(), server_hostname="localhost") as s:
                s.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                assert s.makefile("rb").readline().startswith(b"HTTP/1.1 200")


def main():
    need_sandbox()
    for test in (test_work, test_unix_socket, test_tls):
        with tempfile.TemporaryDirectory() as folder:
            test(folder)


if __name__ == "__main__":
    main()
