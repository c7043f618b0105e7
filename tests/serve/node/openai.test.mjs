// SPDX-License-Identifier: Apache-2.0
// The official `openai` client and Vercel's `ai` against quire-server.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, embedMany, generateText, streamText } from 'ai';
import OpenAI from 'openai';
import { eventually, startServer } from './harness.mjs';

const model = 'quire-tiny';
const messages = [{ role: 'user', content: 'Hello!' }];
// An answer of about a thousand tokens, to be cut short.
const long = { model, messages, max_tokens: 1000, ignore_eos: true, temperature: 0 };

globalThis.AI_SDK_LOG_WARNINGS = false;

let server, client, provider;

before(async () => {
  server = await startServer(['--parallel', '4', '-c', '2048']);
  client = new OpenAI({ baseURL: server.url + '/v1', apiKey: 'none', maxRetries: 0 });
  provider = createOpenAICompatible({ name: 'quire', baseURL: server.url + '/v1', includeUsage: true });
});

after(async () => {
  assert.equal(await server.stop(), 0);
});

async function metric(name) {
  const text = await (await fetch(server.url + '/metrics')).text();
  const line = text.split('\n').find((l) => l.startsWith(name + ' '));
  return line ? Number(line.slice(name.length + 1)) : 0;
}

const running = () => metric(`quire_requests_running{model="${model}"}`);
const cancelled = () => metric(`quire_answers_total{model="${model}",finish_reason="cancelled"}`);

// ---- openai

test('chat', async () => {
  const answer = await client.chat.completions.create({ model, messages, temperature: 0, max_tokens: 12 });
  assert.equal(answer.object, 'chat.completion');
  assert.equal(answer.choices[0].message.role, 'assistant');
  assert.ok(answer.choices[0].message.content.length > 0);
  assert.equal(answer.choices[0].finish_reason, 'length');
  assert.equal(answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens);
  assert.ok(answer._request_id);
});

test('chat stream', async () => {
  const body = { model, messages, temperature: 0, max_tokens: 24 };
  const whole = await client.chat.completions.create(body);
  const stream = await client.chat.completions.create(
    { ...body, stream: true, stream_options: { include_usage: true } });
  let text = '', usage, reason;
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? '';
    reason ??= chunk.choices[0]?.finish_reason ?? undefined;
    usage = chunk.usage ?? usage;
  }
  assert.equal(text, whole.choices[0].message.content);
  assert.equal(reason, whole.choices[0].finish_reason);
  assert.equal(usage.completion_tokens, whole.usage.completion_tokens);
});

test('chat stream helper', async () => {
  const runner = client.chat.completions.stream(
    { model, messages, temperature: 0, max_tokens: 24, logprobs: true, top_logprobs: 2 });
  let text = '';
  runner.on('content', (delta) => { text += delta; });
  const final = await runner.finalChatCompletion();
  assert.equal(final.choices.length, 1);
  assert.equal(final.choices[0].message.content, text);
  assert.equal(final.choices[0].logprobs.content.map((t) => t.token).join(''), text);
});

test('completions', async () => {
  const body = { model, prompt: 'Once upon a time', temperature: 0, max_tokens: 8 };
  const answer = await client.completions.create({ ...body, logprobs: 2, echo: true });
  assert.ok(answer.choices[0].text.startsWith('Once upon a time'));
  assert.equal(answer.choices[0].logprobs.tokens.join(''), answer.choices[0].text);
  let text = '';
  for await (const chunk of await client.completions.create({ ...body, stream: true }))
    text += chunk.choices[0].text;
  assert.equal('Once upon a time' + text, answer.choices[0].text);
});

test('embeddings', async () => {
  const input = ['the fox', 'the hill'];
  const packed = await client.embeddings.create({ model, input }); // base64, which the client decodes
  const plain = await client.embeddings.create({ model, input, encoding_format: 'float' });
  assert.equal(packed.data.length, 2);
  for (const i of [0, 1]) {
    assert.equal(packed.data[i].embedding.length, 384);
    assert.deepEqual([...packed.data[i].embedding], plain.data[i].embedding.map(Math.fround));
  }
  const short = await client.embeddings.create({ model, input: 'the fox', dimensions: 16 });
  assert.equal(short.data[0].embedding.length, 16);
});

test('models', async () => {
  const ids = [];
  for await (const m of client.models.list()) ids.push(m.id);
  assert.deepEqual(ids, [model]);
  assert.equal((await client.models.retrieve(model)).id, model);
});

test('errors are exceptions by status', async () => {
  const fails = async (body, type, fields) => {
    await assert.rejects(client.chat.completions.create({ model, messages, ...body }), (e) => {
      assert.ok(e instanceof type, String(e));
      for (const [name, value] of Object.entries(fields)) assert.equal(e[name], value, name);
      return true;
    });
  };
  await fails({ temperature: -1 }, OpenAI.BadRequestError, { status: 400, param: 'temperature' });
  await fails({ stream: true, n: 0 }, OpenAI.BadRequestError, { status: 400, param: 'n' });
  await fails({ messages: [] }, OpenAI.BadRequestError, { param: 'messages', type: 'invalid_request_error' });
  await fails({ messages: [{ role: 'user', content: 'a '.repeat(3000) }] }, OpenAI.BadRequestError,
              { code: 'context_length_exceeded', param: 'messages' });
  await fails({ model: 'none' }, OpenAI.NotFoundError, { status: 404, code: 'model_not_found', param: 'model' });
  await assert.rejects(client.models.retrieve('none'), OpenAI.NotFoundError);
  const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'nothing' } } }];
  await fails({ tools }, OpenAI.BadRequestError, { param: 'tools' });
  const timeout = client.chat.completions.create(long, { timeout: 1 });
  await assert.rejects(timeout, OpenAI.APIConnectionTimeoutError);
});

test('an abort cancels the answer on the server', async () => {
  const before = await cancelled();
  // of a stream, after a few chunks
  const stream = await client.chat.completions.create({ ...long, stream: true });
  let n = 0;
  for await (const chunk of stream) {
    assert.ok(chunk.id);
    if (++n === 3) stream.controller.abort();
  }
  await eventually(async () => (await cancelled()) >= before + 1);
  // of an answer in one piece
  const controller = new AbortController();
  const answer = client.chat.completions.create(long, { signal: controller.signal });
  await eventually(async () => (await running()) === 1);
  controller.abort();
  await assert.rejects(answer, OpenAI.APIUserAbortError);
  await eventually(async () => (await cancelled()) >= before + 2);
  await eventually(async () => (await running()) === 0);
});

// ---- ai

test('ai: generateText', async () => {
  const answer = await generateText({ model: provider(model), prompt: 'Hello!', temperature: 0, maxOutputTokens: 12 });
  const own = await client.chat.completions.create({ model, messages, temperature: 0, max_tokens: 12 });
  assert.equal(answer.text, own.choices[0].message.content);
  assert.equal(answer.finishReason, 'length');
  assert.equal(answer.usage.inputTokens, own.usage.prompt_tokens);
  assert.equal(answer.usage.outputTokens, 12);
});

test('ai: streamText', async () => {
  const result = streamText({ model: provider(model), messages, temperature: 0, maxOutputTokens: 12,
                              stopSequences: ['@@'], seed: 5 });
  let text = '';
  for await (const delta of result.textStream) text += delta;
  const own = await client.chat.completions.create({ model, messages, temperature: 0, max_tokens: 12 });
  assert.equal(text, own.choices[0].message.content);
  assert.equal((await result.usage).outputTokens, 12);
  assert.equal(await result.finishReason, 'length');
});

test('ai: completion and embedding models', async () => {
  const answer = await generateText({ model: provider.completionModel(model), prompt: 'Once', maxOutputTokens: 4,
                                      temperature: 0 });
  assert.ok(answer.text.length > 0);
  const { embeddings } = await embedMany({ model: provider.embeddingModel(model), values: ['the fox', 'the hill'] });
  const own = await client.embeddings.create({ model, input: ['the fox', 'the hill'], encoding_format: 'float' });
  assert.deepEqual(embeddings, own.data.map((d) => d.embedding));
});

test('ai: errors and aborts', async () => {
  await assert.rejects(generateText({ model: provider('none'), prompt: 'Hello!', maxRetries: 0 }), (e) => {
    assert.ok(APICallError.isInstance(e), String(e));
    assert.equal(e.statusCode, 404);
    assert.match(e.message, /does not exist/);
    return true;
  });
  const before = await cancelled();
  const controller = new AbortController();
  const result = streamText({ model: provider(model), messages, maxOutputTokens: 1000, abortSignal: controller.signal,
                              providerOptions: { quire: { ignore_eos: true } } });
  let n = 0;
  for await (const part of result.fullStream)
    if (part.type === 'text-delta' && ++n === 3) controller.abort();
  assert.ok(n >= 3);
  await eventually(async () => (await cancelled()) >= before + 1);
});
