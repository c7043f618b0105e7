# SPDX-License-Identifier: Apache-2.0
"""A server that plays prepared answers to the web pages, so that their tests need no model.

It serves the pages as quire-server was built with them, with the same headers. The last user message
chooses the answer: {"pieces": [...], "thinking": [...], "calls": [...], "delay": seconds, "error": {...},
"status": n, "finish": reason, "cut": True}; other messages are answered by an echo.
"""
import http.server
import json
import os
import re
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def build_folder():
    server = os.environ.get("QUIRE_SERVER") or os.path.join(ROOT, "build/bin/quire-server")
    return os.path.dirname(os.path.dirname(server))


def web_folder():
    """Where the build has put the pages."""
    return os.path.join(build_folder(), "web")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, content_type, body, headers=()):
        self.send_response(status)
        for name, value in [("Content-Type", content_type), ("Content-Length", str(len(body))), *headers]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def reply_json(self, status, value, headers=()):
        self.reply(status, "application/json", json.dumps(value).encode(), headers)

    def do_GET(self):
        mock = self.server.mock
        if mock.closed:
            self.close_connection = True
            return
        page = {"/": "chat", "/status": "status"}.get(self.path)
        if page:
            self.reply(200, "text/html; charset=utf-8", mock.pages[page], [("Content-Security-Policy", mock.policies[page])])
        elif not self.has_key():
            self.refuse_key()
        elif self.path == "/v1/models":
            self.reply_json(200, {"object": "list", "data": mock.models})
        elif self.path == "/metrics":
            self.reply(200, "text/plain; version=0.0.4", mock.metrics().encode())
        else:
            self.reply_json(404, {"error": {"message": "no such path"}})

    def has_key(self):
        key = self.server.mock.key
        return key is None or self.headers.get("Authorization") == "Bearer " + key

    def refuse_key(self):
        self.reply_json(401, {"error": {"message": "The API key is missing or wrong.", "type": "authentication_error",
                                        "param": None, "code": "invalid_api_key"}})

    def do_POST(self):
        mock = self.server.mock
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.has_key():
            self.refuse_key()
            return
        mock.requests.append(body)
        answer = mock.answer(body)
        if "status" in answer:
            self.reply_json(answer["status"], {"error": answer["error"]}, answer.get("headers", ()))
            return
        try:
            self.stream(answer, body)
        except (BrokenPipeError, ConnectionResetError):
            mock.aborted += 1

    def stream(self, answer, body):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        pieces = answer.get("pieces", [])
        deltas = [{"role": "assistant", "content": ""}]
        deltas += [{"reasoning_content": piece} for piece in answer.get("thinking", [])]
        deltas += [{"content": piece} for piece in pieces]
        deltas += [{"tool_calls": [call]} for call in answer.get("calls", [])]
        for i, delta in enumerate(deltas):
            if i > 0 and answer.get("delay"):
                time.sleep(answer["delay"])
            self.event({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        if "error" in answer:
            self.event({"error": answer["error"]})
        if answer.get("cut"):
            return
        self.event({"choices": [{"index": 0, "delta": {}, "finish_reason": answer.get("finish", "stop")}]})
        prompt = sum(len(m["content"]) for m in body["messages"])
        self.event({"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": len(deltas) - 1}})
        self.wfile.write(b": comment\n\ndata: [DONE]\n\n")

    def event(self, value):
        self.wfile.write(b"data: " + json.dumps(value).encode() + b"\n\n")
        self.wfile.flush()


class Mock:
    def __init__(self, answers=None):
        self.answers = dict(answers or {})
        self.requests, self.aborted, self.key, self.closed = [], 0, None, False
        self.models = [{"id": "tiny", "object": "model", "max_model_len": 2048}, {"id": "large", "object": "model"}]
        self.pages, self.policies = {}, {}
        for page in ("chat", "status"):
            with open(os.path.join(web_folder(), f"page_{page}.html"), "rb") as f:
                self.pages[page] = f.read()
            with open(os.path.join(web_folder(), f"page_{page}.c"), encoding="utf-8") as f:
                written = f.read()
            self.policies[page] = "".join(re.findall(r'"([^"]*)"', written[written.index(".policy"):]))
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.mock = self
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/"
        self.started = time.time()
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, body):
        last = [m for m in body["messages"] if m["role"] in ("user", "tool")][-1]["content"]
        return self.answers.get(last) or {"pieces": ["You ", "said: ", last]}

    def metrics(self):
        """As of a server under a load that comes and goes."""
        seconds = time.time() - self.started
        tokens = 400 + 40 * seconds
        load = int(seconds) % 5
        lines = ['quire_build_info{version="0.3.0"} 1', f"process_start_time_seconds {self.started - 93784}",
                 f"process_cpu_seconds_total {1000 + 1.6 * seconds}", "process_resident_memory_bytes 412876800"]
        for model, share in (("tiny", 1.0), ("large \\\"8B\\\"", 0.0)):
            label = f'{{model="{model}"}}'
            lines += [f"quire_model_open{label} {1 if share else 0}", f"quire_model_memory_bytes{label} {398458880 * share}",
                      f"quire_requests_running{label} {load * share}", f"quire_requests_waiting{label} {max(0, load - 3) * share}",
                      f"quire_engine_tokens_sampled_total{label} {tokens * share}", f"quire_kv_blocks{label} {512 * share}",
                      f"quire_engine_prompt_tokens_computed_total{label} {tokens * 1.4 * share}",
                      f"quire_completion_tokens_total{label} {tokens * share}", f"quire_prompt_tokens_total{label} {tokens * 3 * share}",
                      f"quire_prompt_cached_tokens_total{label} {tokens * 1.9 * share}",
                      f"quire_kv_blocks_used{label} {60 * load * share}", f"quire_kv_blocks_cached{label} {150 * share}",
                      f'quire_answers_total{{model="{model}",finish_reason="stop"}} {int(tokens / 90 * share)}']
            for name, limits in (("quire_inter_token_latency_seconds", (0.01, 0.025, 0.05)),
                                 ("quire_time_to_first_token_seconds", (0.1, 0.25, 0.5))):
                for i, limit in enumerate((*limits, "+Inf")):
                    part = tokens * share * (0.3, 0.9, 0.99, 1)[i]
                    lines.append(f'{name}_bucket{{model="{model}",le="{limit}"}} {part}')
        return "# HELP quire_build_info Always 1\n# TYPE quire_build_info gauge\n" + "\n".join(lines) + "\n"

    def close(self):
        """Connections that are open lose their next request."""
        self.closed = True
        self.server.shutdown()
        self.server.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
