// preferences.js - small values that stay in the browser. Storage can be forbidden or full: then a
// value lasts as long as the page.

const memoryStorage = new Map();

function readStored(storage, name) {
  try {
    return globalThis[storage].getItem(name);
  } catch {
    return memoryStorage.get(name) ?? null;
  }
}

function writeStored(storage, name, value) {
  try {
    if (value === "") globalThis[storage].removeItem(name);
    else globalThis[storage].setItem(name, value);
  } catch {
    memoryStorage.set(name, value);
  }
}

const readTheme = () => readStored("localStorage", "quire.theme") ?? "auto";

// The API key is kept for this tab only, unless the user selects "remember".
function readApiKey() {
  return readStored("sessionStorage", "quire.key") ?? readStored("localStorage", "quire.key") ?? "";
}

const isKeyKept = () => readStored("localStorage", "quire.key") !== null;

function writeApiKey(key, keep) {
  writeStored("sessionStorage", "quire.key", key);
  writeStored("localStorage", "quire.key", keep ? key : "");
}
