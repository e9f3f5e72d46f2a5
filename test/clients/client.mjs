// Drives MCPYard with the official TypeScript client, and with bare HTTP where
// that client hides what matters. The arguments are the URL, the number of
// workers, each with one slot and the toolsets everything, notes and basics, and
// how many requests may wait for a slot. Prints each check, and at last how many
// passed.

import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const [url, ...numbers] = process.argv.slice(2);
const [workers, queue] = numbers.map(Number);
const revision = '2026-07-28';
const patience = 20_000; // in ms, for anything that is awaited
const manyNotes = 260; // more than a page of a list has

/** The questions that the user has been asked. */
const asked = [];

/** Answers a question with Ada, or with yes. */
function answer({ params }) {
  asked.push(params.message);
  const content = {};
  for (const [name, field] of Object.entries(params.requestedSchema.properties)) {
    content[name] = field.type === 'boolean' ? true : 'Ada';
  }
  return { action: 'accept', content };
}

const client = new Client(
  { name: 'clients', version: '1.0.0' },
  { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: { pin: revision } } },
);
client.setRequestHandler('elicitation/create', answer);

/** How many requests the client has sent. */
let sent = 0;
const transport = new StreamableHTTPClientTransport(new URL(url), {
  fetch(...args) {
    sent++;
    return fetch(...args);
  },
});

const call = (name, args = {}, options = {}) => client.callTool({ name, arguments: args }, { timeout: patience, ...options });
const createNote = async () => {
  const { structuredContent } = await call('notes_create', { title: 'A note', body: '' });
  return { id: structuredContent.id, uri: `notes://${structuredContent.id}` };
};
const textOf = (result) => result.content[0].text;

/** Resolves as promise does, or rejects when patience ends. */
function within(promise, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} does not come`)), patience);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Sends a message without the client, and headers beside those of every message. */
function post(message, headers = {}) {
  return fetch(url, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': revision,
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    signal: AbortSignal.timeout(patience),
  });
}

/** Calls a tool without the client. more has further members of params. */
async function postCall(id, name, more = {}) {
  const params = {
    name,
    arguments: {},
    ...more,
    _meta: {
      'io.modelcontextprotocol/protocolVersion': revision,
      'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
    },
  };
  const response = await post({ id, method: 'tools/call', params }, { 'Mcp-Method': 'tools/call', 'Mcp-Name': name });
  return response.json();
}

const checks = {
  async 'connect with the pinned revision'() {
    await client.connect(transport);
    assert.equal(client.getNegotiatedProtocolVersion(), revision);
    assert.equal(client.getServerVersion().name, 'mcpyard');
    const { tools, prompts, resources } = client.getServerCapabilities();
    assert.ok(tools && prompts && resources);
  },

  async 'list tools, prompts and templates'() {
    const { tools } = await client.listTools();
    for (const name of ['echo', 'notes_create', 'test_x_mcp_header']) {
      assert.ok(tools.some((tool) => tool.name === name), name);
    }
    assert.notEqual((await client.listPrompts()).prompts.length, 0);
    assert.notEqual((await client.listResourceTemplates()).resourceTemplates.length, 0);
  },

  async 'list resources of several pages'() {
    const created = [];
    while (created.length < manyNotes) {
      created.push(await createNote());
    }
    const before = sent;
    const { resources } = await client.listResources();
    assert.ok(sent - before > 1, 'one page has them all');
    const uris = resources.map(({ uri }) => uri);
    assert.equal(new Set(uris).size, uris.length, 'each is listed once');
    assert.deepEqual(created.filter((note) => !uris.includes(note.uri)), []);
  },

  async 'call a tool'() {
    assert.equal(textOf(await call('echo', { text: 'grüße 漢' })), 'grüße 漢');
    assert.deepEqual((await call('test_structured_content', { a: 1.5, b: 2 })).structuredContent, { sum: 3.5 });
  },

  async 'repeat an argument in a header'() {
    assert.equal(textOf(await call('test_x_mcp_header', { region: 'größe' })), 'Region: größe');
  },

  async 'progress'() {
    const reports = [];
    await call('slow', { seconds: 0.5 }, { onprogress: ({ progress }) => reports.push(progress) });
    assert.ok(reports.length > 1, `${reports.length} reports`);
    assert.deepEqual(reports, [...reports].sort((a, b) => a - b));
    assert.equal(reports.at(-1), 0.5);
  },

  async 'one round of questions'() {
    asked.length = 0;
    const note = await createNote();
    const { structuredContent } = await call('notes_delete', { id: note.id });
    assert.equal(structuredContent.deleted, true);
    assert.equal(asked.length, 1);
    await assert.rejects(client.readResource({ uri: note.uri }), { code: -32602 });
  },

  async 'two rounds of questions, with state'() {
    asked.length = 0;
    assert.equal(textOf(await call('test_input_required_result_multi_round')), 'Both have been answered.');
    assert.equal(asked.length, 2);
  },

  async 'state comes back as it was'() {
    const name = 'test_input_required_result_tampered_state';
    const inputResponses = { confirm: { action: 'accept', content: { ok: true } } };
    const { requestState } = (await postCall(1, name)).result;
    const { result } = await postCall(2, name, { inputResponses, requestState });
    assert.match(textOf(result), /the state came back/);
    const { error } = await postCall(3, name, { inputResponses, requestState: `${requestState}x` });
    assert.equal(error?.code, -32602);
  },

  async 'listen to a list and a resource'() {
    const note = await createNote();
    const listChanged = new Promise((resolve) => client.setNotificationHandler('notifications/tools/list_changed', resolve));
    const updated = new Promise((resolve) => client.setNotificationHandler('notifications/resources/updated', resolve));
    const filter = { toolsListChanged: true, resourceSubscriptions: [note.uri] };
    const subscription = await client.listen(filter);
    assert.deepEqual(subscription.honoredFilter, filter);
    await call('test_trigger_tool_change');
    await within(listChanged, 'the change of the list');
    await call('notes_delete', { id: note.id });
    assert.equal((await within(updated, 'the update')).params.uri, note.uri);
    await subscription.close();
    assert.equal(await within(subscription.closed, 'the end'), 'local');
  },

  async 'cancelled calls give their slots back'() {
    const abort = new AbortController();
    const seconds = (1.5 * patience) / 1000;
    const calls = [];
    const started = Array.from({ length: workers }, () => new Promise((resolve) => {
      calls.push(call('slow', { seconds }, { onprogress: resolve, signal: abort.signal, timeout: 2 * patience }));
    }));
    const ended = Promise.allSettled(calls);
    await within(Promise.all(started), 'the progress of all');
    const calling = Array.from({ length: queue + 1 }, (_, id) => postCall(id, 'echo', { arguments: { text: 'at last' } }));
    const answered = Promise.allSettled(calling);
    assert.equal((await Promise.race(calling)).error?.code, -31001, 'all wait but the one too many');
    abort.abort();
    for (const { status } of await ended) {
      assert.equal(status, 'rejected');
    }
    const texts = (await answered).map(({ value }) => value?.result && textOf(value.result)).filter(Boolean);
    assert.deepEqual(texts, Array(queue).fill('at last'));
  },

  async 'ids are kept as they were'() {
    for (const id of ['r-1', '1', '', 'ü', 0, 1, -7]) {
      assert.strictEqual((await postCall(id, 'test_simple_text')).id, id);
    }
  },

  async 'notifications need no Mcp-Method'() {
    const response = await post({ method: 'notifications/cancelled', params: { requestId: 'nobody' } });
    assert.equal(response.status, 202);
    assert.equal(await response.text(), '');
  },
};

let passed = 0;
for (const [name, check] of Object.entries(checks)) {
  try {
    await check();
    passed++;
    console.log(`ok ${name}`);
  } catch (error) {
    console.log(`not ok ${name}: ${error.stack}`);
  }
}
await client.close();
const all = Object.keys(checks).length;
console.log(`${passed} of ${all} checks pass`);
process.exitCode = passed === all ? 0 : 1;
