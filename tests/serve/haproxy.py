# SPDX-License-Identifier: Apache-2.0
"""Three servers behind HAProxy with deploy/haproxy/haproxy.cfg: the turns of a conversation go to the server that has
its prefix, with X-Quire-Prefix and without; a server that is killed loses no request that it had not begun to answer,
and one that drains loses none at all."""
import http.client
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from harness import ROOT, Server, skip

CONVERSATIONS, TURNS, IN_FLIGHT = 12, 3, 24
random.seed(1)
words = [w for w in open(os.path.join(ROOT, "LICENSE")).read().split() if w.isalpha()]


def text(n):
    return " ".join(random.choice(words) for _ in range(n))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def request(port, path, body, headers=None, timeout=60):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    connection.request("POST" if body is not None else "GET", path, body and json.dumps(body),
                       {"Content-Type": "application/json", **(headers or {})})
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return answer.status, json.loads(data) if data.startswith(b"{") else data


def start_proxy(folder, servers):
    port = free_port()
    config = open(os.path.join(ROOT, "deploy/haproxy/haproxy.cfg")).read()
    assert all(f"127.0.0.1:{8080 + i}" in config for i in range(4))
    for i, p in enumerate([port] + [s.port for s in servers]):
        config = config.replace(f"127.0.0.1:{8080 + i}", f"127.0.0.1:<{p}>")
    path = os.path.join(folder, "haproxy.cfg")
    with open(path, "w") as f:
        f.write(config.replace("<", "").replace(">", ""))
    proxy = subprocess.Popen(["haproxy", "-f", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(200):
        try:
            if request(port, "/health", None)[0] == 200:
                return proxy, port
        except OSError:
            pass
        time.sleep(0.05)
    proxy.kill()
    raise AssertionError("HAProxy does not answer")


def converse(port, with_header):
    """The conversations take turns at random. Returns how many follow-up turns found their prefix, and all of them."""
    talks = [[{"role": "system", "content": "Be brief."}, {"role": "user", "content": text(80)}]
             for _ in range(CONVERSATIONS)]
    known, follow_ups, warm = {}, 0, 0
    order = [i for i in range(CONVERSATIONS) for _ in range(TURNS)]
    random.shuffle(order)
    for i in order:
        body = {"messages": talks[i], "max_tokens": 8, "temperature": 0}
        headers = {}
        if with_header:
            status, answer = request(port, "/v1/prefix-key", body)
            assert status == 200, answer
            headers[answer["header"]] = answer["key"]
        status, answer = request(port, "/v1/chat/completions", body, headers)
        assert status == 200, answer
        usage = answer["usage"]
        if i in known:
            follow_ups += 1
            # all of the earlier prompt but its last block
            warm += usage["prompt_tokens_details"]["cached_tokens"] >= 0.7 * known[i]
        known[i] = usage["prompt_tokens"]
        talks[i] += [answer["choices"][0]["message"], {"role": "user", "content": text(5)}]
    return warm, follow_ups


def ask_in_threads(port, stop, results, streaming):
    """Sends one request after another until told to stop; every result is (began, ended)."""
    while not stop.is_set():
        body = {"messages": [{"role": "user", "content": text(30)}], "max_tokens": 40, "ignore_eos": True,
                "stream": streaming}
        began = ended = False
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            began = answer.status == 200
            data = answer.read()
            ended = began and (b"[DONE]" in data if streaming else b'"usage"' in data)
            if not began:
                results.append((began, ended, answer.status, data[:200]))
                continue
        except (OSError, http.client.HTTPException) as e:
            results.append((began, ended, 0, repr(e)))
            continue
        results.append((began, ended, 200, b""))


def load(port, victim, how):
    """Ends a server while it computes; the results of requests before, during and after that."""
    stop, whole, streams = threading.Event(), [], []
    threads = [threading.Thread(target=ask_in_threads, args=(port, stop, r, r is streams))
               for _ in range(IN_FLIGHT // 2) for r in (whole, streams)]
    for t in threads:
        t.start()
    for _ in range(1000):
        models = request(victim.port, "/slots", None)[1]["models"]
        if any(len(m["generations"]) >= 2 for m in models):
            break
        time.sleep(0.01)
    else:
        raise AssertionError("the server gets no requests")
    victim.process.send_signal(how)
    victim.process.wait(60)
    time.sleep(1)
    stop.set()
    for t in threads:
        t.join()
    return whole, streams


def wait_ready(server):
    """HAProxy leaves out a server that still loads its model; when it returns, conversations would move to it."""
    for _ in range(600):
        if request(server.port, "/ready", None)[0] == 200:
            return
        time.sleep(0.05)
    raise AssertionError("a server does not become ready")


def check(servers, folder):
    for s in servers:
        wait_ready(s)
    proxy, port = start_proxy(folder, servers)
    try:
        for with_header in True, False:
            warm, all_turns = converse(port, with_header)
            print(f"{'with' if with_header else 'without'} X-Quire-Prefix: {warm} of {all_turns} follow-up turns warm")
            assert warm >= 0.9 * all_turns
        used = [request(s.port, "/metrics", None)[1].count(b"quire_answers_total{") for s in servers]
        assert all(used), used  # all servers have work
        whole, streams = load(port, servers[0], signal.SIGKILL)
        lost = [r for r in whole if not r[1]] + [r for r in streams if not r[0]]
        cut = [r for r in streams if r[0] and not r[1]]
        print(f"killed: {len(whole)} answers and {len(streams)} streams, {len(lost)} lost, {len(cut)} streams cut")
        assert not lost, lost
        whole, streams = load(port, servers[1], signal.SIGTERM)
        lost = [r for r in whole + streams if not r[1]]
        print(f"drained: {len(whole)} answers and {len(streams)} streams, {len(lost)} lost")
        assert not lost, lost
    finally:
        proxy.terminate()
        proxy.wait()


def main():
    if not shutil.which("haproxy", path=os.environ["PATH"] + ":/usr/sbin"):
        skip("haproxy is not installed")
    os.environ["PATH"] += ":/usr/sbin"
    folder = tempfile.mkdtemp(prefix="quire-haproxy-")
    with Server(["-t", "1"], expect_exit=None) as a, Server(["-t", "1"]) as b, Server(["-t", "1"]) as c:
        check([a, b, c], folder)
    shutil.rmtree(folder)
    print("haproxy: passed")


main()
