// SPDX-License-Identifier: Apache-2.0
// The responses API of the official `openai` client against quire-server.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import OpenAI from 'openai';
import { eventually, startServer } from './harness.mjs';

const body = { model: 'quire-tiny', input: 'Hello!', temperature: 0, max_output_tokens: 40 };
let server, client;

before(async () => {
  server = await startServer(['--parallel', '4']);
  client = new OpenAI({ baseURL: server.url + '/v1', apiKey: 'none', maxRetries: 0 });
});

after(async () => {
  assert.equal(await server.stop(), 0);
});

test('response', async () => {
  const response = await client.responses.create(body);
  assert.equal(response.status, 'completed');
  assert.ok(response.output_text.length > 0);
  assert.equal((await client.responses.retrieve(response.id)).output_text, response.output_text);
  const items = await client.responses.inputItems.list(response.id);
  assert.equal(items.data[0].role, 'user');
  await client.responses.delete(response.id);
  await assert.rejects(client.responses.retrieve(response.id), OpenAI.NotFoundError);
});

test('stream', async () => {
  const whole = await client.responses.create(body);
  const stream = client.responses.stream(body);
  let text = '';
  stream.on('response.output_text.delta', (event) => { text += event.delta; });
  const last = await stream.finalResponse();
  assert.equal(text, whole.output_text);
  assert.equal(last.output_text, whole.output_text);
  assert.equal(last.usage.output_tokens, whole.usage.output_tokens);
});

test('turns', async () => {
  const first = await client.responses.create({ ...body, input: 'My name is Ann.' });
  const second = await client.responses.create(
    { ...body, input: 'What is my name?', previous_response_id: first.id });
  assert.ok(second.usage.input_tokens > first.usage.input_tokens);
  assert.match(second.output_text, /Ann/);
});

test('errors', async () => {
  await assert.rejects(client.responses.create({ ...body, background: true }), (e) => {
    assert.ok(e instanceof OpenAI.BadRequestError);
    assert.equal(e.param, 'background');
    return true;
  });
});

test('abort', async () => {
  const stream = await client.responses.create(
    { ...body, max_output_tokens: 1500, ignore_eos: true, stream: true });
  for await (const event of stream) {
    if (event.type === 'response.output_text.delta') break;
  }
  await eventually(async () => {
    const { models } = await (await fetch(server.url + '/slots')).json();
    return models[0].generations.length === 0;
  });
});
