#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The web pages as quire-server serves them: headers over HTTP, then both pages in Chromium with the bundled model."""
import base64
import gzip
import hashlib
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness import Server, binary, skip  # noqa: E402

from browser import Browser, program  # noqa: E402
from cases import answers, ask, send, shot, texts, wait_idle  # noqa: E402


def digest(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def policy(headers):
    return dict(part.strip().split(" ", 1) for part in headers["Content-Security-Policy"].split(";"))


def check_headers(server):
    for path in ("/", "/status"):
        status, headers, body = server.get(path)
        assert status == 200 and headers["Content-Type"] == "text/html; charset=utf-8"
        assert headers["X-Content-Type-Options"] == "nosniff" and headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cache-Control"] == "no-cache" and "Accept-Encoding" in headers["Vary"]
        rules, text = policy(headers), body.decode("utf-8")
        assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == rules["frame-ancestors"] == "'none'"
        assert "unsafe" not in headers["Content-Security-Policy"]
        for tag in ("script", "style"):
            inline = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.S)
            assert [digest(one) for one in inline] == [rules[tag + "-src"]], tag
        assert not re.search(r"\s(?:on\w+|style|src)=", re.sub(r"<(script|style)>.*?</\1>", "", text, flags=re.S))
        check_compression(server, path, body, headers["ETag"])


def check_compression(server, path, body, tag):
    for wanted, compressed in (("gzip", True), ("br;q=1, GZIP ; q=0.5", True), ("gzip;q=0", False), ("gzip; q=0.0, br", False),
                               ("identity", False), ("x-gzip", False), ("", False), ("gzipped", False)):
        status, headers, data = server.get(path, headers={"Accept-Encoding": wanted})
        assert status == 200 and (headers.get("Content-Encoding") == "gzip") == compressed, wanted
        assert (gzip.decompress(data) if compressed else data) == body, wanted
        assert (headers["ETag"] != tag) == compressed
    for match, expected in ((tag, 304), ("W/" + tag, 304), (f'"x", {tag}', 304), ("*", 304), ('"x"', 200)):
        status, headers, data = server.get(path, headers={"If-None-Match": match})
        assert status == expected and (data == b"") == (expected == 304), match
        assert headers["ETag"] == tag
    status, headers, data = server.request("HEAD", path)
    assert status == 200 and data == b"" and int(headers["Content-Length"]) == len(body)
    assert server.post(path, {})[0] == 405


def check_chat(browser, server):
    page = browser.page()
    page.open(f"http://127.0.0.1:{server.port}/", ready="document.querySelector('#model').options.length > 0")
    assert page.run("document.querySelector('#model').value") == "quire-tiny"
    page.run("Object.assign(chat.conversation.settings, {max_tokens: 24, seed: 5, temperature: 0.8, stop: 'zzz'})")
    ask(page, "Tell me a story.")
    first = answers(page)[0]
    assert page.count(".problem:not([hidden])") == 0 and first != "", page.text(".problem")
    footer = page.text(".message.assistant .message-footer")
    assert re.search(r"first token after [\d.]+ s · \d+ tokens", footer), footer  # a rate, unless all tokens came at once
    page.wait("/^\\d+ of [\\d,]+ tokens$/.test(document.querySelector('#context-text').textContent)")
    page.run("regenerate(currentPath(chat.conversation)[1])")
    wait_idle(page)
    assert answers(page) == [first], "the same seed gives the same answer"
    page.run("continueAnswer(currentPath(chat.conversation)[1])")
    wait_idle(page)
    assert page.count(".problem:not([hidden])") == 0 and answers(page)[0].startswith(first)
    shot(page, "server-chat")
    page.run("""Object.assign(chat.conversation.settings, {useSchema: true, schema: '{"type": "object"}'})""")
    ask(page, "In JSON, please.")
    shot(page, "server-schema")
    problem = page.text(".message:last-child .problem")
    if problem:  # a server without structured output
        assert "response_format" in problem, problem
    page.run("Object.assign(chat.conversation.settings, {useSchema: false, max_tokens: undefined})")
    page.run("globalThis.stopper = setInterval(() => chat.running?.chunks > 3 && stopAnswer(), 1); true")
    send(page, "Now a very long story.")
    page.wait("[...chat.views.values()].length === 6")
    wait_idle(page)
    for seed in range(5):  # an answer may end before its fourth piece reaches the page
        if "Stopped" in page.text(".message:last-child .message-footer"):
            break
        page.run(f"chat.conversation.settings.seed = {seed}; regenerate(currentPath(chat.conversation).at(-1))")
        wait_idle(page)
    assert "Stopped" in page.text(".message:last-child .message-footer")
    assert len(texts(page, "user")) == 3
    assert page.problems == [], page.problems
    page.close()


def check_status(browser, server):
    page = browser.page()
    page.open(f"http://127.0.0.1:{server.port}/status")
    page.wait("status.readings.length >= 2", 30)
    rows = page.run("[...document.querySelectorAll('#models tbody tr')].map((r) => [...r.children].map((c) => c.innerText))")
    assert rows[0][0] == "quire-tiny" and rows[0][1] == "loaded" and int(rows[0][5]) >= 3, rows
    values = dict(page.run("[...document.querySelectorAll('#facts div')].map((d) => [d.children[0].innerText, d.children[1].innerText])"))
    assert int(values["Answers"]) >= 3 and values["Uptime"] != "–" and values["Version"] != "–" and values["CPU"] != "–", values
    unknown = page.run("""[...new Set([...document.querySelector("script").textContent.matchAll(/"((?:quire|process)_\\w+)"/g)].map((m) => m[1]))].filter((name) =>
        ![...status.readings[0].metrics.keys()].some((one) => one === name || one === name + "_bucket"))""")
    assert set(unknown) <= {"quire_requests_refused_total"}, unknown  # nothing was refused
    shot(page, "server-status")
    assert page.problems == [], page.problems
    page.close()


def check_keys(browser):
    key = "a-key-for-this-test"
    hashed = subprocess.run([binary(), "--hash-key"], input=key, capture_output=True, text=True, check=True).stdout.strip()
    with tempfile.NamedTemporaryFile("w", suffix=".keys") as f:
        f.write(f"tester {hashed}\n")
        f.flush()
        with Server(["--api-key-file", f.name]) as server:
            page = browser.page()
            page.open(f"http://127.0.0.1:{server.port}/")
            page.wait("document.querySelector('#notice').innerText.includes('needs an API key')")
            page.run(f"writeApiKey({key!r}, false); loadModels()")
            page.wait("document.querySelector('#model').value === 'quire-tiny'")
            page.run("chat.conversation.settings.max_tokens = 8")
            ask(page, "Hello")
            assert page.count(".problem:not([hidden])") == 0, page.text(".problem")
            page.open(f"http://127.0.0.1:{server.port}/status")
            page.wait("document.querySelector('#facts div')")
            assert page.problems == [], page.problems
            page.close()


def main():
    with Server(["--no-web"]) as server:
        for path in ("/", "/status"):
            status, headers, body = server.get(path)
            assert status == 404 and "--no-web" in body["error"]["message"] and "Content-Security-Policy" not in headers
    with Server() as server:
        check_headers(server)
        if program() is None:
            skip("no Chromium found (package chromium, or set CHROMIUM); the headers are right")
        with Browser() as browser:
            check_chat(browser, server)
            check_status(browser, server)
            check_keys(browser)
    print("web pages of the server: passed")


if __name__ == "__main__":
    main()
