// SPDX-License-Identifier: Apache-2.0
// The official `@anthropic-ai/sdk` against quire-server.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { eventually, startServer } from './harness.mjs';

const body = {
  model: 'quire-tiny', max_tokens: 40, temperature: 0, messages: [{ role: 'user', content: 'Hello!' }],
};
let server, client;

before(async () => {
  server = await startServer(['--parallel', '4']);
  client = new Anthropic({ baseURL: server.url, apiKey: 'none', maxRetries: 0 });
});

after(async () => {
  assert.equal(await server.stop(), 0);
});

test('message', async () => {
  const message = await client.messages.create(body);
  assert.equal(message.type, 'message');
  assert.equal(message.stop_reason, 'end_turn');
  assert.ok(message.content[0].text.length > 0);
  assert.ok(message.usage.output_tokens > 0);
});

test('stream', async () => {
  const whole = await client.messages.create({ ...body, stop_sequences: ['tiny'] });
  const stream = client.messages.stream({ ...body, stop_sequences: ['tiny'] });
  let text = '';
  stream.on('text', (delta) => { text += delta; });
  const message = await stream.finalMessage();
  assert.equal(text, whole.content[0].text);
  assert.equal(message.content[0].text, text);
  assert.equal(message.stop_reason, whole.stop_reason);
  assert.equal(message.stop_sequence, whole.stop_sequence);
  assert.equal(message.usage.output_tokens, whole.usage.output_tokens);
});

test('count of tokens', async () => {
  const { model, messages } = body;
  const { input_tokens } = await client.messages.countTokens({ model, messages });
  const { usage } = await client.messages.create(body);
  assert.equal(input_tokens, usage.input_tokens + usage.cache_read_input_tokens);
});

test('errors', async () => {
  await assert.rejects(client.messages.create({ ...body, model: 'gone' }), Anthropic.NotFoundError);
  await assert.rejects(client.messages.create({ ...body, temperature: 'hot' }), (e) => {
    assert.ok(e instanceof Anthropic.BadRequestError);
    assert.equal(e.error.error.type, 'invalid_request_error');
    assert.match(e.message, /temperature/);
    return true;
  });
});

test('abort', async () => {
  const stream = client.messages.stream({ ...body, max_tokens: 1500, ignore_eos: true });
  await new Promise((resolve) => stream.once('text', resolve));
  stream.abort();
  await assert.rejects(stream.done(), Anthropic.APIUserAbortError);
  await eventually(async () => {
    const { models } = await (await fetch(server.url + '/slots')).json();
    return models[0].generations.length === 0;
  });
});
