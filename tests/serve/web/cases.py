# SPDX-License-Identifier: Apache-2.0
"""Runs the functions test_* of a file, each with a fresh page and a mock server:

    def test_send(page, mock):
        ask(page, "Hello")
        assert answers(page)[-1] == "You said: Hello"
"""
import os
import sys
import traceback

from browser import Browser, program
from mock import Mock, build_folder, web_folder

SHOTS = os.path.join(build_folder(), "screenshots")


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def require_browser():
    if program() is None:
        skip("no Chromium found (package chromium, or set CHROMIUM)")
    if not os.path.exists(os.path.join(web_folder(), "page_chat.html")):
        skip("the web pages are not built (target quire-server)")


def shot(page, name):
    page.screenshot(os.path.join(SHOTS, name + ".png"))


def open_chat(page, mock):
    page.open(mock.url, ready="document.querySelector('#model').options.length > 0")


def send(page, text):
    page.run("document.querySelector('#input').focus()")
    page.type(text)
    page.key("Enter")


def wait_idle(page):
    page.wait("chat.running === null && chat.views.size > 0")


def ask(page, text):
    """Sends a message and waits for the whole answer."""
    send(page, text)
    page.wait("[...chat.views.values()].some((view) => view.node.role === 'assistant')")
    wait_idle(page)


def texts(page, role):
    return page.run(f"[...document.querySelectorAll('.message.{role} .content')].map((node) => node.innerText.trim())")


def answers(page):
    return texts(page, "assistant")


def run_tests(namespace, answers_by_message=None):
    """Exits with 1 if a test fails. Arguments name the tests to run; default: all."""
    require_browser()
    tests = [(name, f) for name, f in namespace.items() if name.startswith("test_") and name in (sys.argv[1:] or [name])]
    failed = 0
    with Browser() as browser:
        for name, test in tests:
            with Mock(answers_by_message) as mock:
                page = browser.page()
                try:
                    test(page, mock)
                    assert page.problems == [], page.problems
                    print("ok", name)
                except Exception:
                    failed += 1
                    print("FAILED", name)
                    traceback.print_exc(file=sys.stdout)
                    print("problems of the page:", page.problems)
                    shot(page, "failed-" + name)
                page.close()
    print(f"{len(tests) - failed} of {len(tests)} tests passed")
    sys.exit(1 if failed else 0)
