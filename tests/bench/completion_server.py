#!/usr/bin/env python3
"""A completion server for tests of `quire-bench serve --url`: answers by the path of the URL.

usage: completion_server.py PORT_FILE [LOG_FILE]
  Writes the port it listens on to PORT_FILE, and every request body as a line to LOG_FILE.
"""
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def events(self, body):
        for _ in range(body["max_tokens"]):
            yield {"choices": [{"index": 0, "text": " word", "finish_reason": None}]}
        n = body["prompt"].count(" ") if isinstance(body["prompt"], str) else len(body["prompt"])
        yield {"choices": [], "usage": {"prompt_tokens": n, "completion_tokens": body["max_tokens"],
                                        "prompt_tokens_details": {"cached_tokens": 3}}}

    def do_POST(self):
        text = self.rfile.read(int(self.headers["Content-Length"]))
        body = json.loads(text)
        if len(sys.argv) > 2:
            with open(sys.argv[2], "ab") as f:
                f.write(text + b"\n")
        mode = self.path.removesuffix("/v1/completions").strip("/")
        self.close_connection = True
        if mode == "status":
            self.send_error(503, "Busy")
        elif mode == "garbage":
            self.wfile.write(b"\x16\x03\x01\x02\x00" * 100 + b"\n")
        elif mode == "nothing":
            pass
        else:
            self.stream(mode, body)

    def stream(self, mode, body):
        data = [b"data: " + json.dumps(e).encode() + b"\n\n" for e in self.events(body)]
        if mode == "error":
            data[1:] = [b'data: {"error": {"message": "out of blocks"}}\n\n']
        if mode == "json":
            data[1:] = [b"data: {]\n\n"]
        if mode == "empty":
            data = []
        data.append(b"data: [DONE]\n\n")
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        if mode == "plain":
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(b"".join(data))
            return
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for part in data:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            if mode == "truncated":
                return
        self.wfile.write(b"0\r\n\r\n")


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(sys.argv[1] + ".part", "w", encoding="ascii") as f:
    f.write(str(server.server_address[1]))
os.rename(sys.argv[1] + ".part", sys.argv[1])
server.serve_forever()
