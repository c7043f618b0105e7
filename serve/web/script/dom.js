// dom.js - builds elements. Text always goes through textContent: nothing here parses HTML.

const byId = (id) => document.getElementById(id);

// An element with properties and children: nodes, strings, or arrays of them, which may be longer than
// a list of arguments. Names with a dash and `role` are set as attributes, `on...` as listeners.
function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const child of children.flat()) node.append(child); // before dir=auto, see withInline()
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name.includes("-") || name === "role") node.setAttribute(name, value);
    else node[name] = value;
  }
  return node;
}

const SVG = "http://www.w3.org/2000/svg";

function svgEl(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function icon(name) {
  return svgEl("svg", { "aria-hidden": "true" }, svgEl("use", { href: `#i-${name}` }));
}

function setLabel(node, text) {
  node.setAttribute("aria-label", text);
  if (node.matches("button, a")) node.title = text;
}

function iconButton(name, label, onclick) {
  const button = el("button", { type: "button", className: "icon-button", onclick }, icon(name));
  setLabel(button, label);
  return button;
}

// Tells a screen reader, after what it is saying.
function announce(text) {
  const live = byId("live");
  if (live.childElementCount > 20) live.firstElementChild.remove();
  live.append(el("p", {}, text));
}

// A line above the message box, until it is closed or replaced.
function showNotice(text) {
  const notice = byId("notice");
  notice.replaceChildren(el("span", {}, text), iconButton("close", t("close"), hideNotice));
  notice.hidden = false;
}

function hideNotice() {
  byId("notice").hidden = true;
}

async function copyText(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyBySelection(text); // pages over plain HTTP have no clipboard
  }
  announce(t("copied"));
  if (!button) return;
  const old = button.querySelector("svg");
  const done = icon("check");
  old.replaceWith(done);
  setTimeout(() => done.replaceWith(old), 1500);
}

function copyBySelection(text) {
  const area = el("textarea", { value: text, className: "unseen" });
  const focused = document.activeElement;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
  focused?.focus();
}

function download(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

// Asks before something is deleted.
function confirmDelete(text) {
  const dialog = byId("confirm");
  byId("confirm-text").textContent = text;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) =>
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true }));
}

// "auto", "light" or "dark"; both pages follow it.
function applyTheme(theme) {
  document.documentElement.style.colorScheme = theme === "light" || theme === "dark" ? theme : "light dark";
}
