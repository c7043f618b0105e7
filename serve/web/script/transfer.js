// transfer.js - conversations to files and back. A file holds messages as the OpenAI API has them:
// {title, settings, messages, branches}; `branches` are the other paths of the tree from its root.

const MAX_IMPORT_BYTES = 64 << 20;
const ROLES = ["system", "user", "assistant", "tool"];

function leafPaths(conversation) {
  return Object.values(conversation.nodes)
    .filter((node) => node.children.length === 0 && node.id !== ROOT)
    .map((node) => pathTo(conversation, node.id));
}

function exportConversation(conversation) {
  const current = currentPath(conversation);
  const others = leafPaths(conversation).filter((path) => path.at(-1) !== current.at(-1));
  return {
    title: conversation.title,
    created: new Date(conversation.created).toISOString(),
    settings: conversation.settings,
    messages: [...systemMessage(conversation), ...current.map(exportMessage)],
    branches: others.map((path) => path.map(exportMessage)),
  };
}

function exportMessage(node) {
  const message = toMessage(node);
  if (node.thinking) message.reasoning_content = node.thinking;
  return message;
}

function exportMarkdown(conversation) {
  const parts = [`# ${conversation.title}`];
  if (conversation.settings.system.trim() !== "") parts.push(`> ${conversation.settings.system.trim().replaceAll("\n", "\n> ")}`);
  for (const node of currentPath(conversation)) {
    parts.push(`## ${roleName(node.role)}`, node.text.trim());
    for (const call of node.calls) parts.push(`\`\`\`json\n${call.name}(${call.arguments})\n\`\`\``);
  }
  return `${parts.join("\n\n")}\n`;
}

function fileName(title, extension) {
  const name = title.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "").slice(0, 50).toLowerCase();
  return `${name || "chat"}.${extension}`;
}

// Reads a file: one conversation, an array of messages, or {conversations: [...]}. Throws an Error
// with a text for the user.
function importConversations(text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(t("importNotJson", { reason: error.message }));
  }
  const list = Array.isArray(value?.conversations) ? value.conversations : [value];
  if (list.length === 0) throw new Error(t("importEmpty"));
  return list.map((one, i) => importConversation(Array.isArray(one) ? { messages: one } : one,
    list.length > 1 ? `conversations[${i}].` : ""));
}

function importConversation(value, place) {
  if (!Array.isArray(value?.messages) || value.messages.length === 0)
    throw new Error(t("importNoMessages", { place: `${place}messages` }));
  const conversation = newConversation(cleanSettings(value.settings));
  const branches = Array.isArray(value.branches) ? value.branches : [];
  branches.forEach((branch, i) => importPath(conversation, branch, `${place}branches[${i}]`));
  importPath(conversation, value.messages, `${place}messages`);
  if (typeof value.title === "string" && value.title.trim() !== "") {
    conversation.title = value.title.slice(0, 200);
    conversation.isNamed = true;
  }
  return conversation;
}

// Adds messages below the root, along nodes that are there already.
function importPath(conversation, messages, place) {
  if (!Array.isArray(messages)) throw new Error(t("importNoMessages", { place }));
  let parent = ROOT;
  messages.forEach((message, i) => {
    const node = importMessage(message, `${place}[${i}]`);
    if (node.role === "system" && parent === ROOT) {
      conversation.settings.system = node.text;
      return;
    }
    const { children } = conversation.nodes[parent];
    const same = children.findIndex((id) => isSame(conversation.nodes[id], node));
    if (same >= 0) conversation.nodes[parent].pick = same;
    parent = same >= 0 ? children[same] : addNode(conversation, parent, node).id;
  });
}

function isSame(a, b) {
  return a.role === b.role && a.text === b.text && a.thinking === b.thinking && a.callId === b.callId &&
    JSON.stringify(a.calls) === JSON.stringify(b.calls);
}

function importMessage(message, place) {
  const role = message?.role === "developer" ? "system" : message?.role;
  if (!ROLES.includes(role)) throw new Error(t("importBadRole", { place }));
  return {
    role,
    text: contentText(message.content),
    thinking: typeof message.reasoning_content === "string" ? message.reasoning_content : "",
    calls: importCalls(message.tool_calls),
    callId: typeof message.tool_call_id === "string" ? message.tool_call_id : undefined,
  };
}

// Content is a string or an array of parts, of which only texts are kept.
function contentText(content) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => (typeof part?.text === "string" ? part.text : "")).join("");
}

function importCalls(calls) {
  if (!Array.isArray(calls)) return [];
  return calls.map((call) => ({
    id: String(call?.id ?? ""), name: String(call?.function?.name ?? ""), arguments: String(call?.function?.arguments ?? ""),
  }));
}
