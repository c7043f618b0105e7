// language.js - texts of the page in the language of the browser.

const languages = {}; // language code -> texts; filled by strings_*.js

// The best of the languages that the browser prefers; English if there is none.
function chooseLanguage(wanted) {
  for (const tag of wanted) {
    const code = tag.toLowerCase().split("-")[0];
    if (Object.hasOwn(languages, code)) return code;
  }
  return "en";
}

const locale = { code: "en", texts: {} };

// The text of a key with {name} replaced by values.name.
function t(key, values = {}) {
  const text = locale.texts[key] ?? languages.en[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (all, name) => (name in values ? String(values[name]) : all));
}

function formatNumber(value, digits = 0) {
  return value.toLocaleString(locale.code, { maximumFractionDigits: digits });
}

// Fills elements with data-text, data-label (name and tooltip) and data-placeholder.
function translatePage() {
  for (const node of document.querySelectorAll("[data-text]")) node.textContent = t(node.dataset.text);
  for (const node of document.querySelectorAll("[data-label]")) setLabel(node, t(node.dataset.label));
  for (const node of document.querySelectorAll("[data-placeholder]"))
    node.placeholder = t(node.dataset.placeholder);
}

function startLanguage() {
  locale.code = chooseLanguage(navigator.languages ?? [navigator.language]);
  locale.texts = languages[locale.code];
  document.documentElement.lang = locale.code;
  translatePage();
}
