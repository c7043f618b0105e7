# SPDX-License-Identifier: Apache-2.0
"""Starts quire-server for a test and talks to it, with the standard library only.

    with Server(["--parallel", "4"]) as server:
        status, headers, body = server.post("/v1/completions", {"prompt": "Hello"})
"""
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUNDLED = os.path.join(ROOT, "models/quire-tiny/quire-tiny.gguf")


def copy_of_bundled(folder, name):
    """A second model file; two names of one file are one model."""
    return shutil.copy(BUNDLED, os.path.join(folder, name + ".gguf"))
SHARED = os.path.join(ROOT, "../shared")
SKIPPED = 77


def wait_for_log(server, *texts, seconds=20):
    """Waits for a line of the log that contains all of the texts."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if any(all(text in line for text in texts) for line in server.log):
            return
        time.sleep(0.02)
    raise AssertionError(f"no {texts} in the log: " + "".join(server.log))


def binary():
    return os.environ.get("QUIRE_SERVER") or os.path.join(ROOT, "build/bin/quire-server")


def skip(reason):
    print("skipped:", reason)
    sys.exit(SKIPPED)


class Server:
    """A server on a free port; leaving the `with` block sends SIGTERM and expects exit code 0."""

    def __init__(self, args=(), model=None, env=None, expect_exit=0):
        command = [binary(), "--port", "0", *args]
        if not any(a in ("-m", "--model", "--config") for a in args):
            command += ["-m", model or BUNDLED]
        self.expect_exit = expect_exit
        self.log = []
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                        text=True, env=dict(os.environ, **(env or {})))
        self.port = None
        for line in self.process.stderr:
            self.log.append(line)
            found = re.search(r"listening.*?:(\d+)\b", line)
            if found:
                self.port = int(found.group(1))
                break
        if self.port is None:
            self.process.wait()
            raise RuntimeError("the server did not start: " + "".join(self.log))
        self.reader = threading.Thread(target=self._read_log, daemon=True)
        self.reader.start()

    def _read_log(self):
        for line in self.process.stderr:
            self.log.append(line)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        code = self.stop()
        if kind is None and self.expect_exit is not None:
            assert code == self.expect_exit, f"exit code {code}: " + "".join(self.log[-20:])

    def stop(self, timeout=60):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self.reader.join(10)
        return self.process.returncode

    def request(self, method, path, body=None, headers=None, timeout=120):
        """Returns (status, headers, body): body is parsed if it is JSON, otherwise bytes."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        sent = {"Content-Type": "application/json", **(headers or {})}
        connection.request(method, path, body, sent)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        if answer.headers.get("Content-Type", "").startswith("application/json"):
            data = json.loads(data)
        return answer.status, answer.headers, data

    def get(self, path, **kw):
        return self.request("GET", path, **kw)

    def post(self, path, body, **kw):
        return self.request("POST", path, body, **kw)

    def stream(self, path, body, headers=None, timeout=120):
        """Yields (event name or None, data) of a stream of server-sent events; JSON is parsed."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        connection.request("POST", path, json.dumps(body),
                           {"Content-Type": "application/json", **(headers or {})})
        answer = connection.getresponse()
        assert answer.status == 200, (answer.status, answer.read())
        assert answer.headers["Content-Type"].startswith("text/event-stream"), answer.headers
        name = None
        for raw in answer:
            line = raw.decode("utf-8").rstrip("\n")
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                data = line[6:]
                yield name, (data if data == "[DONE]" else json.loads(data))
                name = None
            else:
                assert line == "" or line.startswith(":"), line
        connection.close()

    def connect(self, timeout=30):
        """A raw socket."""
        return socket.create_connection(("127.0.0.1", self.port), timeout)
