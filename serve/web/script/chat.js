// chat.js - the chat page: what is on screen, and its start.

const chat = {
  conversation: null,
  views: new Map(), // node id -> MessageView of the messages on screen
  running: null, // the answer that is streaming; see answer.js
  models: [],
};

// ---- The conversation on screen

function showConversation() {
  const path = currentPath(chat.conversation);
  const old = chat.views;
  chat.views = new Map(path.map((node) => [node.id, reusableView(old, node) ?? new MessageView(node)]));
  byId("messages").replaceChildren(...[...chat.views.values()].map((view) => view.element));
  byId("empty").hidden = path.length > 0;
  showFooters();
  showTitle();
}

function reusableView(views, node) {
  const view = views.get(node.id);
  return view?.node === node ? view : undefined;
}

function showFooters() {
  const views = [...chat.views.values()];
  views.forEach((view, i) => showFooter(view, i === views.length - 1));
  showContextUse();
}

function showTitle() {
  const title = chat.conversation.title || t("newChat");
  byId("title").textContent = title;
  document.title = `${title} · quire`;
}

// Tokens of the last answer's prompt and text against the context of the model.
function showContextUse() {
  const stats = currentPath(chat.conversation).findLast((node) => node.stats?.prompt)?.stats;
  byId("meter").hidden = !stats;
  if (!stats) return;
  const used = stats.prompt + stats.completion;
  const context = selectedModel()?.context ?? 0;
  const bar = byId("context-bar");
  bar.hidden = context === 0;
  bar.setAttribute("aria-valuemax", context || used);
  bar.setAttribute("aria-valuenow", used);
  byId("context-fill").style.width = context ? `${Math.min(100, (100 * used) / context)}%` : "0";
  bar.classList.toggle("full", context > 0 && used > 0.9 * context);
  byId("context-text").textContent = t(context ? "contextOf" : "tokens",
    { count: formatNumber(used), used: formatNumber(used), context: formatNumber(context) });
}

// A running answer's conversation is the one in memory: the stored one is older.
async function conversationById(id) {
  for (const one of [chat.conversation, chat.running?.conversation]) if (one?.id === id) return one;
  return loadConversation(id);
}

async function openConversation(id) {
  const conversation = await conversationById(id);
  if (!conversation) return;
  showOther(conversation);
}

function startNewChat() {
  showOther(newConversation(readDefaultSettings()));
}

function showOther(conversation) {
  chat.conversation = conversation;
  writeStored("sessionStorage", "quire.open", conversation.id);
  showConversation();
  showList();
  scrollToEnd();
  if (isNarrow()) setSidebar(false);
  byId("input").focus({ preventScroll: true });
}

async function onChangedElsewhere(id) {
  showList();
  if (id !== chat.conversation.id || chat.running || document.querySelector(".edit, .tool-form")) return;
  const stored = await loadConversation(id);
  if (!stored) return;
  chat.conversation = stored;
  showConversation();
}

// ---- Scrolling

const NEAR_END_PX = 60;

function isAtEnd() {
  const { scrollHeight, scrollTop, clientHeight } = byId("scroll");
  return scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
}

function scrollToEnd() {
  const area = byId("scroll");
  area.scrollTop = area.scrollHeight;
}

// ---- Models

const selectedModel = () => chat.models.find((model) => model.id === byId("model").value);

async function loadModels() {
  try {
    chat.models = await listModels();
  } catch (error) {
    showModelProblem(error);
    return;
  }
  hideNotice();
  const select = byId("model");
  const wanted = readStored("localStorage", "quire.model");
  select.replaceChildren(...chat.models.map((model) => el("option", { value: model.id }, model.id)));
  if (chat.models.some((model) => model.id === wanted)) select.value = wanted;
  showContextUse();
}

function showModelProblem(error) {
  showNotice(error.status === 401 ? t("keyNeeded") : t("noModels", { reason: error.message }));
  if (error.status === 401) byId("notice").prepend(enterKeyButton());
}

// ---- Files

function exportCurrentJson() {
  const text = JSON.stringify(exportConversation(chat.conversation), null, 2);
  download(fileName(chat.conversation.title, "json"), "application/json", text);
}

function exportCurrentMarkdown() {
  download(fileName(chat.conversation.title, "md"), "text/markdown", exportMarkdown(chat.conversation));
}

async function exportAll() {
  const conversations = [];
  await eachConversation((one) => conversations.push(exportConversation(one)));
  download("quire-chats.json", "application/json", JSON.stringify({ conversations }, null, 2));
}

async function importFile(file) {
  byId("settings").close();
  try {
    if (file.size > MAX_IMPORT_BYTES) throw new Error(t("importTooLarge"));
    const imported = importConversations(await file.text());
    for (const conversation of imported) if (!(await saveConversation(conversation))) return;
    showOther(imported.at(-1));
    showNotice(t("imported", { count: imported.length }));
  } catch (error) {
    showNotice(t("importFailed", { reason: error.message }));
  }
}

async function deleteAll() {
  if (!(await confirmDelete(t("confirmDeleteAll")))) return;
  byId("settings").close();
  stopAnswer();
  await chat.running?.done;
  await deleteAllConversations();
  startNewChat();
}

// ---- The message box

function runningChanged() {
  const running = chat.running !== null;
  byId("send").hidden = running;
  byId("stop").hidden = !running;
  if (running) {
    chat.views.get(chat.running.node.id)?.update();
    showFooters();
  }
}

function submitMessage() {
  const input = byId("input");
  if (!sendMessage(input.value)) return;
  input.value = "";
  writeStored("sessionStorage", "quire.draft", "");
  fitHeight(input);
}

function startComposer() {
  const input = byId("input");
  input.value = readStored("sessionStorage", "quire.draft") ?? "";
  byId("composer").addEventListener("submit", (event) => {
    event.preventDefault();
    submitMessage();
  });
  input.addEventListener("input", () => {
    fitHeight(input);
    writeStored("sessionStorage", "quire.draft", input.value);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return; // an input method's Enter picks a word
    event.preventDefault();
    submitMessage();
  });
  byId("stop").addEventListener("click", () => {
    stopAnswer();
    input.focus();
  });
  fitHeight(input);
}

function startButtons() {
  const clicks = {
    "new-chat": startNewChat, "open-sidebar": toggleSidebar, "close-sidebar": toggleSidebar, scrim: toggleSidebar,
    "open-settings": () => openSettings(), "open-shortcuts": openShortcuts, jump: scrollToEnd,
  };
  for (const [id, act] of Object.entries(clicks)) byId(id).addEventListener("click", act);
  let searchTimer = 0;
  byId("search").addEventListener("input", () => {
    clearTimeout(searchTimer);
    searchTimer = setTimeout(showList, 150);
  });
  byId("scroll").addEventListener("scroll", () => (byId("jump").hidden = isAtEnd()), { passive: true });
  byId("model").addEventListener("change", () => {
    writeStored("localStorage", "quire.model", byId("model").value);
    showContextUse();
  });
  byId("import-file").addEventListener("change", (event) => {
    const [file] = event.target.files;
    if (file) importFile(file);
    event.target.value = "";
  });
  for (const dialog of document.querySelectorAll("dialog"))
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.addEventListener("keydown", onKey);
  matchMedia("(max-width: 860px)").addEventListener("change", fitSidebar);
  addEventListener("pagehide", () => chat.running && saveConversation(chat.running.conversation));
}

async function startChat() {
  applyTheme(readTheme());
  startLanguage();
  chat.conversation = newConversation(readDefaultSettings());
  startComposer();
  startButtons();
  fitSidebar();
  showConversation();
  document.body.classList.remove("loading");
  await openStore(onChangedElsewhere);
  const open = await loadConversation(readStored("sessionStorage", "quire.open") ?? "");
  if (open) showOther(open);
  else startNewChat();
  await loadModels();
}

startChat();
