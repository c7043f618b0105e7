#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Markdown from the model, well-formed and hostile: what the page makes of it."""
import json
import random

from cases import ask, open_chat, run_tests

# Each must run nothing, load nothing, and leave no element or link of its own.
ATTACKS = [
    "<script>window.hit = 1</script>", "<img src=x onerror='window.hit = 1'>", "<svg onload=window.hit=1>", "<b onclick=alert(1)>x</b>",
    "<iframe srcdoc='<script>parent.hit=1</script>'></iframe>", "<a href='javascript:hit=1'>x</a>", "<base href='//evil.example/'>",
    "<style>*{display:none}</style>", "<form action=//evil.example><input name=q></form>", "<meta http-equiv=refresh content='0;url=//x'>",
    "[x](javascript:window.hit=1)", "[x](JaVaScRiPt:window.hit=1)", "[x](java\tscript:hit=1)", "[x](&#106;avascript:hit=1)",
    "[x]( javascript:hit=1 )", "[x](\x01javascript:hit=1)", "[x](data:text/html,<script>hit=1</script>)", "[x](vbscript:hit)",
    "[x](blob:http://127.0.0.1/x)", "[x](file:///etc/passwd)", "[x](//evil.example/)", "[x](/v1/models)", "[x](../status)", "[x](#input)",
    "[x](<javascript:hit=1>)", "<javascript:hit=1>", "<JAVASCRIPT:hit=1>", "[x](http:javascript:hit=1 \"t\" onclick=hit=1)",
    "![x](javascript:hit=1)", "![x](x onerror=hit=1)", "[![x](javascript:a)](javascript:b)", "`<script>hit=1</script>`",
    "```html\n<script>hit=1</script>\n```", "```\"><script>hit=1</script>\nx\n```", "``` <img src=x onerror=hit=1>\n", "# <img src=x onerror=hit=1>",
    "| <script>hit=1</script> | b |\n|---|---|\n| <img src=x onerror=hit=1> | [x](javascript:hit=1) |", "> <svg/onload=hit=1>", "- <object data=x>",
    "- [x] <input autofocus onfocus=hit=1>", "**<b onmouseover=hit=1>x</b>**", "&lt;script&gt;hit=1&lt;/script&gt;", "<!--><script>hit=1</script>-->",
    "</textarea><script>hit=1</script>", "</script><script>hit=1</script>", "<details open ontoggle=hit=1>", "<math><mtext></form><form>",
    "[a](https://e.example/\" onmouseover=\"hit=1)", "<https://e.example/\" onmouseover=\"hit=1>", "https://e.example/\"onmouseover=\"hit=1",
    "\u202ehttps://evil.example\u202c", "{{constructor.constructor('hit=1')()}}", "${hit=1}", "\x00<script>hit=1</script>",
    "<think><script>hit=1</script>", "<think></think><img src=x onerror=hit=1>", "[__proto__](x) [constructor]: y",
]

# Markdown -> HTML that the page builds, without classes and the like.
RENDERED = {
    "a **b** *c* ~~d~~ `e`": "<p>a <strong>b</strong> <em>c</em> <del>d</del> <code>e</code></p>",
    "***x*** and __y__ and snake_case_name and 2*3*4 * 5": "<p><em><strong>x</strong></em> and <strong>y</strong> and snake_case_name and 2<em>3</em>4 * 5</p>",
    "**bold *inner* rest**": "<p><strong>bold <em>inner</em> rest</strong></p>",
    "**open": "<p>**open</p>",
    r"\*no\* \`x\` 1\.": "<p>*no* `x` 1.</p>",
    "``a ` b`` `*x*`": "<p><code>a ` b</code> <code>*x*</code></p>",
    "a  \nb<br>c\\\nd": "<p>a<br>b<br>c<br>d</p>",
    "## Two ##\n### C# rocks": "<h4>Two</h4><h5>C# rocks</h5>",
    "- a\n- b\n  - c\n\n    text\n- d": "<ul><li>a</li><li>b<ul><li><p>c</p><p>text</p></li></ul></li><li>d</li></ul>",
    "3. x\n4. y": "<ol start=3><li>x</li><li>y</li></ol>",
    "1. a\n\n   ```c\n   int x;\n   ```\n2. b": "<ol><li>a<pre>int x;</pre></li><li>b</li></ol>",
    "> q\n> - r\n\nend": "<blockquote><p>q</p><ul><li>r</li></ul></blockquote><p>end</p>",
    "text\n---\nmore": "<p>text</p><hr><p>more</p>",
    "| a | b |\n|:--|--:|\n| `x|y` | \\| |\n| 1 |": "<table><tr><th>a</th><th>b</th></tr><tr><td><code>x|y</code></td><td>|</td></tr>"
                                                  "<tr><td>1</td><td></td></tr></table>",
    "~~~\nopen\n\ncode": "<pre>open\n\ncode</pre>",
    "In 1999\n2. not a list": "<p>In 1999\n2. not a list</p>",
    "see https://e.example/a_(b)_c, or <https://e.example/> or <me@e.example>.":
        "<p>see <a href=https://e.example/a_(b)_c>https://e.example/a_(b)_c</a>, or <a href=https://e.example/>https://e.example/</a> or "
        "<a href=mailto:me@e.example>me@e.example</a>.</p>",
    "[**b** `c`](https://e.example/x_(y) \"title\") ![img](https://e.example/i.png)":
        "<p><a href=https://e.example/x_(y)><strong>b</strong> <code>c</code></a> <a href=https://e.example/i.png>!img</a></p>".replace("!", ""),
}

# A plain rendering of the elements that the page has built.
SHOW = """(() => {
    const keep = new Set(["P","H3","H4","H5","H6","UL","OL","LI","STRONG","EM","DEL","BLOCKQUOTE","TABLE","TR","TH","TD","A","PRE"]);
    const show = (node) => {
        if (node.nodeType === 3) return node.data;
        const inner = [...node.childNodes].map(show).join("");
        const name = node.tagName.toLowerCase();
        if (node.className === "code-top") return "";
        if (name === "br" || name === "hr") return `<${name}>`;
        if (name === "code" && node.parentNode.tagName !== "PRE") return `<code>${inner}</code>`;
        if (!keep.has(node.tagName)) return inner;
        const more = name === "a" ? ` href=${node.getAttribute("href")}` : name === "ol" && node.start !== 1 ? ` start=${node.start}` : "";
        return `<${name}${more}>${inner}</${name}>`;
    };
    return [...document.querySelector("#probe").childNodes].map(show).join("");
})()"""


def render(page, text):
    page.run(f"""(() => {{
        document.querySelector("#probe")?.remove();
        const probe = document.createElement("div");
        probe.id = "probe";
        document.body.append(probe);
        new MarkdownView(probe).update({json.dumps(text)});
    }})()""")
    return page.run(SHOW)


def test_markdown(page, mock):
    open_chat(page, mock)
    for text, expected in RENDERED.items():
        shown = render(page, text)
        assert shown.replace("<br>\n", "<br>").replace("  <br>", "<br>") == expected, f"{text!r}:\n {shown}\n {expected}"


def test_attacks(page, mock):
    """Every attack through the whole page: streamed in small pieces, then shown, copied to the title and the list."""
    open_chat(page, mock)
    elements = page.run("document.querySelectorAll('body *').length")
    for i, attack in enumerate(ATTACKS):
        mock.answers[attack] = {"pieces": [attack[k:k + 3] for k in range(0, len(attack), 3)], "thinking": [attack]}
    text = "\n\n".join(["[good](https://e.example/)", *sorted(ATTACKS, key=lambda attack: "```" in attack)])
    mock.answers["all"] = {"pieces": [text[k:k + 11] for k in range(0, len(text), 11)], "calls": [
        {"index": 0, "id": "<b>", "function": {"name": "<img src=x onerror=hit=1>", "arguments": "<script>hit=1</script>"}}]}
    for attack in [*ATTACKS[::7], "all"]:
        ask(page, attack)
        page.run("startNewChat()")
    page.wait("document.querySelector('.list-row .open').innerText === 'all'")
    page.click(".list-row .open")
    page.wait("document.querySelectorAll('.message').length === 2")
    assert elements > 0 and page.run("typeof window.hit") == "undefined"
    links = page.run("[...document.querySelectorAll('.content a')].map((a) => [a.protocol, a.host, a.rel, a.target])")
    assert links and all(protocol == "https:" and rel == "noopener noreferrer nofollow" and target == "_blank"
                         for protocol, _, rel, target in links), links
    bad = page.run("""[...document.querySelectorAll('.content *')].filter((n) => /^(script|img|iframe|object|style|form|base|meta|math|svg)$/i.test(n.localName)
        && !n.closest('button') || [...n.attributes].some((a) => /^on/i.test(a.name) || a.name === 'style')).map((n) => n.outerHTML)""")
    assert bad == [], bad
    requested = [e["params"]["request"]["url"] for e in page.browser.events
                 if e["method"] == "Network.requestWillBeSent" and e.get("sessionId") == page.session]
    assert all(url.startswith((mock.url, "data:image/svg")) for url in requested), requested


def test_each_attack_leaves_only_known_elements(page, mock):
    open_chat(page, mock)
    for attack in ATTACKS:
        render(page, attack)
        names = page.run("[...new Set([...document.querySelectorAll('#probe *')].map((n) => n.localName))]")
        allowed = {"p", "a", "span", "code", "pre", "div", "button", "svg", "use", "strong", "em", "del", "table", "thead", "tbody", "tr", "th", "td",
                   "ul", "ol", "li", "input", "blockquote", "hr", "br", "h3", "h4", "h5", "h6"}
        assert set(names) <= allowed, (attack, names)
        hrefs = page.run("[...document.querySelectorAll('#probe a')].map((a) => a.protocol)")
        assert set(hrefs) <= {"https:", "http:", "mailto:"}, (attack, hrefs)
        assert page.run("document.querySelectorAll('#probe a').length") == 0 or "https://" in attack, attack
    assert page.run("typeof window.hit") == "undefined"


def test_growing_text_is_shown_as_the_whole(page, mock):
    """However a text is cut into pieces, the end result is that of the whole text."""
    open_chat(page, mock)
    random.seed(7)
    parts = [*RENDERED, *ATTACKS]
    for _ in range(6):
        text = "\n\n".join(random.sample(parts, 12))
        whole = render(page, text)
        steps = sorted(random.sample(range(len(text)), 40))
        page.run(f"""(() => {{
            const probe = document.querySelector("#probe");
            probe.replaceChildren();
            const view = new MarkdownView(probe);
            const text = {json.dumps(text)};
            for (const end of {json.dumps(steps)}) view.update(text.slice(0, end));
            view.update(text);
        }})()""")
        assert page.run(SHOW) == whole


def test_many_parts(page, mock):
    """More items, rows, cells and paragraphs than a call may have arguments."""
    open_chat(page, mock)
    n = 150000
    for text, name in (("- a\n" * n, "li"), ("> a\n>\n" * n, "p"), ("|a|\n|-|\n" + "|b|\n" * n, "td"),
                       ("|a" * n + "|\n" + "|-" * n + "|\n", "th"), ("a\n\n" * n, "p"), ("`a` " * 12000, "code")):
        found = page.run(f"""(() => {{
            const holder = document.createElement("div");
            new MarkdownView(holder).update({json.dumps(text)});
            return holder.querySelectorAll("{name}").length;
        }})()""")
        assert found == (12000 if name == "code" else n), (name, found)


def test_long_input_costs_linear_work(page, mock):
    """Texts of 100,000 characters on which a quadratic parser does not return within the time limit of a call."""
    open_chat(page, mock)
    pieces = ["*a ", "**a ", "_a ", "[", "](", "[a](", "`", "`` ` ", "<", "> ", "- ", "  - a\n", "|", "|-", "# ", "![", "~~a ", "***a*", "\\", "https://a",
              "- a\n\n", "1. a\n", "```\n", " ", "\n", "\t", "a  \n", "<https://", "* * ", "> - 1. ", "<br>", "--- ", "# a #"]
    for piece in pieces:
        text = piece * (100000 // len(piece))
        for variant in (text, "x" + text + "x", text.replace(" ", "") + " x`"):
            page.run(f"""(() => {{
                const holder = document.createElement("div");
                new MarkdownView(holder).update({json.dumps(variant)});
            }})()""")


if __name__ == "__main__":
    run_tests(globals())
