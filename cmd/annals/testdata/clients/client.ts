// The main job of a client, with the types that openapi-typescript makes: it
// prints each step that went as described, and ends at the first that did not.
// docs/clients.md has the commands that run it, and what the arguments are.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import createClient from "openapi-fetch";
import type { components as coreParts, paths as corePaths } from "./core.js";
import type { paths as vaultPaths } from "./vault.js";

type FileMetadata = coreParts["schemas"]["FileMetadata"];
type ProgressEvent = coreParts["schemas"]["ProgressEvent"];

const [base, token, file, revision] = process.argv.slice(2) as [string, string, string, string];
const headers = { Authorization: `Bearer ${token}` };
const core = createClient<corePaths>({ baseUrl: `${base}/core`, headers });
const vault = createClient<vaultPaths>({ baseUrl: `${base}/vault`, headers });
const step = (name: string) => console.log(name);

/** The events of a progress stream, each a `data:` line; comments begin with a colon. */
async function* progress(body: ReadableStream<Uint8Array>): AsyncGenerator<ProgressEvent> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of body) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line.startsWith("data:")) yield JSON.parse(line.slice("data:".length)) as ProgressEvent;
    }
  }
}

const original = await readFile(file);
const changed = await readFile(revision);
const metadata: FileMetadata[] = [{ folder_name: "TypeScript", tags: ["typescript"] }];
const upload = await core.POST("/ingest", {
  params: { query: { stream: true } },
  body: { files: [file], file_metadata: JSON.stringify(metadata) },
  bodySerializer: (body) => {
    const form = new FormData();
    form.set("file_metadata", body.file_metadata ?? "[]");
    for (const name of body.files) form.append("files", new Blob([original]), basename(name));
    return form;
  },
  parseAs: "stream",
});
assert(upload.data, JSON.stringify(upload.error));
const events: ProgressEvent[] = [];
for await (const event of progress(upload.data)) events.push(event);
assert.equal(events.at(-1)?.event_type, "complete", JSON.stringify(events));
assert.equal(events.at(-1)?.successful_files, 1);
step("progress");

const job = await core.GET("/jobs/{job_id}", { params: { path: { job_id: events[0]!.job_id } } });
assert(job.data?.done && job.data.results?.[0]?.document_id, JSON.stringify(job));
const id: string = job.data.results[0].document_id;
step("job");

const found = await core.POST("/search", { body: { query: "lighthouse", folder_name: "TypeScript", tags: ["typescript"], tag_mode: "all" } });
assert.equal(found.data?.sources[0]?.doc_id, id);
assert.match(found.data.sources[0].text, /lighthouse/);
step("search");

const answer = await core.POST("/ask", { body: { query: "Who finished the lighthouse at Eddystone?", folder_name: "TypeScript" } });
assert(answer.data && "answer" in answer.data, JSON.stringify(answer)); // and not a stream of events
assert.match(answer.data.answer, /Smeaton/);
assert.equal(answer.data.sources[0]?.doc_id, id);
step("ask");

const folders = await vault.GET("/folders");
const folder = folders.data?.find((f) => f.name === "TypeScript");
assert(folder);
const listed = await vault.GET("/documents", { params: { query: { folderId: folder.id } } });
assert.equal(listed.data?.[0]?.id, id);
step("list");

const text = await vault.GET("/documents/{id}/markdown", { params: { path: { id } }, parseAs: "text" });
assert.match(text.data ?? "", /finished in 1759 by John Smeaton/);
step("markdown");

const content = await vault.GET("/documents/{id}/content", { params: { path: { id } }, parseAs: "arrayBuffer" });
assert(content.data && original.equals(Buffer.from(content.data)), "the download is not the file");
step("download");

const revise = async (version: number) =>
  vault.PUT("/documents/{id}/content", {
    params: { path: { id }, header: { "If-Match": `"${version}"` } },
    headers: { "Content-Type": "application/octet-stream" },
    body: "",
    bodySerializer: () => changed,
  });
const revised = await revise(1);
assert(revised.data && "version" in revised.data, JSON.stringify(revised));
assert.equal(revised.data.version, 2);
const second = await vault.GET("/documents/{id}/content", { params: { path: { id } }, parseAs: "arrayBuffer" });
assert(second.data && changed.equals(Buffer.from(second.data)), "the download is not the new file");
step("revise");

const stale = await revise(1);
assert.equal(stale.response.status, 409);
assert.equal(stale.error && "statusCode" in stale.error && stale.error.statusCode, 409);
step("conflict");

const invalid = await core.POST("/search", { body: { query: "lighthouse", limit: 0 } });
assert.equal(invalid.response.status, 422);
const fault = invalid.error?.detail;
assert(Array.isArray(fault) && fault[0]);
assert.deepEqual(fault[0].loc, ["body", "limit"]);
step("invalid");

const nothing = await vault.GET("/documents/{id}", { params: { path: { id: "00000000-0000-4000-8000-000000000000" } } });
assert.equal(nothing.response.status, 404);
assert.equal(nothing.error && "message" in nothing.error && nothing.error.message, "not_found");
step("not found");

const shared = await vault.PUT("/folders/{id}/permissions", {
  params: { path: { id: folder.id } },
  body: { permissions: [{ principal: "user:bob", access: "read" }] },
});
assert(shared.data && "permissions" in shared.data, JSON.stringify(shared));
const { principal, access } = shared.data.permissions[0]!; // and pending, until bob accepts
assert.deepEqual({ principal, access }, { principal: "user:bob", access: "read" });
step("share");

const removed = await vault.DELETE("/documents/{id}", { params: { path: { id }, header: { "If-Match": '"2"' } } });
assert.equal(removed.response.status, 204, JSON.stringify(removed.error));
const gone = await vault.GET("/documents/{id}", { params: { path: { id } } });
assert.equal(gone.response.status, 404);
step("delete");
