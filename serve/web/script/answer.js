// answer.js - asks the server for an answer and shows it as it streams.

const SAVE_INTERVAL_MS = 1000;

const isRunning = (node) => chat.running?.node === node;

// Adds an answer below `parent` and lets it stream.
function startAnswer(parent) {
  const node = addNode(chat.conversation, parent, { role: "assistant" });
  showConversation();
  return runAnswer(node);
}

// The server continues a last message of the assistant.
function continueAnswer(node) {
  return runAnswer(node);
}

function runAnswer(node) {
  const now = performance.now();
  const run = {
    node, conversation: chat.conversation, abort: new AbortController(), started: now, first: 0, last: now, chunks: 0,
    usage: null, saved: now, frame: 0,
  };
  chat.running = run;
  delete node.error;
  delete node.finish;
  runningChanged();
  scrollToEnd();
  run.done = streamAnswer(run);
  return run.done;
}

async function streamAnswer(run) {
  const { node } = run;
  try {
    const body = requestBody(run.conversation, node);
    for await (const chunk of streamChat(body, run.abort.signal)) applyChunk(run, chunk);
    node.finish ??= "stop";
  } catch (error) {
    failAnswer(node, error);
  }
  endAnswer(run);
}

function requestBody(conversation, node) {
  const path = pathTo(conversation, node.id);
  const body = { messages: requestMessages(conversation, path), stream: true, stream_options: { include_usage: true } };
  if (byId("model").value !== "") body.model = byId("model").value;
  return Object.assign(body, settingsParameters(conversation.settings));
}

function applyChunk(run, chunk) {
  if (chunk.usage) run.usage = chunk.usage;
  const choice = chunk.choices?.[0];
  if (!choice) return;
  const { node } = run;
  const delta = choice.delta ?? {};
  const thinking = delta.reasoning_content ?? delta.reasoning ?? "";
  if (delta.content) node.text += delta.content;
  if (thinking) node.thinking += thinking;
  for (const call of delta.tool_calls ?? []) applyCall(node, call);
  if (choice.finish_reason) node.finish = choice.finish_reason;
  if (delta.content || thinking || delta.tool_calls) countChunk(run);
}

function applyCall(node, call) {
  const at = call.index ?? node.calls.length;
  if (!Number.isInteger(at) || at < 0 || at > 100) return;
  while (node.calls.length <= at) node.calls.push({ id: "", name: "", arguments: "" });
  const known = node.calls[at];
  known.id ||= call.id ?? "";
  known.name += call.function?.name ?? "";
  known.arguments += call.function?.arguments ?? "";
}

function countChunk(run) {
  run.last = performance.now();
  run.first ||= run.last;
  run.chunks++;
  run.node.stats = figures(run);
  if (run.last - run.saved > SAVE_INTERVAL_MS) {
    run.saved = run.last;
    saveConversation(run.conversation);
  }
  run.frame ||= document.hidden ? setTimeout(() => drawAnswer(run), 200) : requestAnimationFrame(() => drawAnswer(run));
}

// Until the usage arrives, a chunk counts as a token.
function figures(run) {
  const completion = run.usage?.completion_tokens ?? run.chunks;
  const seconds = (run.last - run.first) / 1000;
  return {
    firstToken: (run.first - run.started) / 1000,
    rate: completion > 1 && seconds > 0 ? (completion - 1) / seconds : 0,
    completion,
    prompt: run.usage?.prompt_tokens ?? 0,
    cached: run.usage?.prompt_tokens_details?.cached_tokens ?? 0,
  };
}

function drawAnswer(run) {
  run.frame = 0;
  const view = chat.views.get(run.node.id);
  if (!view || chat.conversation !== run.conversation || chat.running !== run) return;
  const wasAtEnd = isAtEnd();
  view.update();
  view.announceProgress(false);
  view.footer.replaceChildren(...branchButtons(run.node), el("span", { className: "figures" }, statsText(run.node)));
  if (wasAtEnd) scrollToEnd();
}

function failAnswer(node, error) {
  if (error.name === "AbortError") {
    node.finish = "stopped";
    return;
  }
  node.error = { message: error.message, param: error.param ?? "", status: error.status ?? 0, retryAfter: error.retryAfter ?? 0 };
}

function endAnswer(run) {
  if (run.first > 0) run.node.stats = figures(run);
  chat.running = null;
  saveConversation(run.conversation).then(() => showList());
  runningChanged();
  if (selectedModel()?.context === 0) loadModels(); // the server knows it since the model is open
  showFooters();
  if (chat.conversation !== run.conversation) return;
  const view = chat.views.get(run.node.id);
  const wasAtEnd = isAtEnd();
  view?.update();
  view?.announceProgress(true);
  if (!run.node.error) announce(t(run.node.finish === "stopped" ? "stopped" : "answerComplete"));
  if (wasAtEnd) scrollToEnd();
}

function stopAnswer() {
  chat.running?.abort.abort();
}

// ---- What the user does with messages

function sendMessage(text) {
  if (chat.running || text.trim() === "") return false;
  const path = currentPath(chat.conversation);
  const parent = addNode(chat.conversation, path.at(-1)?.id ?? ROOT, { role: "user", text });
  startAnswer(parent.id);
  saveConversation(chat.conversation).then(() => showList());
  return true;
}

function regenerate(node) {
  if (chat.running) return;
  startAnswer(node.parent);
}

// An edited message of the user gets a new answer; an edited answer stays as it is.
function finishEdit(node, text) {
  if (chat.running || text === node.text) return;
  const sibling = addNode(chat.conversation, node.parent, { role: node.role, text });
  if (node.role === "user") {
    startAnswer(sibling.id);
    return;
  }
  sibling.calls = node.calls;
  saveConversation(chat.conversation);
  showConversation();
}

function switchBranch(node, step) {
  if (!pickSibling(chat.conversation, node, step)) return;
  saveConversation(chat.conversation);
  showConversation();
  const parent = chat.conversation.nodes[node.parent];
  const shown = chat.views.get(parent.children[parent.pick]);
  shown.element.scrollIntoView({ block: "nearest" });
  const buttons = shown.footer.querySelectorAll(".branches button:not(:disabled)");
  buttons[step < 0 ? 0 : buttons.length - 1]?.focus();
}

function sendToolResults(node, results) {
  if (chat.running) return;
  let parent = node.id;
  node.calls.forEach((call, i) => {
    parent = addNode(chat.conversation, parent, { role: "tool", text: results[i], callId: call.id }).id;
  });
  startAnswer(parent);
}
