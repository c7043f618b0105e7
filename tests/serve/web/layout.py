#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Widths, themes and languages of both pages. Screenshots go to build/screenshots."""
import os

from cases import ask, open_chat, run_tests, shot
from mock import web_folder

MAX_PAGE_BYTES = 150000
WIDTHS = [(320, 640), (390, 844), (768, 1024), (1440, 900)]

ANSWER = """Sorting a list is one call. Python sorts **in place** with `list.sort()`, or returns a new list with `sorted()`:

```python
people = [("Ada", 36), ("Grace", 45), ("Edsger", 41)]

# by age, oldest first
for name, age in sorted(people, key=lambda p: p[1], reverse=True):
    print(f"{name:<10} {age}")
```

Both use *Timsort*, which is

1. stable: equal elements keep their order
2. adaptive: sorted runs cost linear time
   - worst case `O(n log n)`

| method | result | memory |
|:--|:--|--:|
| `list.sort()` | in place | up to n/2 |
| `sorted()` | a new list | n |

> Prefer `sorted()` unless the list is large.

More in the [documentation](https://docs.python.org/3/howto/sorting.html).
"""
QUESTION = "How do I sort a list of tuples in Python?"
LONG_WORD = "Donaudampfschifffahrtsgesellschaftskapitän" * 6
ANSWERS = {
    QUESTION: {"pieces": [ANSWER[i:i + 40] for i in range(0, len(ANSWER), 40)], "delay": 0.005,
               "thinking": ["The user asks about sorting tuples. ", "A key function is the usual answer."]},
    "weather": {"calls": [{"index": 0, "id": "call_1", "function": {"name": "get_weather", "arguments": '{"city": "Reykjavík", "days": 3}'}}]},
    "bad": {"status": 400, "error": {"message": "response_format of type json_schema is not supported by this server.", "param": "response_format"}},
    "wide": {"pieces": [LONG_WORD, "\n\n`", LONG_WORD, "`\n\n```\n", LONG_WORD, "\n```\n\n| ", " | ".join(["column"] * 14), " |\n|", "---|" * 14,
                        "\n| ", " | ".join([LONG_WORD[:60]] * 14), " |\n\n> https://example.org/", "a" * 200]},
    "rtl": {"pieces": ["مرحبا! هذا **نص** عربي.\n\n- عنصر\n\nand English."]},
}


def overflow(page):
    """Elements that reach over the edge of the page, unless something around them scrolls or hides them."""
    return page.run("""(() => {
        const wide = document.documentElement.scrollWidth > innerWidth ? [`page is ${document.documentElement.scrollWidth} wide`] : [];
        const clipped = (n) => { for (let p = n; p; p = p.parentElement) if (getComputedStyle(p).overflowX !== "visible" || getComputedStyle(p).position === "fixed") return true; };
        for (const n of document.querySelectorAll("body *")) {
            const box = n.getBoundingClientRect();
            if (box.width && (box.right > innerWidth + 1 || box.left < -1) && !clipped(n) && !n.matches(".skip, .unseen")) wide.push(n.outerHTML.slice(0, 100));
        }
        const inner = document.querySelector("#scroll");
        if (inner && inner.scrollWidth > inner.clientWidth) wide.push(`#scroll is ${inner.scrollWidth} of ${inner.clientWidth}`);
        return wide;
    })()""")


def test_size(page, mock):
    for name in ("chat", "status"):
        size = os.path.getsize(os.path.join(web_folder(), f"page_{name}.html"))
        assert size <= MAX_PAGE_BYTES, f"{name}: {size} bytes"
        with open(os.path.join(web_folder(), f"page_{name}.html"), encoding="utf-8") as f:
            text = f.read()
        for outside in ("src=", "@import", "url(", "import(", "innerHTML", "document.write", "eval(", "insertAdjacentHTML", "new Function"):
            assert outside not in text, f"{name} has {outside}"


def test_widths_and_themes(page, mock):
    open_chat(page, mock)
    for text in ("Plan a week of dinners", "Explain monads to a baker", "Translate a letter"):
        ask(page, text)
        page.run("startNewChat()")
    shot(page, "chat-empty-1280-light")
    ask(page, QUESTION)
    for theme in ("light", "dark"):
        page.set_theme(theme)
        for width, height in WIDTHS:
            page.resize(width, height)
            page.run("new Promise((done) => setTimeout(done, 150))")
            page.run("scrollToEnd()")
            assert overflow(page) == [], (width, overflow(page))
            shot(page, f"chat-{width}-{theme}")
    page.run("document.querySelector('#scroll').scrollTop = 0")
    shot(page, "chat-top-1440-dark")
    ask(page, "wide")
    for width, height in WIDTHS:
        page.resize(width, height)
        page.run("new Promise((done) => setTimeout(done, 150))")
        assert overflow(page) == [], (width, overflow(page))
    shot(page, "chat-wide-1440-dark")


def test_drawers(page, mock):
    open_chat(page, mock)
    ask(page, "weather")
    ask(page, "bad")
    for theme in ("light", "dark"):
        page.set_theme(theme)
        for width, height in ((390, 844), (1440, 900)):
            page.resize(width, height)
            page.run("new Promise((done) => setTimeout(done, 150))")
            shot(page, f"problem-{width}-{theme}")
            page.run("openSettings()")
            assert overflow(page) == [], (width, overflow(page))
            shot(page, f"settings-{width}-{theme}")
            page.run("document.querySelector('#settings').close(); openShortcuts()")
            shot(page, f"shortcuts-{width}-{theme}")
            page.run("document.querySelector('#shortcuts').close()")
    page.resize(390, 844)
    page.run("new Promise((done) => setTimeout(done, 150))")
    page.click("#open-sidebar")
    shot(page, "sidebar-390-dark")
    assert page.run("document.querySelector('#main').inert")
    page.key("Escape")
    assert page.run("!document.querySelector('#main').inert && document.querySelector('#sidebar').inert")
    assert page.run("document.activeElement.id") == "open-sidebar"


def test_chosen_theme_stays(page, mock):
    open_chat(page, mock)
    back = "getComputedStyle(document.body).backgroundColor"
    light = page.run(back)
    page.click("#open-settings")
    page.run("(() => { const s = document.querySelector('#set-theme'); s.value = 'dark'; s.dispatchEvent(new Event('change')); })()")
    dark = page.run(back)
    assert dark != light
    open_chat(page, mock)
    assert page.run(back) == dark
    page.open(mock.url + "status")
    assert page.run(back) == dark


def test_status_page(page, mock):
    page.open(mock.url + "status")
    page.wait("document.querySelectorAll('.chart .line-path')[0]?.getAttribute('d').includes('L')", 30)
    for theme in ("light", "dark"):
        page.set_theme(theme)
        for width, height in WIDTHS:
            page.resize(width, height)
            page.run("new Promise((done) => setTimeout(done, 200))")
            assert overflow(page) == [], (width, overflow(page))
            shot(page, f"status-{width}-{theme}")


def test_languages(page, mock):
    words = {"de-AT": ("de", "Neuer Chat"), "fr-CA,en": ("fr", "Nouvelle discussion"), "es": ("es", "Nuevo chat"), "zh-Hans-CN": ("zh", "新对话"),
             "ja": ("ja", "新しいチャット"), "pt-BR,pt": ("en", "New chat"), "pt,fr": ("fr", "Nouvelle discussion"), "en-GB": ("en", "New chat")}
    for wanted, (code, text) in words.items():
        other = page.browser.page(language=wanted)
        open_chat(other, mock)
        assert other.run("document.documentElement.lang") == code, wanted
        assert other.text("#new-chat span") == text
        assert other.run("[...document.querySelectorAll('[data-text]')].every((n) => n.textContent !== '')")
        for width, height in ((320, 640), (390, 844)):
            other.resize(width, height)
            other.run("new Promise((done) => setTimeout(done, 120))")
            other.run("openSettings()")
            assert overflow(other) == [], (wanted, overflow(other))
            if width == 390 and code in ("de", "ja"):
                shot(other, f"settings-{code}")
            other.run("document.querySelector('#settings').close()")
        assert other.problems == [], other.problems
        other.close()


def test_all_texts_exist(page, mock):
    """Every language has the texts of English, with the same placeholders; no text is missing or unused."""
    open_chat(page, mock)
    missing = page.run("""Object.entries(languages).flatMap(([code, texts]) => Object.keys(languages.en).filter((key) =>
        String(texts[key]?.match(/\\{\\w+\\}/g)?.sort()) !== String(languages.en[key].match(/\\{\\w+\\}/g)?.sort()) || !texts[key]).map((key) => code + "." + key))""")
    assert missing == [], missing


def test_right_to_left(page, mock):
    open_chat(page, mock)
    ask(page, "rtl")
    directions = page.run("[...document.querySelectorAll('.message.assistant .content > *')].map((n) => getComputedStyle(n).direction)")
    assert directions == ["rtl", "rtl", "ltr"], directions
    shot(page, "right-to-left")


if __name__ == "__main__":
    run_tests(globals(), ANSWERS)
