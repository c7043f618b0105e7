// api.js - the server's API: requests, errors, server-sent events.

// An answer that is not 2xx, or an error within a stream. `status` 0: no answer at all.
class ApiError extends Error {
  constructor(status, message, param = "", retryAfter = 0) {
    super(message);
    Object.assign(this, { status, param, retryAfter });
  }
}

function apiHeaders() {
  const key = readApiKey();
  return key === "" ? {} : { Authorization: `Bearer ${key}` };
}

// Paths are relative, so that the server can live below a folder of a proxy.
async function callApi(path, options = {}) {
  let answer;
  try {
    answer = await fetch(path, { ...options, headers: { ...apiHeaders(), ...options.headers } });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, t("unreachable"));
  }
  if (!answer.ok) throw await readError(answer);
  return answer;
}

async function readError(answer) {
  const text = await answer.text().catch(() => "");
  const retryAfter = Number(answer.headers.get("Retry-After")) || 0;
  try {
    const { error } = JSON.parse(text);
    return new ApiError(answer.status, String(error.message ?? error), error.param ?? "", retryAfter);
  } catch {
    return new ApiError(answer.status, t("httpError", { status: answer.status }), "", retryAfter);
  }
}

// [{id, context}] of GET /v1/models; context in tokens, 0 = not said.
async function listModels() {
  const { data } = await (await callApi("v1/models")).json();
  if (!Array.isArray(data)) return [];
  return data.map((model) => ({
    id: String(model.id),
    context: Number(model.max_model_len ?? model.context_length ?? model.meta?.n_ctx ?? 0) || 0,
  }));
}

// Yields the JSON of each event of a stream until [DONE]. An error event throws.
async function* streamChat(body, signal) {
  const answer = await callApi("v1/chat/completions", {
    method: "POST", signal, body: JSON.stringify(body), headers: { "Content-Type": "application/json" },
  });
  for await (const data of readEvents(answer.body)) {
    if (data === "[DONE]") return;
    let value;
    try {
      value = JSON.parse(data);
    } catch {
      throw new ApiError(0, t("badStream"));
    }
    if (value?.error) throw new ApiError(answer.status, String(value.error.message ?? value.error), value.error.param ?? "");
    yield value;
  }
  throw new ApiError(0, t("streamCut"));
}

// Yields the data of server-sent events.
async function* readEvents(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let data = [];
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const lines = (rest + value).split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop();
      for (const line of lines) {
        if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
        if (line !== "" || data.length === 0) continue;
        yield data.join("\n");
        data = [];
      }
    }
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, t("streamCut"));
  } finally {
    reader.cancel().catch(() => {});
  }
}
