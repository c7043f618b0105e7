// markdown_blocks.js - splits Markdown into blocks: plain objects that markdown.js turns into
// elements. Every block has `raw`, its source, by which unchanged blocks are recognized.
//
//   code {language, text, closed}, heading {level, text}, rule, quote {blocks},
//   list {ordered, start, items: [{checked, blocks}]}, table {align, rows}, paragraph {text}

const MAX_BLOCK_DEPTH = 8; // deeper quotes and lists are shown as paragraphs
const ITEM = /^( *)([-*+]|\d{1,9}[.)])( +|$)(.*)$/;
const FENCE = /^( {0,3})(`{3,}|~{3,})([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})(?: (.*))?$/;
const RULE = /^ {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$/;
const QUOTE = /^ {0,3}> ?/;

const isBlank = (line) => line.trim() === "";
const indentOf = (line) => line.length - line.trimStart().length;

function parseBlocks(text) {
  return parseLines(text.replace(/\r\n?/g, "\n").replaceAll("\t", "    ").split("\n"), 0);
}

function parseLines(lines, depth) {
  const blocks = [];
  let at = 0;
  while (at < lines.length) {
    if (isBlank(lines[at])) {
      at++;
      continue;
    }
    const block = readBlock(lines, at, depth);
    block.raw = lines.slice(at, block.end).join("\n");
    blocks.push(block);
    at = block.end;
  }
  return blocks;
}

function readBlock(lines, at, depth) {
  const line = lines[at];
  const fence = FENCE.exec(line);
  if (fence) return readFence(lines, at, fence);
  const heading = HEADING.exec(line);
  if (heading) return { type: "heading", level: heading[1].length, text: headingText(heading[2] ?? ""), end: at + 1 };
  if (RULE.test(line)) return { type: "rule", end: at + 1 };
  if (depth < MAX_BLOCK_DEPTH) {
    if (QUOTE.test(line)) return readQuote(lines, at, depth);
    if (ITEM.test(line)) return readList(lines, at, depth);
  }
  if (isTableStart(lines, at)) return readTable(lines, at);
  return readParagraph(lines, at);
}

const headingText = (text) => text.trim().replace(/ #{1,6}$/, "").trim();

// Without its closing fence, the rest of the text is code: it is still being written.
function readFence(lines, at, fence) {
  const indent = fence[1].length;
  const close = new RegExp(`^ {0,3}\\${fence[2][0]}{${fence[2].length},} *$`);
  let end = at + 1;
  while (end < lines.length && !close.test(lines[end])) end++;
  const text = lines.slice(at + 1, end).map((line) => line.slice(Math.min(indent, indentOf(line)))).join("\n");
  const closed = end < lines.length;
  return { type: "code", language: fence[3].trim().split(/\s/)[0], text, closed, end: closed ? end + 1 : end };
}

function readQuote(lines, at, depth) {
  let end = at;
  while (end < lines.length && QUOTE.test(lines[end])) end++;
  const inner = lines.slice(at, end).map((line) => line.replace(QUOTE, ""));
  return { type: "quote", blocks: parseLines(inner, depth + 1), end };
}

function readList(lines, at, depth) {
  const first = ITEM.exec(lines[at]);
  const base = first[1].length;
  const ordered = /\d/.test(first[2]);
  const block = { type: "list", ordered, start: ordered ? parseInt(first[2], 10) : 1, items: [], end: at };
  while (block.end < lines.length) {
    const item = ITEM.exec(lines[block.end]);
    if (!item || item[1].length > base + 3 || /\d/.test(item[2]) !== ordered || RULE.test(lines[block.end])) break;
    block.end = readItem(lines, block.end, item, block, depth);
    const next = skipBlank(lines, block.end);
    if (next >= lines.length || !ITEM.test(lines[next])) break;
    if (indentOf(lines[next]) < base) break;
    block.end = next;
  }
  return block;
}

function skipBlank(lines, at) {
  while (at < lines.length && isBlank(lines[at])) at++;
  return at;
}

// Reads an item with its continuation lines; returns the index after it.
function readItem(lines, at, item, block, depth) {
  const width = item[1].length + item[2].length + Math.min(item[3].length || 1, 4);
  const task = /^\[([ xX])\] /.exec(item[4]);
  const inner = [task ? item[4].slice(4) : item[4]];
  let end = at + 1;
  for (; end < lines.length; end++) {
    const line = lines[end];
    if (isBlank(line)) {
      const next = skipBlank(lines, end);
      if (next >= lines.length || indentOf(lines[next]) <= item[1].length) break;
      inner.push("");
      end = next - 1;
      continue;
    }
    const indent = indentOf(line);
    const isOther = ITEM.test(line) || FENCE.test(line) || HEADING.test(line) || QUOTE.test(line) || RULE.test(line);
    if (indent <= item[1].length + 1 && (isOther || isBlank(lines[end - 1]))) break;
    inner.push(line.slice(Math.min(indent, width)));
  }
  block.items.push({ checked: task ? task[1] !== " " : null, blocks: parseLines(inner, depth + 1) });
  return end;
}

function isTableStart(lines, at) {
  return at + 1 < lines.length && lines[at].includes("|") && lines[at + 1].includes("-") &&
    isTableRule(lines[at + 1]) && splitRow(lines[at]).length === splitRow(lines[at + 1]).length;
}

const isTableRule = (line) => splitRow(line).every((cell) => /^:?-+:?$/.test(cell));

function readTable(lines, at) {
  const align = splitRow(lines[at + 1]).map((cell) =>
    (cell.endsWith(":") ? (cell.startsWith(":") ? "center" : "end") : "start"));
  const rows = [splitRow(lines[at])];
  let end = at + 2;
  for (; end < lines.length && lines[end].includes("|"); end++)
    rows.push(splitRow(lines[end]).slice(0, align.length));
  return { type: "table", align, rows, end };
}

// Cells of a row; a bar in a code span or after a backslash belongs to the cell.
function splitRow(line) {
  const inner = line.trim().replace(/^\|/, "").replace(/([^\\]|^)\|$/, "$1");
  const { mask } = maskCode(inner);
  const cells = [];
  let from = 0;
  for (let i = mask.indexOf("|"); i >= 0; i = mask.indexOf("|", i + 1)) {
    cells.push(inner.slice(from, i).trim());
    from = i + 1;
  }
  cells.push(inner.slice(from).trim());
  return cells;
}

function readParagraph(lines, at) {
  let end = at + 1;
  while (end < lines.length && !isBlank(lines[end]) && !FENCE.test(lines[end]) && !HEADING.test(lines[end]) &&
         !RULE.test(lines[end]) && !QUOTE.test(lines[end]) && !startsList(lines[end]) && !isTableStart(lines, end))
    end++;
  return { type: "paragraph", text: lines.slice(at, end).map((line) => line.trimStart()).join("\n"), end };
}

// A number in running text does not start a list, unless it is 1.
function startsList(line) {
  const item = ITEM.exec(line);
  return item !== null && item[4] !== "" && (!/\d/.test(item[2]) || parseInt(item[2], 10) === 1);
}
