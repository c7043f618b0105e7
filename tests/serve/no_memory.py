# SPDX-License-Identifier: Apache-2.0
"""Every allocation of a request fails once: the client gets the whole answer, an error of the server, or a closed
connection, and never a wrong answer, an error of its own, or a server that has ended."""
import http.client
import json
import mmap
import os
import struct
import tempfile

import tiny_bert
from harness import BUNDLED, Server, skip

HELLO = [{"role": "user", "content": "Hi", "name": "a"}]
CASES = [
    ("/v1/chat/completions", {"messages": HELLO, "max_tokens": 1, "temperature": 0, "logprobs": True, "top_logprobs": 1,
                              "stop": ["x\\n"], "logit_bias": {"5": 1}, "chat_template_kwargs": {"a": 1}}),
    ("/v1/chat/completions", {"messages": HELLO, "max_tokens": 1, "temperature": 0, "stream": True}),
    ("/v1/completions", {"prompt": ["a"], "max_tokens": 1, "temperature": 0, "logprobs": 1}),
    ("/v1/embeddings", {"input": ["a"], "encoding_format": "base64"}),
    ("/v1/rerank", {"model": "reranker", "query": "the", "documents": ["fox"]}),
    ("/tokenize", {"messages": HELLO}),
    ("/detokenize", {"tokens": [1000]}),
]
# Members that are equal in all answers to a request.
CONTENT = ("choices", "data", "results", "tokens", "content")


class Faults:
    def __init__(self, path):
        self.file = open(path, "wb+")
        self.file.write(b"\0" * 8)
        self.file.flush()
        self.map = mmap.mmap(self.file.fileno(), 8)

    def arm(self, number):
        self.map[:] = struct.pack("<ii", number, 0)

    def disarm(self):
        """Whether the allocation was reached."""
        reached = struct.unpack("<ii", self.map[:])[1] > 0
        self.arm(0)
        return reached


def content(answer):
    return {k: v for k, v in answer.items() if k in CONTENT}


def ask(server, path, body):
    """Status and answer; None: the connection was closed."""
    try:
        status, _, answer = server.post(path, body, timeout=20)
    except (http.client.HTTPException, ConnectionError):
        return None, None
    except json.JSONDecodeError:  # no memory for the body of an error
        return 500, None
    if isinstance(answer, bytes) and not body.get("stream"):
        answer = json.loads(answer) if answer else None  # no memory for the content type
    return status, answer


def check(server, faults, path, body):
    status, expected = ask(server, path, body)
    assert status == 200, (path, expected)
    number = failed = 0
    reached = True
    while reached:
        number += 1
        faults.arm(number)
        status, answer = ask(server, path, body)
        reached = faults.disarm()
        assert server.process.poll() is None, (path, number, server.log[-5:])
        assert status in (None, 200, 500, 503), (path, number, status, answer)
        failed += status != 200
        if status == 200 and not body.get("stream"):
            assert content(answer) == content(expected), (path, number, answer)
    assert failed > number / 4, (path, number, failed)
    status, answer = ask(server, path, body)
    assert status == 200, (path, answer)
    print("ok", path, number, "allocations,", failed, "requests failed")


if __name__ == "__main__":
    library = os.environ.get("QUIRE_NO_MEMORY", "")
    if not os.path.exists(library):
        skip("the library that lets allocations fail is not built (sanitizers have their own malloc)")
    with tempfile.TemporaryDirectory() as folder:
        the_faults = Faults(folder + "/faults")
        reranker = tiny_bert.write(folder + "/reranker", 1)
        environment = {"LD_PRELOAD": library, "QUIRE_FAULT_FILE": folder + "/faults"}
        with Server(["-t", "1", "-m", "tiny=" + BUNDLED, "-m", "reranker=" + reranker], env=environment) as the_server:
            ask(the_server, "/v1/rerank", CASES[4][1])
            for case in CASES:
                check(the_server, the_faults, *case)
