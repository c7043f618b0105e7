// markdown.js - shows Markdown that grows. Only blocks whose source has changed are built again.

const MAX_HEADING = 6;

class MarkdownView {
  constructor(element) {
    this.element = element;
    this.blocks = [];
  }

  // Shows a text. Call it again with a longer one while an answer is streaming.
  update(text) {
    const blocks = parseBlocks(text);
    let same = 0;
    while (same < blocks.length && same < this.blocks.length && this.blocks[same].raw === blocks[same].raw &&
           this.blocks[same].closed === blocks[same].closed)
      same++;
    if (!this.extendCode(blocks, same)) {
      while (this.element.childNodes.length > same) this.element.lastChild.remove();
      for (const block of blocks.slice(same)) this.element.append(renderBlock(block));
    }
    this.blocks = blocks;
  }

  // A code block that is being written keeps its element, and with it the reader's selection.
  extendCode(blocks, at) {
    const old = this.blocks[at];
    const block = blocks[at];
    if (at !== blocks.length - 1 || at !== this.blocks.length - 1 || old.type !== "code" || block.type !== "code" ||
        block.closed || old.language !== block.language || !block.text.startsWith(old.text))
      return false;
    const code = this.element.lastChild.querySelector("code");
    code.append(block.text.slice(old.text.length));
    return true;
  }

  // Number of blocks that are complete: all but the last.
  get completeBlocks() {
    return Math.max(0, this.blocks.length - 1);
  }
}

function renderBlock(block) {
  switch (block.type) {
  case "code": return renderCode(block);
  case "heading": return withInline(el(`h${Math.min(block.level + 2, MAX_HEADING)}`), block.text);
  case "rule": return el("hr");
  case "quote": return el("blockquote", { dir: "auto" }, block.blocks.map(renderBlock));
  case "list": return renderList(block);
  case "table": return renderTable(block);
  default: return withInline(el("p"), block.text);
  }
}

// The direction is set last: while an element has dir=auto, each child that is added costs a look at all.
function withInline(node, text) {
  renderInline(node, text);
  node.dir = "auto";
  return node;
}

function renderCode(block) {
  const code = el("code");
  if (block.closed) highlightCode(code, block.text, block.language);
  else code.append(block.text);
  const copy = iconButton("copy", t("copyCode"), () => copyText(code.textContent, copy));
  return el("div", { className: "code-block" },
    el("div", { className: "code-top" }, el("span", {}, block.language.slice(0, 30)), copy),
    el("pre", { tabIndex: 0, dir: "ltr" }, code));
}

function renderList(block) {
  const list = el(block.ordered ? "ol" : "ul", { dir: "auto" }, block.items.map(renderItem));
  if (block.ordered && block.start !== 1) list.start = block.start;
  return list;
}

// The direction is that of the list, which decides the side of its marks too: dir=auto of a list skips
// elements with a direction of their own. The only paragraph of an item is shown without the space around paragraphs.
function renderItem(item) {
  const node = el("li");
  if (item.checked !== null) {
    const box = el("input", { type: "checkbox", checked: item.checked, disabled: true });
    box.setAttribute("aria-label", t(item.checked ? "done" : "notDone"));
    node.className = "task";
    node.append(box);
  }
  const paragraphs = item.blocks.filter((block) => block.type === "paragraph").length;
  for (const block of item.blocks) {
    if (block.type === "paragraph" && paragraphs === 1) renderInline(node, block.text);
    else node.append(renderBlock(block));
  }
  return node;
}

function renderTable(block) {
  const row = (cells, tag) =>
    el("tr", {}, block.align.map((align, i) =>
      withInline(el(tag, { className: `align-${align}`, scope: tag === "th" ? "col" : undefined }),
        cells[i] ?? "")));
  const table = el("table", {},
    el("thead", {}, row(block.rows[0], "th")),
    el("tbody", {}, block.rows.slice(1).map((cells) => row(cells, "td"))));
  return el("div", { className: "table-scroll", tabIndex: 0, role: "group", "aria-label": t("table") }, table);
}
