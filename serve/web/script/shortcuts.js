// shortcuts.js - everything works from the keyboard.

// Letters are physical keys, with Alt: a layout or a screen reader takes few of them.
const SHORTCUTS = [
  { keys: "Enter", text: "send" },
  { keys: "Shift+Enter", text: "newLine" },
  { keys: "Esc", text: "stop" },
  { keys: "↑", text: "editLast" },
  { keys: "Alt+N", code: "KeyN", text: "newChat", run: () => startNewChat() },
  { keys: "Alt+K", code: "KeyK", text: "searchChats", run: () => focusSearch() },
  { keys: "Alt+B", code: "KeyB", text: "toggleSidebar", run: () => toggleSidebar() },
  { keys: "Alt+↑ / Alt+↓", text: "previousNextChat" },
  { keys: "Alt+R", code: "KeyR", text: "regenerate", run: () => withLastAnswer(regenerate) },
  { keys: "Alt+C", code: "KeyC", text: "copyAnswer", run: () => withLastAnswer((node) => copyText(splitThinking(node).text)) },
  { keys: "Alt+S", code: "KeyS", text: "settings", run: () => openSettings() },
  { keys: "?", text: "shortcuts" },
];

function withLastAnswer(act) {
  const node = currentPath(chat.conversation).findLast((one) => one.role === "assistant");
  if (node) act(node);
}

function focusSearch() {
  setSidebar(true);
  byId("search").focus();
}

function editLastMessage() {
  const node = currentPath(chat.conversation).findLast((one) => one.role === "user");
  if (node && !chat.running) startEdit(node);
}

async function openNeighbor(step) {
  const list = await listConversations(byId("search").value);
  const at = list.findIndex((one) => one.id === chat.conversation.id);
  const wanted = list[at < 0 ? 0 : at + step];
  if (wanted) await openConversation(wanted.id);
}

const isEmptyBox = (target) => target === byId("input") && target.value === "";

const isTyping = (target) => target.matches("input, textarea, select");

function onKey(event) {
  if (event.isComposing || document.querySelector("dialog[open]")) return;
  if (event.key === "Escape") escape();
  else if (event.key === "?" && !isTyping(event.target)) openShortcuts();
  else if (event.key === "ArrowUp" && !event.altKey && isEmptyBox(event.target)) editLastMessage();
  else if (event.altKey && !event.ctrlKey && !event.metaKey) runShortcut(event);
  else return;
  if (event.key.startsWith("Arrow")) event.preventDefault();
}

function escape() {
  if (document.body.classList.contains("sidebar-open")) toggleSidebar();
  else if (chat.running) stopAnswer();
  else hideNotice();
}

function runShortcut(event) {
  const found = SHORTCUTS.find((one) => one.code === event.code && one.run);
  if (found) found.run();
  else if (event.key === "ArrowUp") openNeighbor(-1);
  else if (event.key === "ArrowDown") openNeighbor(1);
  else return;
  event.preventDefault();
}

function openShortcuts() {
  byId("shortcut-list").replaceChildren(...SHORTCUTS.flatMap(({ keys, text }) => [
    el("dt", {}, ...keys.split(/(?<=[^ ])\+|( \/ )/).filter(Boolean).map((key) => (key === " / " ? " / " : el("kbd", {}, key)))),
    el("dd", {}, t(text))]));
  byId("shortcuts").showModal();
}
