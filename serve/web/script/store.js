// store.js - conversations in IndexedDB. Where the browser forbids it they live in memory, as long as
// the page.

const DATABASE = "quire";
const TABLE = "conversations";

const store = {
  database: null, // null: use `memory`
  memory: new Map(),
  channel: null, // tells other tabs what has changed
};

function promised(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

async function openStore(onChangedElsewhere) {
  try {
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(TABLE, { keyPath: "id" });
    store.database = await promised(request);
    store.database.onversionchange = () => store.database.close();
    store.channel = new BroadcastChannel(DATABASE);
    store.channel.onmessage = (event) => onChangedElsewhere(event.data);
  } catch {
    showNotice(t("noStorage"));
  }
}

function table(mode) {
  return store.database.transaction(TABLE, mode).objectStore(TABLE);
}

function changed(id) {
  store.channel?.postMessage(id);
}

// Saves a conversation. A full disk or quota is told to the user; the conversation stays on screen.
async function saveConversation(conversation) {
  if (!store.database) {
    store.memory.set(conversation.id, structuredClone(conversation));
    return true;
  }
  try {
    await promised(table("readwrite").put(conversation));
    changed(conversation.id);
    return true;
  } catch (error) {
    showNotice(t(error.name === "QuotaExceededError" ? "storageFull" : "storageFailed"));
    return false;
  }
}

async function loadConversation(id) {
  const found = store.database ? await promised(table("readonly").get(id)) : store.memory.get(id);
  return found ? structuredClone(found) : null;
}

async function deleteConversation(id) {
  if (store.database) await promised(table("readwrite").delete(id));
  else store.memory.delete(id);
  changed(id);
}

async function deleteAllConversations() {
  if (store.database) await promised(table("readwrite").clear());
  store.memory.clear();
  changed("");
}

// Calls visit(conversation) for each.
async function eachConversation(visit) {
  if (!store.database) {
    store.memory.forEach(visit);
    return;
  }
  await new Promise((resolve, reject) => {
    const request = table("readonly").openCursor();
    request.onerror = () => reject(request.error);
    request.onsuccess = () => {
      const cursor = request.result;
      if (!cursor) {
        resolve();
        return;
      }
      visit(cursor.value);
      cursor.continue();
    };
  });
}

// [{id, title, updated}], latest first. With words, only conversations that contain all of them.
async function listConversations(search) {
  const words = search.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  const list = [];
  await eachConversation((conversation) => {
    const text = words.length > 0 ? searchText(conversation) : "";
    if (words.every((word) => text.includes(word)))
      list.push({ id: conversation.id, title: conversation.title, updated: conversation.updated });
  });
  return list.sort((a, b) => b.updated - a.updated);
}

function searchText(conversation) {
  const texts = Object.values(conversation.nodes).map((node) => node.text ?? "");
  return [conversation.title, ...texts].join("\n").toLocaleLowerCase();
}
