#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""axe-core, installed by npm into the build folder, over both pages in both themes: no serious or critical finding."""
import os
import shutil
import subprocess

from cases import ask, open_chat, require_browser, run_tests, skip
from layout import ANSWERS, QUESTION
from mock import build_folder

VERSION = "4.14.1"
FOLDER = os.path.join(build_folder(), "serve-web")
SCRIPT = os.path.join(FOLDER, "node_modules/axe-core/axe.min.js")


def install():
    """Puts the wanted version of axe-core into the build folder, or skips the test."""
    package = os.path.join(os.path.dirname(SCRIPT), "package.json")
    if os.path.exists(package) and f'"version": "{VERSION}"' in open(package, encoding="utf-8").read():
        return
    if shutil.which("npm") is None:
        skip("no npm")
    os.makedirs(FOLDER, exist_ok=True)
    result = subprocess.run(["npm", "install", "--prefix", FOLDER, "--no-save", "--ignore-scripts", "--no-audit", "--no-fund",
                             "--loglevel=error", f"axe-core@{VERSION}"], capture_output=True, text=True, timeout=120, check=False)
    if result.returncode != 0:
        skip("npm install failed: " + result.stderr.strip()[-200:])


def findings(page):
    with open(SCRIPT, encoding="utf-8") as f:
        page.run(f.read() + "; true")
    found = page.run("""axe.run(document, {resultTypes: ["violations"]}).then((result) => result.violations.flatMap((v) =>
        v.nodes.map((n) => [v.impact, v.id, n.target.join(" "), n.failureSummary])))""")
    for impact, rule, target, summary in found:
        print(" ", impact, rule, target, summary.replace("\n", " "))
    return [one for one in found if one[0] in ("serious", "critical")]


def check(page, name):
    for theme in ("light", "dark"):
        page.set_theme(theme)
        page.run("new Promise((done) => setTimeout(done, 200))")
        found = findings(page)
        assert found == [], (name, theme, found)


def test_chat(page, mock):
    open_chat(page, mock)
    check(page, "empty")
    ask(page, "weather")
    page.run("regenerate(currentPath(chat.conversation).at(-1))")
    page.wait("chat.running === null")
    ask(page, "bad")
    ask(page, QUESTION)
    page.run("document.querySelectorAll('details').forEach((node) => (node.open = true))")
    check(page, "messages")
    page.run("startEdit(currentPath(chat.conversation)[0])")
    check(page, "editing")
    page.run("openSettings(); document.querySelector('#set-useSchema').click()")
    check(page, "settings")
    page.run("document.querySelector('#settings').close(); openShortcuts()")
    check(page, "shortcuts")


def test_chat_on_a_phone(page, mock):
    page.resize(390, 844)
    open_chat(page, mock)
    ask(page, QUESTION)
    check(page, "messages")
    page.click("#open-sidebar")
    check(page, "list")


def test_status(page, mock):
    page.open(mock.url + "status")
    page.wait("document.querySelector('.chart .line-path') && document.querySelector('#models table')")
    check(page, "status")
    mock.key = "secret"
    page.wait("!document.querySelector('#key-form').hidden")
    check(page, "key")


if __name__ == "__main__":
    require_browser()
    install()
    run_tests(globals(), ANSWERS)
