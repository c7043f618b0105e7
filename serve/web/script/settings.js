// settings.js - system prompt and sampling of a conversation, and the panel that edits them. An empty
// field is not sent: the server then uses the model's own default.

const NUMBERS = [ // name, min, max, step; null: no limit
  ["temperature", 0, 2, "any"],
  ["top_p", 0, 1, "any"],
  ["top_k", 0, null, 1],
  ["min_p", 0, 1, "any"],
  ["repeat_penalty", 0.1, 10, "any"],
  ["max_tokens", 1, null, 1],
  ["seed", 0, null, 1],
];

const NO_SETTINGS = { system: "", stop: "", useSchema: false, schema: "", useTools: false, tools: "" };

// Settings with known fields of the right types only: they come from storage or from a file.
function cleanSettings(value) {
  const clean = { ...NO_SETTINGS };
  for (const [name] of NUMBERS) if (Number.isFinite(value?.[name])) clean[name] = value[name];
  for (const [name, initial] of Object.entries(NO_SETTINGS))
    if (typeof value?.[name] === typeof initial) clean[name] = value[name];
  return clean;
}

// Settings of the next new conversation: those used last, without its system prompt.
function readDefaultSettings() {
  try {
    return cleanSettings(JSON.parse(readStored("localStorage", "quire.settings") ?? "{}"));
  } catch {
    return cleanSettings({});
  }
}

function writeDefaultSettings(settings) {
  writeStored("localStorage", "quire.settings", JSON.stringify({ ...settings, system: "" }));
}

// Parameters of a request. Throws an Error with a text for the user if a box holds no valid JSON.
function settingsParameters(settings) {
  const parameters = {};
  for (const [name] of NUMBERS) if (settings[name] !== undefined) parameters[name] = settings[name];
  const stop = settings.stop.split("\n").filter((line) => line !== "").map((line) => line.replaceAll("\\n", "\n"));
  if (stop.length > 0) parameters.stop = stop;
  if (settings.useSchema)
    parameters.response_format = {
      type: "json_schema", json_schema: { name: "answer", schema: parseBox(settings.schema, "schema"), strict: true },
    };
  if (settings.useTools) parameters.tools = parseBox(settings.tools, "tools");
  return parameters;
}

function parseBox(text, name) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(t("badJson", { name: t(name), reason: error.message }));
  }
}

// ---- The panel

function openSettings(focus) {
  const body = byId("settings-body");
  body.replaceChildren(
    section("thisChat", systemField(), ...NUMBERS.map(numberField), stopField()),
    section("structure", ...boxFields("useSchema", "schema"), ...boxFields("useTools", "tools")),
    section("connection", keyField(), keepKeyField()),
    section("appearance", themeField()),
    section("data", dataButtons()));
  if (!byId("settings").open) byId("settings").showModal();
  if (focus) byId(focus).focus();
}

function section(title, ...fields) {
  return el("section", {}, el("h3", {}, t(title)), ...fields);
}

function changeSetting(name, value) {
  const { conversation } = chat;
  if (value === undefined) delete conversation.settings[name];
  else conversation.settings[name] = value;
  writeDefaultSettings(conversation.settings);
  if (currentPath(conversation).length > 0) saveConversation(conversation);
}

// A label above a control, with a line of help.
function field(id, label, control, help) {
  control.id = id;
  const parts = [el("label", { htmlFor: id }, label), control];
  if (help) {
    control.setAttribute("aria-describedby", `${id}-help`);
    parts.push(el("p", { id: `${id}-help`, className: "help" }, help));
  }
  return el("div", { className: "field" }, ...parts);
}

function systemField() {
  const area = el("textarea", { rows: 4, dir: "auto", value: chat.conversation.settings.system });
  area.addEventListener("change", () => changeSetting("system", area.value));
  return field("set-system", t("systemPrompt"), area);
}

function numberField([name, min, max, step]) {
  const input = el("input", { type: "number", min, max, step, inputMode: "decimal", placeholder: t("default") });
  input.value = chat.conversation.settings[name] ?? "";
  input.addEventListener("change", () => {
    if (!input.reportValidity()) return;
    changeSetting(name, input.value === "" ? undefined : input.valueAsNumber);
  });
  const node = field(`set-${name}`, t(name), input);
  node.classList.add("line");
  return node;
}

function stopField() {
  const area = el("textarea", { rows: 2, dir: "auto", value: chat.conversation.settings.stop });
  area.addEventListener("change", () => changeSetting("stop", area.value));
  return field("set-stop", t("stopStrings"), area, t("stopHelp"));
}

function checkField(id, label, checked, onchange) {
  const box = el("input", { type: "checkbox", id, checked });
  box.addEventListener("change", () => onchange(box.checked));
  return el("div", { className: "field check" }, box, el("label", { htmlFor: id }, label));
}

const BOX_EXAMPLES = {
  schema: '{\n  "type": "object",\n  "properties": {\n    "city": {"type": "string"}\n  }\n}',
  tools: '[{\n  "type": "function",\n  "function": {\n    "name": "get_weather"\n  }\n}]',
};

// A switch and the JSON that is sent while it is on.
function boxFields(flag, name) {
  const { settings } = chat.conversation;
  const area = el("textarea", { rows: 6, className: "code", spellcheck: false, dir: "ltr" });
  Object.assign(area, { value: settings[name], placeholder: BOX_EXAMPLES[name] });
  const boxed = field(`set-${name}`, t(name), area, t(`${name}Help`));
  boxed.hidden = !settings[flag];
  area.addEventListener("change", () => {
    changeSetting(name, area.value);
    area.setCustomValidity(jsonProblem(area.value));
    area.reportValidity();
  });
  const toggle = checkField(`set-${flag}`, t(flag), settings[flag], (on) => {
    changeSetting(flag, on);
    boxed.hidden = !on;
    if (on) area.focus();
  });
  return [toggle, boxed];
}

function jsonProblem(text) {
  try {
    JSON.parse(text);
    return "";
  } catch (error) {
    return error.message;
  }
}

function keyField() {
  const input = el("input", { type: "password", autocomplete: "off", value: readApiKey() });
  input.addEventListener("change", () => {
    writeApiKey(input.value.trim(), byId("set-keep-key").checked);
    loadModels();
  });
  return field("set-key", t("apiKey"), input, t("apiKeyHelp"));
}

function enterKeyButton() {
  return el("button", { type: "button", className: "button", onclick: () => openSettings("set-key") }, t("enterKey"));
}

function keepKeyField() {
  return checkField("set-keep-key", t("keepKey"), isKeyKept(), (keep) => writeApiKey(byId("set-key").value.trim(), keep));
}

function themeField() {
  const select = el("select", {}, ...["auto", "light", "dark"].map((name) => el("option", { value: name }, t(name))));
  select.value = readTheme();
  select.addEventListener("change", () => {
    writeStored("localStorage", "quire.theme", select.value);
    applyTheme(select.value);
  });
  const node = field("set-theme", t("theme"), select);
  node.classList.add("line");
  return node;
}

function dataButtons() {
  const button = (label, onclick, className = "button") => el("button", { type: "button", className, onclick }, t(label));
  return el("div", { className: "button-grid" },
    button("exportJson", exportCurrentJson), button("exportMarkdown", exportCurrentMarkdown),
    button("exportAll", exportAll), button("importFile", () => byId("import-file").click()),
    button("deleteAll", deleteAll, "button danger"));
}
