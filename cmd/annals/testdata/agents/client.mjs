// An agent on the official SDK: it reads from its input the URL of the tools
// and what it is to find, lets a person sign in, and uses whatever there is. Every line that it prints
// is a JSON object: a step, with its error if it failed, or an address that the
// person is to open.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';

import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const { url, file, outside, story } = await json(process.stdin);

const tell = line => process.stdout.write(JSON.stringify(line) + '\n');

// step runs a part of the test and tells how it went. Others go on after it.
async function step(name, run) {
  try {
    await run();
    tell({ step: name });
  } catch (error) {
    tell({ step: name, error: String(error.stack) });
  }
}

// callback listens for the person's browser, as a program on a desktop does.
const callback = await new Promise(listening => {
  let arrived;
  const answer = new Promise(resolve => (arrived = resolve));
  const server = createServer((request, response) => {
    response.end('You can go back to the agent.');
    arrived(new URL(request.url, 'http://localhost').searchParams);
  });
  server.listen(0, '127.0.0.1', () => listening({
    url: `http://127.0.0.1:${server.address().port}/callback`,
    answer,
    close: () => server.close(),
  }));
});

// provider keeps what the SDK's sign-in wants kept.
const provider = {
  kept: {},
  redirectUrl: callback.url,
  clientMetadata: {
    client_name: 'TypeScript agent',
    redirect_uris: [callback.url],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  },
  state: () => 'a state',
  clientInformation() { return this.kept.client; },
  saveClientInformation(client) { this.kept.client = client; },
  tokens() { return this.kept.tokens; },
  saveTokens(tokens) { this.kept.tokens = tokens; },
  codeVerifier() { return this.kept.verifier; },
  saveCodeVerifier(verifier) { this.kept.verifier = verifier; },
  redirectToAuthorization(address) { tell({ open: address.href }); },
};

// connect returns a client, after the person has signed in if need be.
async function connect() {
  const client = new Client({ name: 'typescript-agent', version: '1.0.0' });
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
  try {
    await client.connect(transport);
    return client;
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
  }
  const answer = await callback.answer;
  assert.equal(answer.get('state'), 'a state');
  await transport.finishAuth(answer.get('code'));
  return connect();
}

const client = await connect();
tell({ step: 'signs in' });
callback.close();

const textOf = result => result.content.map(part => part.text).join('\n');

// call calls a tool that is to succeed. The SDK holds what it returns to the
// tool's own schema.
const called = new Set();
async function call(name, args = {}) {
  called.add(name);
  const result = await client.callTool({ name, arguments: args });
  assert(!result.isError, `${name} fails: ${textOf(result)}`);
  assert.notEqual(textOf(result).trim(), '', `${name} says nothing to be read`);
  return result.structuredContent;
}

// refused calls a tool that is to say why not.
async function refused(name, args, why) {
  const result = await client.callTool({ name, arguments: args });
  assert(result.isError, `${name} does ${JSON.stringify(args)}`);
  assert.match(textOf(result), why);
}

const { tools } = await client.listTools();

await step('tells what the tools are for', async () => {
  assert.match(client.getInstructions(), /service_list_folders/);
  assert.equal(tools.length, 16);
  for (const tool of tools) {
    assert(tool.title && tool.description && tool.inputSchema && tool.outputSchema, `${tool.name} lacks a title, a description or a schema`);
    assert.equal(tool.annotations.readOnlyHint, !['service_ingest', 'service_accept_invitation', 'service_decline_invitation', 'service_reread_documents', 'service_delete_documents'].includes(tool.name), tool.name);
    assert.equal(tool.annotations.openWorldHint, false);
  }
});

await step('service_health', async () => { await call('service_health'); });

await step('service_list_folders', async () => {
  const { folders } = await call('service_list_folders');
  assert.deepEqual(folders, ['lighthouses']);
});

await step('service_list_tags', async () => {
  const { tags } = await call('service_list_tags');
  assert.deepEqual(tags, ['towers']);
});

let eddystone, long;

await step('service_list_documents_by_folder', async () => {
  const { documents } = await call('service_list_documents_by_folder', { folder_name: 'lighthouses' });
  assert.deepEqual(documents.map(d => d.title), ['Eddystone', 'A long story']);
  [eddystone, long] = documents;
  await refused('service_list_documents_by_folder', { folder_name: 'ice breakers' }, /service_list_folders/);
});

await step('service_list_documents_by_tag', async () => {
  const { documents } = await call('service_list_documents_by_tag', { tag_name: 'towers' });
  assert.deepEqual(documents.map(d => d.id).sort(), [eddystone.id, long.id].sort());
});

await step('service_search', async () => {
  const { sources } = await call('service_search', { query: 'Who finished the lighthouse?', folder_name: 'lighthouses', tags: ['towers'], tag_mode: 'all' });
  assert.equal(sources[0].doc_id, eddystone.id);
  assert.match(sources[0].text, /John Smeaton/);
});

await step('service_ask', async () => {
  const { answer, confidence } = await call('service_ask', { query: 'When was the lighthouse at Eddystone finished?', document_id: eddystone.id });
  assert.match(answer, /1759/);
  assert(confidence >= 0.3 && confidence <= 1);
});

await step('service_get_document_metadata', async () => {
  const metadata = await call('service_get_document_metadata', { document_id: eddystone.id });
  assert.equal(metadata.title, 'Eddystone');
  assert.equal(metadata.access_level, 'own');
  assert.deepEqual(metadata.tags, ['towers']);
  assert(!Number.isNaN(Date.parse(metadata.created_at)));
});

await step('service_get_document_markdown, page by page', async () => {
  let text = '', pages = 0, cursor;
  do {
    const page = await call('service_get_document_markdown', { document_id: long.id, ...(cursor && { cursor }) });
    text += page.markdown;
    cursor = page.next_cursor;
    pages++;
  } while (cursor && pages < 100);
  assert(pages > 1, 'the long document comes in one page');
  assert(text.includes(story.trim()), 'the pages together are not the document');
});

// end returns the status of a job that has ended.
async function end(job_id) {
  let job;
  while (!(job = await call('service_job_status', { job_id })).done) await pause(50);
  assert.equal(job.status, 'complete');
  return job;
}

await step('service_ingest and service_job_status', async () => {
  await refused('service_ingest', { file_paths: [outside], file_metadata: [{ folder_name: 'lighthouses' }] }, /log\.db/);
  const { job_id } = await call('service_ingest', { file_paths: [file], file_metadata: [{ folder_name: 'lighthouses/ireland', tags: ['rocks'] }] });
  const job = await end(job_id);
  assert(job.results[0].success);
  const { markdown } = await call('service_get_document_markdown', { document_id: job.results[0].document_id });
  assert(markdown.includes('Fastnet Rock'));
});

await step('service_reread_documents', async () => {
  const { job_id, total_documents } = await call('service_reread_documents', { doc_ids: [eddystone.id] });
  assert.equal(total_documents, 1);
  await end(job_id);
  await refused('service_reread_documents', { doc_ids: [crypto.randomUUID()] }, /document/);
});

// read returns the text of a resource, whose pages name the one behind them.
async function read(uri) {
  const { contents } = await client.readResource({ uri });
  assert.equal(contents.length, 1);
  assert.equal(contents[0].uri, uri);
  return contents[0].text;
}

await step('resources', async () => {
  const { resources } = await client.listResources();
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.deepEqual(resources.map(r => r.uri).sort(), ['service://folders', 'service://tags']);
  assert.deepEqual(resourceTemplates.map(t => t.uriTemplate).sort(), [
    'service://documents/{document_id}/content', 'service://folders/{folder_name}', 'service://tags/{tag_name}',
  ]);
  assert.match(await read('service://folders'), /lighthouses/);
  assert.match(await read('service://tags'), /towers/);
  assert.match(await read('service://folders/' + encodeURIComponent('lighthouses/ireland')), /Fastnet/);
  assert.match(await read('service://tags/towers'), /Eddystone/);
  assert.match(await read(`service://documents/${eddystone.id}/content`), /John Smeaton/);
  await assert.rejects(read('service://folders/' + encodeURIComponent('ice breakers')), /ice breakers/);
});

await step('completion', async () => {
  const complete = async (uri, name, value) =>
    (await client.complete({ ref: { type: 'ref/resource', uri }, argument: { name, value } })).completion.values;
  assert.deepEqual(await complete('service://folders/{folder_name}', 'folder_name', 'light'), ['lighthouses', 'lighthouses/ireland']);
  assert.deepEqual(await complete('service://folders/{folder_name}', 'folder_name', 'ice'), []);
  assert.deepEqual(await complete('service://tags/{tag_name}', 'tag_name', 't'), ['towers']);
});

await step('service_delete_documents', async () => {
  const { documents } = await call('service_list_documents_by_folder', { folder_name: 'lighthouses/ireland' });
  await call('service_delete_documents', { doc_ids: [documents[0].id, crypto.randomUUID()] });
  await refused('service_get_document_metadata', { document_id: documents[0].id }, /document/);
});

await step('service_list_invitations, service_accept_invitation, service_decline_invitation', async () => {
  const { invitations } = await call('service_list_invitations');
  assert.deepEqual(invitations.map(i => [i.folder_name, i.invited_by, i.access]), [['ice breakers', 'user:bob', 'read']]);
  const folder_id = invitations[0].folder_id;
  await call('service_accept_invitation', { folder_id });
  assert((await call('service_list_folders')).folders.includes('ice breakers'));
  await call('service_decline_invitation', { folder_id });
  assert(!(await call('service_list_folders')).folders.includes('ice breakers'));
  await refused('service_accept_invitation', { folder_id }, /no invitation/);
});

await step('every tool was called', async () => {
  assert.deepEqual([...called].sort(), tools.map(tool => tool.name).sort());
});

await step('refreshes its token', async () => {
  const before = provider.kept.tokens;
  provider.kept.tokens = { ...before, access_token: 'expired' };
  await call('service_health');
  const after = provider.kept.tokens;
  assert(after.access_token.length > 100 && after.access_token !== before.access_token);
  assert(after.refresh_token && after.refresh_token !== before.refresh_token);
});

await step('ends', () => client.close());
