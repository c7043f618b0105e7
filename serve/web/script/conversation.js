// conversation.js - a conversation is a tree of messages. Editing a message or asking for another
// answer adds a sibling; `pick` of the parent says which child is on screen.
//
//   conversation {id, title, isNamed, created, updated, settings, nodes: {id: node}}
//   node {id, parent, role, text, thinking, calls: [{id, name, arguments}], callId, children: [id],
//         pick, stats, error, finish}                                   the root has no role

const ROOT = "root";

function newId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (b) => b.toString(16).padStart(2, "0")).join("");
}

function newConversation(settings) {
  const now = Date.now();
  return {
    id: newId(), title: "", isNamed: false, created: now, updated: now, settings: structuredClone(settings),
    nodes: { [ROOT]: { id: ROOT, parent: null, children: [], pick: 0 } },
  };
}

function addNode(conversation, parent, properties) {
  const node = { id: newId(), parent, role: "user", text: "", thinking: "", calls: [], children: [], pick: 0, ...properties };
  const siblings = conversation.nodes[parent];
  conversation.nodes[node.id] = node;
  siblings.pick = siblings.children.push(node.id) - 1;
  conversation.updated = Date.now();
  nameConversation(conversation);
  return node;
}

// Nodes on screen, first to last.
function currentPath(conversation, from = ROOT) {
  const path = [];
  let node = conversation.nodes[from];
  while (node.children.length > 0) {
    node = conversation.nodes[node.children[node.pick]];
    path.push(node);
  }
  return path;
}

// Nodes from the first message to this one.
function pathTo(conversation, id) {
  const path = [];
  for (let node = conversation.nodes[id]; node.id !== ROOT; node = conversation.nodes[node.parent]) path.unshift(node);
  return path;
}

function pickSibling(conversation, node, step) {
  const parent = conversation.nodes[node.parent];
  const wanted = parent.children.indexOf(node.id) + step;
  if (wanted < 0 || wanted >= parent.children.length) return false;
  parent.pick = wanted;
  return true;
}

const MAX_TITLE = 60;

// Until the user gives a name, it is the beginning of the first message.
function nameConversation(conversation) {
  if (conversation.isNamed) return;
  const first = currentPath(conversation).find((node) => node.role === "user");
  const line = first?.text.trim().split("\n")[0] ?? "";
  conversation.title = line.length > MAX_TITLE ? `${line.slice(0, MAX_TITLE - 1).trimEnd()}…` : line;
}

// A node as a message of the OpenAI API.
function toMessage(node) {
  const message = { role: node.role, content: node.text };
  if (node.calls.length > 0)
    message.tool_calls = node.calls.map((call) =>
      ({ id: call.id, type: "function", function: { name: call.name, arguments: call.arguments } }));
  if (node.callId) message.tool_call_id = node.callId;
  return message;
}

// What the server gets: the system prompt and the path, without answers that failed at once.
function requestMessages(conversation, path) {
  const messages = path.filter((node) => node.text !== "" || node.calls.length > 0 || node.role === "tool").map(toMessage);
  return [...systemMessage(conversation), ...messages];
}

function systemMessage(conversation) {
  const content = conversation.settings.system.trim();
  return content === "" ? [] : [{ role: "system", content }];
}
