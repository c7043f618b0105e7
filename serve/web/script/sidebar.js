// sidebar.js - the list of conversations.

const DAY_MS = 24 * 60 * 60 * 1000;

let listTurn = 0; // of the latest call of showList(); earlier ones that end later are dropped

async function showList() {
  const turn = ++listTurn;
  const search = byId("search").value;
  const list = await listConversations(search);
  if (turn !== listTurn || byId("list").querySelector("input")) return; // a name is being edited
  const focused = document.activeElement?.closest?.(".list-row")?.dataset.id;
  byId("list").replaceChildren(...groups(list));
  if (list.length === 0) byId("list").append(el("p", { className: "hint" }, t(search === "" ? "noChats" : "noMatches")));
  if (focused) byId("list").querySelector(`[data-id="${CSS.escape(focused)}"] button`)?.focus();
}

// Conversations under "today", "last 7 days" and "older".
function groups(list) {
  const today = new Date().setHours(0, 0, 0, 0);
  const age = (one) => (one.updated >= today ? "today" : one.updated >= today - 7 * DAY_MS ? "lastWeek" : "older");
  const parts = [];
  for (const name of ["today", "lastWeek", "older"]) {
    const rows = list.filter((one) => age(one) === name);
    if (rows.length > 0)
      parts.push(el("h2", { className: "group" }, t(name)), el("ul", {}, ...rows.map(listRow)));
  }
  return parts;
}

function listRow(one) {
  const isCurrent = one.id === chat.conversation.id;
  const title = one.title || t("untitled");
  const open = el("button", { type: "button", className: "open", onclick: () => openConversation(one.id) },
    el("span", { dir: "auto" }, title));
  if (isCurrent) open.setAttribute("aria-current", "true");
  const row = el("li", { className: "list-row" }, open,
    iconButton("edit", t("renameChat", { title }), () => startRename(row, one)),
    iconButton("trash", t("deleteChat", { title }), () => removeConversation(one)));
  row.dataset.id = one.id;
  return row;
}

function startRename(row, one) {
  const input = el("input", { value: one.title, "aria-label": t("name"), maxLength: 200, dir: "auto" });
  let ended = false; // removing the box takes its focus, which ends the editing as well
  const end = async (keep) => {
    if (ended) return;
    ended = true;
    input.remove();
    if (keep && input.value.trim() !== "") await renameConversation(one.id, input.value.trim());
    await showList();
    byId("list").querySelector(`[data-id="${CSS.escape(one.id)}"] button`)?.focus();
  };
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") end(true);
    if (event.key === "Escape") end(false);
    event.stopPropagation();
  });
  input.addEventListener("blur", () => end(true));
  row.replaceChildren(input);
  input.select();
}

async function renameConversation(id, title) {
  const conversation = await conversationById(id);
  if (!conversation) return;
  Object.assign(conversation, { title, isNamed: true });
  await saveConversation(conversation);
  showTitle();
}

async function removeConversation(one) {
  if (!(await confirmDelete(t("confirmDelete", { title: one.title || t("untitled") })))) return;
  if (chat.running?.conversation.id === one.id) {
    stopAnswer();
    await chat.running.done;
  }
  await deleteConversation(one.id);
  if (chat.conversation.id === one.id) startNewChat();
  else showList();
}

// ---- Showing and hiding: always there on wide windows, over the page on narrow ones

const isNarrow = () => matchMedia("(max-width: 860px)").matches;

function setSidebar(open) {
  document.body.classList.toggle("sidebar-open", open && isNarrow());
  document.body.classList.toggle("sidebar-closed", !open && !isNarrow());
  const hidden = !open;
  byId("sidebar").inert = hidden;
  byId("main").inert = open && isNarrow();
  byId("open-sidebar").setAttribute("aria-expanded", String(open));
  if (!isNarrow()) writeStored("localStorage", "quire.sidebar", open ? "" : "closed");
}

const isSidebarOpen = () => !byId("sidebar").inert;

function toggleSidebar() {
  setSidebar(!isSidebarOpen());
  if (isNarrow()) (isSidebarOpen() ? byId("new-chat") : byId("open-sidebar")).focus();
}

function fitSidebar() {
  setSidebar(!isNarrow() && readStored("localStorage", "quire.sidebar") !== "closed");
}
