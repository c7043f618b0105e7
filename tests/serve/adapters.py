# SPDX-License-Identifier: Apache-2.0
"""LoRA adapters as models: lists, requests of every API by name, reload by SIGHUP, errors."""
import json
import os
import random
import signal
import struct
import tempfile
import time

from harness import BUNDLED, Server, wait_for_log

SMALL = ["-c", "1024", "--parallel", "4"]
HIDDEN, Q_ROWS, RANK = 384, 384, 4 # of the bundled model


def write_adapter(path, seed, rank=RANK, module="model.layers.0.self_attn.q_proj", config=None):
    """A PEFT folder with one module and values large enough to change every answer."""
    os.makedirs(path, exist_ok=True)
    options = {"peft_type": "LORA", "r": rank, "lora_alpha": 8 * rank,
               "base_model_name_or_path": "quire-tiny", **(config or {})}
    with open(os.path.join(path, "adapter_config.json"), "w") as f:
        json.dump(options, f)
    values = random.Random(seed)
    header, data = {}, b""
    for name, rows, columns in (("A", rank, HIDDEN), ("B", Q_ROWS, rank)):
        floats = [values.uniform(-1, 1) for _ in range(rows * columns)]
        begin = len(data)
        data += struct.pack(f"<{len(floats)}f", *floats)
        header[f"base_model.model.{module}.lora_{name}.weight"] = {
            "dtype": "F32", "shape": [rows, columns], "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    with open(os.path.join(path, "adapter_model.safetensors"), "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)
    return path


def complete(server, model, n=24):
    status, _, answer = server.post("/v1/completions", {
        "model": model, "prompt": "Once upon a time", "temperature": 0, "max_tokens": n})
    assert status == 200, answer
    assert answer["model"] == model, answer
    return answer["choices"][0]["text"]


def test_requests(folder):
    one, two = write_adapter(folder + "/one", 1), write_adapter(folder + "/two", 2)
    args = [*SMALL, "-m", f"base={BUNDLED}", "--lora", f"one={one}", "--lora-modules", f"two={two}"]
    with Server(args) as server:
        answers = [complete(server, m) for m in ("base", "one", "two")]
        assert len(set(answers)) == 3, answers
        assert [complete(server, m) for m in ("two", "one", "base")] == answers[::-1]
        data = server.get("/v1/models")[2]["data"]
        assert [m["id"] for m in data] == ["base", "one", "two"], data
        assert [m["parent"] for m in data] == [None, "base", "base"], data
        assert data[1]["root"] == one, data
        assert server.get("/v1/models/two")[2]["parent"] == "base"
        tags = server.get("/api/tags")[2]["models"]
        assert [m["name"] for m in tags] == ["base", "one", "two"], tags
        assert tags[1]["details"]["parent_model"] == "base", tags
        ask = [{"role": "user", "content": "Hello!"}]
        bodies = [
            ("/v1/chat/completions", {"messages": ask, "max_tokens": 8}),
            ("/v1/messages", {"messages": ask, "max_tokens": 8}),
            ("/v1/responses", {"input": "Hello!", "max_output_tokens": 8}),
            ("/api/chat", {"messages": ask, "stream": False, "options": {"num_predict": 8}}),
            ("/api/generate", {"prompt": "Hello!", "stream": False, "options": {"num_predict": 8}}),
        ]
        for route, body in bodies:
            status, _, answer = server.post(route, {"model": "one", **body})
            assert status == 200 and answer["model"] == "one", (route, answer)
        status, _, answer = server.post("/v1/embeddings", {"model": "two", "input": "Hello!"})
        assert status == 200 and answer["model"] == "two", answer
        status, _, answer = server.post("/v1/completions", {"model": "three", "prompt": "x"})
        assert status == 404 and answer["error"]["code"] == "model_not_found", answer


def test_reload(folder):
    """Adapters come and go with SIGHUP while the model stays open."""
    one, two = write_adapter(folder + "/one", 1), write_adapter(folder + "/two", 2)
    config = os.path.join(folder, "server.conf")

    def write(*loras):
        with open(config, "w") as f:
            f.write(f"model = base={BUNDLED}\nctx-size = 1024\nparallel = 2\n")
            f.writelines(f"lora = {lora}\n" for lora in loras)

    write(f"one={one}")
    with Server(["--config", config]) as server:
        first = complete(server, "one")
        write(f"one={one}", f"two={two}")
        server.process.send_signal(signal.SIGHUP)
        wait_for_log(server, "adapter loaded", "two")
        assert complete(server, "one") == first
        second = complete(server, "two")
        assert second != first
        write(f"two={two}")
        server.process.send_signal(signal.SIGHUP)
        end = time.monotonic() + 20
        while len(server.get("/v1/models")[2]["data"]) != 2 and time.monotonic() < end:
            time.sleep(0.02)
        assert complete(server, "two") == second
        status, _, answer = server.post("/v1/completions", {"model": "one", "prompt": "x"})
        assert status == 404, answer
        write(f"two={two}", f"two={one}")
        server.process.send_signal(signal.SIGHUP)
        wait_for_log(server, "models not reloaded", "two models are called two")
        assert complete(server, "two") == second


def test_errors(folder):
    bad = write_adapter(folder + "/bad", 1, module="model.layers.99.self_attn.q_proj")
    with Server([*SMALL, "--lora", f"bad={bad}"], expect_exit=None) as server:
        server.process.wait(20)
    assert server.process.returncode != 0
    assert "layers.99" in "".join(server.log), server.log
    high = write_adapter(folder + "/high", 1, rank=8)
    with Server([*SMALL, "--lora", f"high={high}", "--max-lora-rank", "4"],
                expect_exit=None) as server:
        server.process.wait(20)
    assert "rank 8" in "".join(server.log), server.log


with tempfile.TemporaryDirectory() as temporary:
    for number, test in enumerate((test_requests, test_reload, test_errors)):
        folder = os.path.join(temporary, str(number))
        os.mkdir(folder)
        test(folder)
print("passed")
