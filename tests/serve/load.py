# SPDX-License-Identifier: Apache-2.0
"""Load: concurrent streams of chat for some time, with connections that come and leave without a
request and with /health beside it. Fails on any error, on an answer that differs from the same
request alone, and on memory that grows. Prints rates and latencies.
usage: load.py [SECONDS] [STREAMS] [CONNECTIONS]        default: 10 seconds, 50 streams, 1000"""
import asyncio
import json
import sys
import time

from harness import Server

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 10
STREAMS = int(sys.argv[2]) if len(sys.argv) > 2 else 50
CONNECTIONS = int(sys.argv[3]) if len(sys.argv) > 3 else 1000
PROMPTS = ["Hello!", "My name is Ann.", "What is 7 plus 5?", "Tell me a story.",
           "Are you afraid of the dark?", "What can you do?", "Who are you?", "Good morning!"]


def body(i, stream=True):
    return {"messages": [{"role": "user", "content": PROMPTS[i % len(PROMPTS)]}], "seed": i % 40,
            "max_tokens": 40, "temperature": 0.7 if i % 2 else 0, "stream": stream}


def request(method, path, data=b"", keep=True):
    return (f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(data)}\r\n"
            f"Connection: {'keep-alive' if keep else 'close'}\r\n\r\n").encode() + data


async def read_chunked(reader):
    data = b""
    while True:
        size = int(await reader.readline(), 16)
        data += await reader.readexactly(size)
        await reader.readexactly(2)
        if size == 0:
            return data


async def read_answer(reader):
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    status = int(head.split(" ")[1])
    if "transfer-encoding: chunked" in head:
        return status, await read_chunked(reader)
    length = int(head.split("content-length: ")[1].split("\r\n")[0])
    return status, await reader.readexactly(length)


def text_of(stream):
    out = ""
    for line in stream.decode().split("\n"):
        if line.startswith("data: {"):
            event = json.loads(line[6:])
            assert "error" not in event, event
            out += "".join(c["delta"].get("content") or "" for c in event["choices"])
    assert stream.endswith(b"data: [DONE]\n\n")
    return out


class Load:
    def __init__(self, server, expected):
        self.server, self.expected = server, expected
        self.end = time.monotonic() + SECONDS
        self.answers = self.characters = self.left = 0
        self.health = []

    async def connect(self):
        return await asyncio.open_connection("127.0.0.1", self.server.port)

    async def user(self, i):
        reader, writer = await self.connect()
        while time.monotonic() < self.end:
            writer.write(request("POST", "/v1/chat/completions", json.dumps(body(i)).encode()))
            status, data = await read_answer(reader)
            assert status == 200, (status, data)
            text = text_of(data)
            assert text == self.expected[i % 40], (i, text, self.expected[i % 40])
            self.answers += 1
            self.characters += len(text)
            i += 7
        writer.close()

    async def visitor(self):
        """Connections that send nothing, or half a request, and leave."""
        while self.left < CONNECTIONS and time.monotonic() < self.end:
            reader, writer = await self.connect()
            if self.left % 2:
                writer.write(b"GET /health HT")
            self.left += 1
            await asyncio.sleep(0.01)
            writer.close()

    async def prober(self):
        reader, writer = await self.connect()
        while time.monotonic() < self.end:
            start = time.monotonic()
            writer.write(request("GET", "/health"))
            status, _ = await read_answer(reader)
            assert status == 200
            self.health.append(time.monotonic() - start)
            await asyncio.sleep(0.02)
        writer.close()

    async def run(self):
        await asyncio.gather(*(self.user(i) for i in range(STREAMS)), self.prober(),
                             *(self.visitor() for _ in range(4)))


def resident(server):
    with open(f"/proc/{server.process.pid}/statm") as f:
        return int(f.read().split()[1]) * 4096


def percentile(values, p):
    return sorted(values)[min(len(values) - 1, int(len(values) * p))]


with Server(["--parallel", "32", "--max-queue", str(STREAMS + 16), "-c", "512"]) as server:
    expected = [server.post("/v1/chat/completions", body(i, stream=False))[2]
                ["choices"][0]["message"]["content"] for i in range(40)]
    rounds = []
    for part in range(4): # memory settles in the first part
        load = Load(server, expected)
        load.end = time.monotonic() + SECONDS / 4
        asyncio.run(load.run())
        rounds.append(load)
        load.bytes = resident(server)
        print(f"{load.answers} answers, {load.characters} characters, {load.left} connections left, "
              f"/health p50 {percentile(load.health, 0.5) * 1e3:.1f} ms, "
              f"p99 {percentile(load.health, 0.99) * 1e3:.1f} ms, "
              f"{load.bytes >> 10} KiB resident")
    assert all(r.answers > 0 for r in rounds)
    growth = rounds[-1].bytes / rounds[0].bytes - 1
    print(f"memory after the first quarter: {growth * 100:+.2f} %")
    assert growth < 0.05, growth
