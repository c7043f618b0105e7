#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Both pages by keyboard alone: focus goes everywhere and is visible; shortcuts; what a screen reader is told."""
from cases import answers, ask, open_chat, run_tests, send, texts, wait_idle

LONG = [f"word{i} " for i in range(80)]
ANSWERS = {
    "slow": {"pieces": LONG, "delay": 0.02},
    "paragraphs": {"pieces": ["One.", "\n\n", "Tw", "o.\n\n", "Thr", "ee."], "delay": 0.05},
    "rich": {"pieces": ["A [link](https://example.org)\n\n```c\nint x;\n```\n\n| a | b |\n|--|--|\n| 1 | 2 |\n"], "thinking": ["hm"]},
}

FOCUSED = """(() => {
    const node = document.activeElement;
    const style = getComputedStyle(node), around = getComputedStyle(node.closest(".composer") ?? node);
    const visible = [style, around].some((s) => s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2);
    node.dataset.reached = "1";
    const box = node.getBoundingClientRect();
    return {name: node.ariaLabel || node.innerText || node.id || node.localName, tag: node.localName, visible,
            seen: node.checkVisibility({opacityProperty: true}) && box.width > 0};
})()"""


def walk(page):
    """Presses Tab until the focus has been everywhere; returns the controls that were left out."""
    for _ in range(120):
        page.key("Tab")
        state = page.run(FOCUSED)
        if state["tag"] == "body":
            continue
        assert state["visible"], f"no focus ring on {state}"
        assert state["seen"], f"focus on something unseen: {state}"
    return page.run("""[...document.querySelectorAll("button, a[href], input, textarea, select, summary, pre[tabindex], [tabindex='0']")].filter((n) =>
        n.checkVisibility() && !n.disabled && !n.closest("[inert]") && !n.dataset.reached).map((n) => n.outerHTML.slice(0, 120))""")


def test_focus_walk(page, mock):
    open_chat(page, mock)
    ask(page, "rich")
    ask(page, "hello")
    assert walk(page) == []
    page.resize(390, 844)
    page.run("new Promise((done) => setTimeout(done, 150))")
    page.run("document.querySelectorAll('[data-reached]').forEach((n) => delete n.dataset.reached)")
    assert walk(page) == []


def test_status_focus_walk(page, mock):
    page.open(mock.url + "status")
    page.wait("document.querySelector('#models table')")
    assert walk(page) == []


def test_whole_session(page, mock):
    open_chat(page, mock)
    assert page.run("document.activeElement.id") == "input", "the page begins at the message box"
    page.type("line one")
    page.key("Enter", shift=True)
    page.type("line two")
    page.key("Enter")
    page.wait("chat.views.size === 2")
    wait_idle(page)
    assert mock.requests[0]["messages"][0]["content"] == "line one\nline two"
    assert page.run("document.activeElement.id") == "input"
    page.key("ArrowUp")
    page.wait("document.activeElement.matches('.edit-box')")
    page.key("Escape")
    page.wait("!document.querySelector('.edit-box')")
    page.key("r", code="KeyR", alt=True)
    page.wait("document.querySelector('.branches')?.innerText.includes('2 / 2')")
    wait_idle(page)
    page.run("document.querySelector('.branches button').focus()")
    page.key("Enter")
    page.wait("document.querySelector('.branches').innerText.includes('1 / 2')")
    assert page.run("document.activeElement.ariaLabel") == "Next version", "the focus stays with the branches"
    page.key("n", code="KeyN", alt=True)
    page.wait("!document.querySelector('#empty').hidden")
    assert page.run("document.activeElement.id") == "input"
    ask(page, "second chat")
    page.key("ArrowDown", alt=True)
    page.wait("document.querySelector('.message.user .content')?.innerText.includes('line one')")
    page.key("ArrowUp", alt=True)
    page.wait("document.querySelector('.message.user .content').innerText.trim() === 'second chat'")
    page.key("k", code="KeyK", alt=True)
    assert page.run("document.activeElement.id") == "search"
    page.key("b", code="KeyB", alt=True)
    assert page.run("document.querySelector('#sidebar').inert")
    page.key("b", code="KeyB", alt=True)
    assert not page.run("document.querySelector('#sidebar').inert")


def test_dialogs(page, mock):
    open_chat(page, mock)
    page.key("s", code="KeyS", alt=True)
    assert page.run("document.querySelector('#settings').open && document.querySelector('#settings').contains(document.activeElement)")
    for _ in range(40):
        page.key("Tab")
        assert page.run("document.activeElement === document.body || document.querySelector('#settings').contains(document.activeElement)")
    page.key("Escape")
    assert page.run("!document.querySelector('#settings').open && document.activeElement.id") == "input"
    page.run("document.activeElement.blur()")
    page.key("?")
    assert page.run("document.querySelector('#shortcuts').open")
    page.key("n", code="KeyN", alt=True)
    assert page.run("document.querySelector('#shortcuts').open"), "shortcuts rest while a dialog is open"
    page.key("Escape")
    assert not page.run("document.querySelector('#shortcuts').open")
    page.run("document.querySelector('#input').focus()")
    page.key("?")
    assert page.run("document.querySelector('#input').value") == "?", "a question mark can be typed"


def test_escape_stops_from_anywhere(page, mock):
    open_chat(page, mock)
    send(page, "slow")
    page.wait("document.querySelector('.message.assistant .content').innerText.includes('word3')")
    page.run("document.querySelector('#new-chat').focus()")
    page.key("Escape")
    wait_idle(page)
    assert "word79" not in answers(page)[0]
    assert texts(page, "user") == ["slow"]


def test_announcements(page, mock):
    """Finished paragraphs, not tokens."""
    open_chat(page, mock)
    page.run("document.querySelector('#live').replaceChildren()")
    ask(page, "paragraphs")
    said = page.run("[...document.querySelectorAll('#live p')].map((p) => p.textContent)")
    assert said == ["One.", "Two.", "Three.", "Answer complete"], said
    assert page.run("document.querySelector('#live').getAttribute('aria-live')") == "polite"
    assert page.run("document.querySelector('#messages').closest('[aria-live]')") is None


if __name__ == "__main__":
    run_tests(globals(), ANSWERS)
