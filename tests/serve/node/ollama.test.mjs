// SPDX-License-Identifier: Apache-2.0
// The official `ollama` client against quire-server.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Ollama } from 'ollama';
import { eventually, startServer } from './harness.mjs';

const model = 'quire-tiny';
const messages = [{ role: 'user', content: 'Hello!' }];
const options = { temperature: 0, num_predict: 40 };
let server, client;

before(async () => {
  server = await startServer(['--parallel', '4']);
  client = new Ollama({ host: server.url });
});

after(async () => {
  assert.equal(await server.stop(), 0);
});

test('chat and generate', async () => {
  const chat = await client.chat({ model, messages, options });
  assert.equal(chat.message.role, 'assistant');
  assert.equal(chat.done_reason, 'stop');
  assert.ok(chat.eval_count > 0 && chat.total_duration > 0);
  const generated = await client.generate({ model, prompt: 'Hello!', options });
  assert.equal(generated.response, chat.message.content);
});

test('streams', async () => {
  const whole = await client.chat({ model, messages, options });
  let text = '', last;
  for await (const part of await client.chat({ model, messages, options, stream: true })) {
    text += part.message.content;
    last = part;
  }
  assert.equal(text, whole.message.content);
  assert.equal(last.done, true);
  assert.equal(last.eval_count, whole.eval_count);
});

test('embeddings', async () => {
  const { embeddings } = await client.embed({ model, input: ['a', 'b'] });
  assert.equal(embeddings.length, 2);
  assert.ok(Math.abs(Math.hypot(...embeddings[0]) - 1) < 1e-3);
});

test('lists', async () => {
  assert.equal((await client.list()).models[0].name, model);
  assert.equal((await client.ps()).models[0].name, model);
  assert.ok((await client.show({ model })).capabilities.includes('completion'));
});

test('errors', async () => {
  await assert.rejects(client.chat({ model: 'gone', messages }), (e) => {
    assert.equal(e.status_code, 404);
    assert.match(e.message, /gone/);
    return true;
  });
  await assert.rejects(client.chat({ model, messages, format: 'xml' }), /format/);
});

test('abort', async () => {
  const stream = await client.chat({
    model, messages, stream: true, options: { num_predict: 1500, ignore_eos: true },
  });
  await assert.rejects(async () => {
    for await (const part of stream) {
      if (part.message.content) stream.abort();
    }
  }, { name: 'AbortError' });
  await eventually(async () => {
    const { models } = await (await fetch(server.url + '/slots')).json();
    return models[0].generations.length === 0;
  });
});
