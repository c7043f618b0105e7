// markdown_inline.js - text inside a block: emphasis, code, links. Works on index ranges of one text
// so that hostile input costs linear time per level of nesting.

const MAX_INLINE_BYTES = 50000; // longer text is shown as it is
const MAX_INLINE_DEPTH = 12;
const LINK_PROTOCOLS = ["http:", "https:", "mailto:"];

// The address if it may become a link, otherwise null. Relative addresses are refused: a model knows
// nothing of this server's pages.
function safeAddress(address) {
  try {
    const url = new URL(address);
    return LINK_PROTOCOLS.includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

function linkElement(address) {
  return el("a", { href: address, title: address, rel: "noopener noreferrer nofollow", target: "_blank" });
}

// Appends the text as inline elements to parent.
function renderInline(parent, text) {
  if (text.length > MAX_INLINE_BYTES) {
    parent.append(text);
    return;
  }
  const context = { text, ...maskCode(text) };
  context.brackets = matchBrackets(context.mask);
  renderRange(context, parent, 0, text.length, 0);
}

// Finds code spans. The mask is the text with code and escaped characters replaced by NUL, so that
// searches for delimiters do not see them. codeEnd maps the start of a code span to its end.
function maskCode(text) {
  const codeEnd = new Map();
  const runs = [...text.matchAll(/`+/g)].map((m) => ({ at: m.index, size: m[0].length }));
  const last = new Map(runs.map((run) => [run.size, run.at])); // last run of each length
  let mask = "";
  let end = 0;
  for (let i = 0; i < runs.length; i++) {
    const run = runs[i];
    if (run.at < end || last.get(run.size) === run.at) continue;
    if (text[run.at - 1] === "\\") continue;
    let close = i + 1;
    while (close < runs.length && runs[close].size !== run.size) close++;
    if (close === runs.length) continue;
    mask += text.slice(end, run.at);
    end = runs[close].at + run.size;
    codeEnd.set(run.at, { end, size: run.size });
    mask += "\0".repeat(end - run.at);
    i = close;
  }
  mask += text.slice(end);
  return { mask: mask.replace(/\\[!-/:-@[-`{-~]/g, "\0\0"), codeEnd };
}

// Maps the index of every [ to that of its ].
function matchBrackets(mask) {
  const open = [];
  const close = new Map();
  for (const m of mask.matchAll(/[[\]]/g)) {
    if (m[0] === "[") open.push(m.index);
    else if (open.length > 0) close.set(open.pop(), m.index);
  }
  return close;
}

const SPECIAL = /[\\`*_~[!<\n]|https?:\/\//g;

// Renders text[start, end). A delimiter without a partner is remembered in `unmatched`: it has none
// further on either.
function renderRange(context, parent, start, end, depth) {
  const unmatched = new Set();
  let plain = start;
  let at = start;
  while (at < end) {
    SPECIAL.lastIndex = at;
    const found = SPECIAL.exec(context.text);
    if (found === null || found.index >= end) break;
    const next = depth < MAX_INLINE_DEPTH ? readSpecial(context, found.index, end, depth, unmatched) : null;
    at = found.index + 1;
    if (next === null) continue;
    parent.append(context.text.slice(plain, found.index), ...next.nodes);
    at = plain = next.end;
  }
  parent.append(context.text.slice(plain, end));
}

// What begins at this index: {nodes, end}, or null if it is plain text.
function readSpecial(context, at, end, depth, unmatched) {
  const { text, codeEnd } = context;
  switch (text[at]) {
  case "`": return codeEnd.has(at) ? readCode(text, at, codeEnd.get(at)) : null;
  case "\\": return readEscape(context, at, end);
  case "\n": return { nodes: [hardBreak(text, at) ? el("br") : "\n"], end: at + 1 };
  case "<": return readAngle(text, at, end);
  case "!": return text[at + 1] === "[" ? readLink(context, at + 1, end, depth) : null;
  case "[": return readLink(context, at, end, depth);
  case "h": return readBareAddress(text, at, end);
  default: return readEmphasis(context, at, end, depth, unmatched);
  }
}

const hardBreak = (text, at) => text.slice(at - 2, at) === "  ";

function readCode(text, at, code) {
  let inner = text.slice(at + code.size, code.end - code.size).replaceAll("\n", " ");
  if (/^ .*[^ ].* $/s.test(inner)) inner = inner.slice(1, -1);
  return { nodes: [el("code", {}, inner)], end: code.end };
}

function readEscape(context, at, end) {
  if (context.mask[at] !== "\0") {
    const isBreak = context.text[at + 1] === "\n";
    return isBreak ? { nodes: [el("br")], end: at + 2 } : null;
  }
  return { nodes: [context.text.slice(at + 1, at + 2)], end: Math.min(at + 2, end) };
}

// <https://...>, <name@host>, <br>. Other HTML stays text.
function readAngle(text, at, end) {
  const found = /^<(?:(br\s*\/?)|((?:https?:\/\/|mailto:)[^\s<>]*)|([\w.+-]+@[\w.-]+))>/i.exec(
    text.slice(at, Math.min(end, at + 2048)));
  if (found === null) return null;
  if (found[1]) return { nodes: [el("br")], end: at + found[0].length };
  const address = safeAddress(found[2] ?? `mailto:${found[3]}`);
  if (address === null) return null;
  const link = linkElement(address);
  link.textContent = found[2] ?? found[3];
  return { nodes: [link], end: at + found[0].length };
}

function readBareAddress(text, at, end) {
  if (/\w/.test(text[at - 1] ?? "")) return null;
  let shown = /^[^\s<>"`|]*/.exec(text.slice(at, Math.min(end, at + 2048)))[0];
  shown = shown.replace(/[.,:;!?'*_~]+$/, "");
  if (shown.endsWith(")") && !shown.includes("(")) shown = shown.replace(/\)+$/, "");
  const address = safeAddress(shown);
  if (address === null) return null;
  const link = linkElement(address);
  link.textContent = shown;
  return { nodes: [link], end: at + shown.length };
}

// [text](address "title"). An image becomes a link: the page loads nothing from elsewhere.
function readLink(context, at, end, depth) {
  const close = context.brackets.get(at);
  if (close === undefined || close + 1 >= end || context.text[close + 1] !== "(") return null;
  const target = /^\(\s*(?:<([^<>\n]*)>|((?:[^\s()\\]|\\.|\([^\s()]*\))*))(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)/.exec(
    context.text.slice(close + 1, Math.min(end, close + 4096)));
  if (target === null) return null;
  const address = safeAddress((target[1] ?? target[2]).replace(/\\([!-/:-@[-`{-~])/g, "$1"));
  const holder = address === null ? el("span") : linkElement(address);
  renderRange({ ...context, brackets: new Map() }, holder, at + 1, close, depth + 1);
  if (holder.textContent === "" && address !== null) holder.textContent = address;
  return { nodes: [holder], end: close + 1 + target[0].length };
}

const EMPHASIS = [["***", "em", "strong"], ["**", "strong"], ["__", "strong"], ["~~", "del"], ["*", "em"], ["_", "em"]];

function readEmphasis(context, at, end, depth, unmatched) {
  const { mask } = context;
  for (const [mark, outer, inner] of EMPHASIS) {
    if (unmatched.has(mark) || !mask.startsWith(mark, at)) continue;
    const first = at + mark.length;
    if (first >= end || /\s/.test(mask[first])) continue;
    if (mark[0] === "_" && /\w/.test(mask[at - 1] ?? "")) continue;
    const close = findClose(mask, first + 1, end, mark);
    if (close < 0) {
      unmatched.add(mark);
      continue;
    }
    const node = el(outer);
    const holder = inner ? node.appendChild(el(inner)) : node;
    renderRange(context, holder, first, close, depth + 1);
    return { nodes: [node], end: close + mark.length };
  }
  return null;
}

// Index of the closing mark, or -1. Longer runs of the same character do not close a single one.
function findClose(mask, from, end, mark) {
  const character = mark[0];
  for (let i = mask.indexOf(character, from); i >= 0 && i < end; i = mask.indexOf(character, i)) {
    let run = 1;
    while (mask[i + run] === character) run++;
    const fits = run === mark.length || (run > mark.length && mark.length > 1);
    const wordGoesOn = character === "_" && /\w/.test(mask[i + run] ?? "");
    if (fits && i + run <= end && !/\s/.test(mask[i - 1]) && !wordGoesOn) return i + run - mark.length;
    i += run;
  }
  return -1;
}
