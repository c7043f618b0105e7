// message_view.js - one message on screen.

const roleName = (role) => t({ user: "you", assistant: "assistant", tool: "toolResult" }[role] ?? "system");

class MessageView {
  constructor(node) {
    this.node = node;
    this.content = el("div", { className: "content" });
    this.markdown = node.role === "assistant" ? new MarkdownView(this.content) : null;
    this.thinking = el("p", { dir: "auto" });
    this.thinkingSummary = el("summary");
    this.thinkingBox = el("details", { className: "fold", hidden: true }, this.thinkingSummary, this.thinking);
    this.calls = el("div", { className: "calls" });
    this.problem = el("div", { className: "problem", role: "alert", hidden: true });
    this.footer = el("div", { className: "message-footer" });
    this.element = el("article", { className: `message ${node.role}` },
      el("h2", { className: "unseen" }, roleName(node.role)), ...this.body(), this.footer);
    this.update();
    this.announced = this.markdown?.completeBlocks ?? 0; // an older answer is not read again
  }

  body() {
    if (this.node.role === "assistant") return [this.thinkingBox, this.content, this.calls, this.problem];
    if (this.node.role !== "tool") return [this.content];
    return [el("details", { className: "fold" }, el("summary", {}, icon("tool"), t("toolResult")), this.content)];
  }

  update() {
    const { text, thinking } = splitThinking(this.node);
    if (this.markdown) this.markdown.update(text);
    else this.showPlain(text);
    this.updateThinking(thinking, text);
    this.updateCalls();
    this.updateProblem();
    const isEmpty = text === "" && thinking === "" && this.node.calls.length === 0;
    this.element.classList.toggle("waiting", isRunning(this.node) && isEmpty);
  }

  showPlain(text) {
    this.content.replaceChildren();
    for (const part of text.split(/\n{2,}/)) this.content.append(el("p", { dir: "auto" }, part));
  }

  updateThinking(thinking, text) {
    this.thinkingBox.hidden = thinking === "";
    if (thinking === "") return;
    this.thinking.textContent = thinking;
    this.thinkingSummary.textContent = t(isRunning(this.node) && text === "" ? "thinking" : "thought");
  }

  updateCalls() {
    this.node.calls.forEach((call, i) => {
      const box = this.calls.children[i] ?? this.calls.appendChild(callElement());
      box.querySelector("span").textContent = t("called", { name: call.name });
      box.querySelector("code").textContent = prettyJson(call.arguments);
    });
  }

  updateProblem() {
    const { error } = this.node;
    this.problem.hidden = !error;
    if (!error || this.problem.dataset.shown === error.message) return;
    this.problem.dataset.shown = error.message;
    const lines = [el("p", {}, error.message)];
    if (error.param) lines.push(el("p", { className: "param" }, t("errorParam", { param: error.param })));
    if (error.retryAfter) lines.push(el("p", {}, t("retryAfter", { seconds: error.retryAfter })));
    const again = el("button", { type: "button", className: "button", onclick: () => regenerate(this.node) }, t("tryAgain"));
    const key = error.status === 401 ? [enterKeyButton()] : [];
    this.problem.replaceChildren(...lines, el("div", { className: "actions" }, ...key, again));
  }

  // Reads finished paragraphs to a screen reader while the answer is streaming, the rest at its end.
  announceProgress(isEnd) {
    const blocks = [...this.content.children];
    const ready = isEnd ? blocks.length : this.markdown.completeBlocks;
    for (const block of blocks.slice(this.announced, ready)) announce(block.textContent.slice(0, 2000));
    this.announced = Math.max(this.announced, ready);
  }
}

function callElement() {
  return el("details", { className: "fold" },
    el("summary", {}, icon("tool"), el("span")), el("pre", { tabIndex: 0, dir: "ltr" }, el("code")));
}

function prettyJson(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text; // still being written
  }
}

// Some models write their thinking into the answer; it is folded as well.
function splitThinking(node) {
  const found = node.role === "assistant" ? /^\s*<think>([\s\S]*?)(?:<\/think>|$)/.exec(node.text) : null;
  if (!found) return { text: node.text, thinking: node.thinking };
  return { text: node.text.slice(found[0].length).trimStart(), thinking: node.thinking + found[1].trim() };
}

// ---- The line below a message: branches, buttons, figures

function showFooter(view, isLast) {
  const { node } = view;
  const parts = [...branchButtons(node)];
  if (!isRunning(node)) parts.push(...messageButtons(node, isLast));
  const figures = statsText(node);
  if (figures) parts.push(el("span", { className: "figures" }, figures));
  view.footer.replaceChildren(...parts);
  showToolForm(view, isLast);
}

function branchButtons(node) {
  const { children } = chat.conversation.nodes[node.parent];
  if (children.length < 2) return [];
  const at = children.indexOf(node.id);
  const left = iconButton("left", t("previousVersion"), () => switchBranch(node, -1));
  const right = iconButton("right", t("nextVersion"), () => switchBranch(node, 1));
  left.disabled = at === 0;
  right.disabled = at === children.length - 1;
  return [el("span", { className: "branches", role: "group", "aria-label": t("versions") }, left,
    el("span", {}, `${at + 1} / ${children.length}`), right)];
}

function messageButtons(node, isLast) {
  const buttons = [];
  const copy = iconButton("copy", t("copy"), () => copyText(splitThinking(node).text, copy));
  if (node.text !== "") buttons.push(copy);
  if (node.role !== "tool") buttons.push(iconButton("edit", t("edit"), () => startEdit(node)));
  if (node.role === "assistant") {
    buttons.push(iconButton("again", t("regenerate"), () => regenerate(node)));
    if (isLast && node.text !== "" && node.calls.length === 0)
      buttons.push(iconButton("more", t("continueAnswer"), () => continueAnswer(node)));
  }
  for (const button of buttons) button.disabled = chat.running !== null && button !== copy;
  return buttons;
}

function statsText(node) {
  const { stats } = node;
  if (!stats) return node.finish === "stopped" ? t("stopped") : "";
  const parts = [];
  if (stats.rate) parts.push(t("tokensPerSecond", { rate: formatNumber(stats.rate, 1) }));
  if (stats.firstToken) parts.push(t("firstToken", { seconds: formatNumber(stats.firstToken, 2) }));
  if (stats.completion > 1) parts.push(t("tokens", { count: formatNumber(stats.completion) }));
  if (node.finish === "length") parts.push(t("lengthReached"));
  if (node.finish === "stopped") parts.push(t("stopped"));
  return parts.join(" · ");
}

// When an answer ends with calls, the user types what the tools return.
function showToolForm(view, isLast) {
  view.element.querySelector(".tool-form")?.remove();
  const { node } = view;
  if (!isLast || node.calls.length === 0 || isRunning(node)) return;
  const fields = node.calls.map((call, i) =>
    field(`result-${node.id}-${i}`, t("resultOf", { name: call.name }), el("textarea", { rows: 2, dir: "auto" })));
  const submit = (event) => {
    event.preventDefault();
    sendToolResults(node, fields.map((one) => one.querySelector("textarea").value));
  };
  view.element.append(el("form", { className: "tool-form", onsubmit: submit }, ...fields,
    el("button", { className: "button primary" }, t("sendResults"))));
}

// ---- Editing

function startEdit(node) {
  const view = chat.views.get(node.id);
  const area = el("textarea", { value: node.text, dir: "auto", className: "edit-box", "aria-label": t("edit") });
  const close = () => {
    form.replaceWith(view.content);
    view.footer.hidden = false;
    view.footer.querySelector("button")?.focus();
  };
  const submit = (event) => {
    event?.preventDefault();
    close();
    finishEdit(node, area.value);
  };
  const form = el("form", { className: "edit", onsubmit: submit }, area, el("div", { className: "actions" },
    el("button", { type: "button", className: "button", onclick: close }, t("cancel")),
    el("button", { className: "button primary" }, t(node.role === "user" ? "saveAndSend" : "save"))));
  form.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      close();
    } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event);
  });
  view.content.replaceWith(form);
  view.footer.hidden = true;
  fitHeight(area);
  area.addEventListener("input", () => fitHeight(area));
  area.focus();
}

// Makes a text box as high as its text, up to the limit of the style sheet.
function fitHeight(area) {
  area.style.height = "auto";
  area.style.height = `${area.scrollHeight + 2}px`;
}
