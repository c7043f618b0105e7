# SPDX-License-Identifier: Apache-2.0
"""Several models: on demand, aliases, memory limit, reload of the list, saved prefix caches."""
import os
import signal
import subprocess
import tempfile
import time

from harness import BUNDLED, Server, binary, copy_of_bundled, wait_for_log

SMALL = ["-c", "1024", "--parallel", "2"]


def ask(server, model):
    status, _, answer = server.post("/v1/chat/completions", {
        "model": model, "temperature": 0, "messages": [{"role": "user", "content": "Hello!"}]})
    return status, answer


def check_answers(server, models):
    for model in models:
        status, answer = ask(server, model)
        assert status == 200 and answer["choices"][0]["message"]["content"], (model, answer)


def test_memory_limit(folder):
    """Room for one model: the one that is unused is closed, its prefix cache saved and restored."""
    cache = os.path.join(folder, "cache")
    os.mkdir(cache)
    args = [*SMALL, "-m", f"a={BUNDLED}", "-m", f"b={copy_of_bundled(folder, 'b')}",
            "--models-mem", "34M", "--cache-dir", cache]
    with Server(args) as server:
        check_answers(server, ["a", "b", "a"])
        wait_for_log(server, "prefix cache restored model=a")
        assert ask(server, "a")[1]["usage"]["prompt_tokens_details"]["cached_tokens"] > 0
        status, answer = ask(server, "c")
        assert status == 404 and answer["error"]["param"] == "model", answer
        assert "a, b" in answer["error"]["message"], answer
    assert sorted(os.listdir(cache)) == ["a.cache", "b.cache"]
    with Server(args) as server:
        wait_for_log(server, "prefix cache restored model=a")


def test_pack_cache(folder):
    """The packed weights are kept, one file per model, and used at the next start."""
    packed = os.path.join(folder, "packed")
    os.mkdir(packed)
    args = [*SMALL, "-m", f"a={BUNDLED}", "--pack-cache-dir", packed, "--compute", "f32",
            "--strict", "--allow-unknown"]
    answers, dates = [], []
    for _ in range(2):
        with Server(args) as server:
            answers.append(ask(server, "a")[1]["choices"])
        assert os.listdir(packed) == ["a.packed"]
        dates.append(os.stat(os.path.join(packed, "a.packed")).st_mtime_ns)
    assert answers[0] == answers[1] and dates[0] == dates[1]


def test_mlock():
    """The weights are locked, or the model is refused where that is not permitted."""
    def locked_kib(server):
        with open(f"/proc/{server.process.pid}/status") as f:
            return [int(line.split()[1]) for line in f if line.startswith("VmLck:")][0]

    with open(binary(), "rb") as f:
        sanitized = b"__asan_init" in f.read() # AddressSanitizer makes mlockall() do nothing
    with Server([*SMALL, "--mlock"], expect_exit=None) as server:
        while server.process.poll() is None and server.get("/ready")[0] != 200:
            time.sleep(0.02)
        if server.process.poll() is None:
            assert sanitized or locked_kib(server) > os.stat(BUNDLED).st_size // 1024
        else:
            assert "cannot be locked" in "".join(server.log), server.log


def test_limit_too_small():
    with Server([*SMALL, "--models-mem", "1M"], expect_exit=None) as server:
        server.process.wait(20)
    assert server.process.returncode not in (0, None)
    assert "--models-mem" in "".join(server.log), server.log


def test_reload(folder):
    config = os.path.join(folder, "server.conf")

    def write(text):
        with open(config, "w") as f:
            f.write(text)

    b, c = (copy_of_bundled(folder, name) for name in "bc")
    write(f"model a={BUNDLED}\nmodel b={b}\nalias gpt=a\n")
    with Server([*SMALL, "--config", config]) as server:
        check_answers(server, ["a", "b", "gpt"])
        write(f"model b={b}\nmodel c={c}\nalias gpt=c\n")
        server.process.send_signal(signal.SIGHUP)
        wait_for_log(server, "models reloaded")
        assert ask(server, "a")[0] == 404
        check_answers(server, ["b", "gpt", "c"])
        write("model b=\nnonsense\n")
        server.process.send_signal(signal.SIGHUP)
        wait_for_log(server, "not reloaded")
        check_answers(server, ["b", "gpt", "c"])


def test_reload_while_opening(folder):
    """The list loses the first model while it is being opened: it is closed when it is open, and
    its memory is free again."""
    config = os.path.join(folder, "server.conf")
    with open(config, "w") as f:
        f.write(f"model a={BUNDLED}\nmodels-mem 34M\n")
    with Server([*SMALL, "--config", config]) as server:
        with open(config, "w") as f:
            f.write(f"model b={BUNDLED}\nmodels-mem 34M\n")
        server.process.send_signal(signal.SIGHUP)
        wait_for_log(server, "models reloaded")
        wait_for_log(server, " ready ")
        wait_for_log(server, " ready model=a")
        status, _, answer = server.post("/v1/completions", {"prompt": "a", "model": "b"}, timeout=20)
        assert status == 200, answer


def test_shared(folder):
    """Several names of one file are one model, whose weights are loaded once."""
    args = [*SMALL, "-m", f"a={BUNDLED}", "-m", f"b={BUNDLED}", "--alias", "gpt=b"]
    with Server(args) as server:
        check_answers(server, ["a", "b", "gpt"])
        listed = server.get("/v1/models")[2]["data"]
        assert [(m["id"], m["aliases"]) for m in listed] == [("a", ["b", "gpt"])], listed
        wait_for_log(server, " engine model=")
        assert sum(" engine model=" in line for line in server.log) == 1, server.log
    b = copy_of_bundled(folder, "shared")
    config = os.path.join(folder, "shared.conf")
    with open(config, "w") as f:
        f.write(f"model a={BUNDLED}\nmodel b={BUNDLED}\n")
    with Server([*SMALL, "--config", config]) as server:
        with open(config, "w") as f:
            f.write(f"model a={BUNDLED}\nmodel b={b}\n")
        server.process.send_signal(signal.SIGHUP)
        wait_for_log(server, "models reloaded")
        check_answers(server, ["a", "b"])
        wait_for_log(server, " engine model=b ")
    for extra in (["-m", f"b={b}"], ["-m", f"b={BUNDLED}"]):
        run = subprocess.run([binary(), "--port", "0", *args[:-2], *extra], capture_output=True, text=True,
                             timeout=20, check=False)
        assert run.returncode == 64 and "two models are called b" in run.stderr, run


def test_missing_model():
    with Server(["-m", BUNDLED, "-m", "gone=/nowhere/model.gguf"]) as server:
        status, answer = ask(server, "gone")
        assert status == 503 and "/nowhere/model.gguf" in answer["error"]["message"], answer
        check_answers(server, ["quire-tiny"])


with tempfile.TemporaryDirectory() as folder:
    test_memory_limit(folder)
with tempfile.TemporaryDirectory() as folder:
    test_pack_cache(folder)
with tempfile.TemporaryDirectory() as folder:
    test_reload(folder)
    test_reload_while_opening(folder)
    test_shared(folder)
test_limit_too_small()
test_mlock()
test_missing_model()
