// SPDX-License-Identifier: Apache-2.0
// Tools and structured output with the official clients: the model is free in what it says, not in the form.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateObject, generateText, jsonSchema, stepCountIs, tool } from 'ai';
import { Ollama } from 'ollama';
import OpenAI from 'openai';
import { startServer } from './harness.mjs';

const model = 'quire-tiny';
const messages = [{ role: 'user', content: 'What is the weather in Rome?' }];
const city = {
  type: 'object', additionalProperties: false, required: ['city'],
  properties: { city: { type: 'string', maxLength: 12 } },
};
const tools = [{ type: 'function', function: { name: 'get_weather', description: 'weather', parameters: city } }];

globalThis.AI_SDK_LOG_WARNINGS = false;

let server, client, anthropic, ollama, provider;

before(async () => {
  server = await startServer(['--parallel', '4', '-c', '2048']);
  client = new OpenAI({ baseURL: server.url + '/v1', apiKey: 'none', maxRetries: 0 });
  anthropic = new Anthropic({ baseURL: server.url, apiKey: 'none', maxRetries: 0 });
  ollama = new Ollama({ host: server.url });
  provider = createOpenAICompatible({
    name: 'quire', baseURL: server.url + '/v1', supportsStructuredOutputs: true,
  });
});

after(async () => {
  assert.equal(await server.stop(), 0);
});

function checkCity(value) {
  assert.deepEqual(Object.keys(value), ['city']);
  assert.ok(value.city.length <= 12, value.city);
}

test('openai: a loop of calls', async () => {
  const first = await client.chat.completions.create({
    model, messages, tools, tool_choice: 'required', parallel_tool_calls: false, temperature: 0 });
  assert.equal(first.choices[0].finish_reason, 'tool_calls');
  const [call] = first.choices[0].message.tool_calls;
  assert.equal(call.function.name, 'get_weather');
  checkCity(JSON.parse(call.function.arguments));
  const next = await client.chat.completions.create({
    model, tools, tool_choice: 'none', max_tokens: 20,
    messages: [...messages, first.choices[0].message, { role: 'tool', tool_call_id: call.id, content: 'sunny' }] });
  assert.equal(next.choices[0].message.tool_calls, undefined);
  assert.equal(typeof next.choices[0].message.content, 'string');
});

test('openai: parallel calls and streams', async () => {
  const stream = client.chat.completions.stream({ model, messages, tools, tool_choice: 'required', seed: 3 });
  const message = (await stream.finalChatCompletion()).choices[0].message;
  assert.ok(message.tool_calls.length >= 1);
  assert.equal(new Set(message.tool_calls.map((c) => c.id)).size, message.tool_calls.length);
  for (const call of message.tool_calls) checkCity(JSON.parse(call.function.arguments));
});

test('openai: a JSON schema, strict', async () => {
  const answer = await client.chat.completions.create({
    model, messages, temperature: 0,
    response_format: { type: 'json_schema', json_schema: { name: 'city', strict: true, schema: city } } });
  checkCity(JSON.parse(answer.choices[0].message.content));
});

test('openai: responses with functions and a format', async () => {
  const functions = [{ type: 'function', name: 'get_weather', parameters: city, strict: true }];
  const answer = await client.responses.create({
    model, input: messages, tools: functions, tool_choice: 'required', parallel_tool_calls: false });
  const call = answer.output.find((item) => item.type === 'function_call');
  checkCity(JSON.parse(call.arguments));
  const next = await client.responses.create({
    model, previous_response_id: answer.id, max_output_tokens: 20,
    input: [{ type: 'function_call_output', call_id: call.call_id, output: 'sunny' }] });
  assert.equal(typeof next.output_text, 'string');
  const formed = await client.responses.create({
    model, input: messages, text: { format: { type: 'json_schema', name: 'city', strict: true, schema: city } } });
  checkCity(JSON.parse(formed.output_text));
});

test('anthropic: a loop of calls', async () => {
  const own = [{ name: 'get_weather', input_schema: city }];
  const first = await anthropic.messages.create({
    model, messages, max_tokens: 300, tools: own, tool_choice: { type: 'any', disable_parallel_tool_use: true } });
  assert.equal(first.stop_reason, 'tool_use');
  const call = first.content.find((block) => block.type === 'tool_use');
  checkCity(call.input);
  const next = await anthropic.messages.create({
    model, max_tokens: 20, tools: own,
    messages: [...messages, { role: 'assistant', content: first.content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: 'sunny' }] }] });
  assert.equal(next.type, 'message');
  const streamed = await anthropic.messages.stream({
    model, messages, max_tokens: 300, tools: own, tool_choice: { type: 'tool', name: 'get_weather' } }).finalMessage();
  checkCity(streamed.content.find((block) => block.type === 'tool_use').input);
});

test('ollama: a schema and tools', async () => {
  const answer = await ollama.chat({ model, messages, format: city });
  checkCity(JSON.parse(answer.message.content));
  const free = await ollama.chat({ model, messages, tools, options: { num_predict: 60 } });
  assert.equal(free.message.role, 'assistant');
});

test('ai: tools and objects', async () => {
  const called = [];
  await generateText({
    model: provider(model), messages, toolChoice: 'required', stopWhen: stepCountIs(2), maxOutputTokens: 300,
    tools: { get_weather: tool({ description: 'weather', inputSchema: jsonSchema(city),
      execute: async (input) => { called.push(input); return 'sunny'; } }) } });
  assert.ok(called.length >= 1);
  called.forEach(checkCity);
  const { object } = await generateObject({ model: provider(model), messages, schema: jsonSchema(city) });
  checkCity(object);
});
