// The pages of imports: they follow what happens, by the stream of events while there is one, and
// by asking again if not. The server alone renders states, so whatever was missed is right again
// after the next look.
import {send, signedOut} from "./console.js";
import {drop} from "./drop.js";
import {events} from "./stream.js";

const live = document.querySelector("[data-live]");
const lost = live.querySelector("[data-lost]");
const steps = JSON.parse(live.dataset.steps ?? "{}");
const silence = 20000; // a stream without bytes for so long is broken
const sleep = time => new Promise(done => setTimeout(done, time));

let took = 0;        // how long the last look at the state took
let changed = false; // whether it was another than before
const shown = new Map([...live.querySelectorAll("[data-part]")].map(part => [part.dataset.part, part.innerHTML]));

// look gets the page again, and puts in the parts that have changed.
async function look() {
	const began = performance.now();
	const reply = await fetch(location.href, {signal: AbortSignal.timeout(silence)});
	if (reply.status === 401) {
		signedOut();
	}
	const fresh = new DOMParser().parseFromString(await reply.text(), "text/html").querySelector("[data-live]");
	if (!reply.ok || !fresh) {
		throw new Error("no state");
	}
	changed = false;
	for (const part of fresh.querySelectorAll("[data-part]")) {
		put(part);
	}
	const was = live.hasAttribute("data-running");
	live.toggleAttribute("data-running", fresh.hasAttribute("data-running"));
	if (was && !live.hasAttribute("data-running")) {
		live.querySelector("[data-told]")?.append(document.getElementById("sentence").textContent);
	}
	took = performance.now() - began;
	lost.hidden = true;
}

function put(part) {
	const name = part.dataset.part, html = part.innerHTML;
	const old = live.querySelector(`[data-part="${name}"]`);
	if (!old || shown.get(name) === html) {
		return;
	}
	shown.set(name, html);
	changed = true;
	const open = old.querySelector("details")?.open;
	const focus = old.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
	old.replaceChildren(...part.childNodes);
	const details = old.querySelector("details");
	if (details && open !== undefined) {
		details.open = open;
	}
	if (focus) {
		[...old.querySelectorAll("a")].find(a => a.getAttribute("href") === focus)?.focus();
	}
}

let due = false;

// soon looks at the state, but not more often than the server can bear.
async function soon() {
	if (due) {
		return;
	}
	due = true;
	await sleep(Math.max(500, 8 * took));
	due = false;
	await look().catch(() => {});
}

// follow shows the events of the job until its stream ends. It reports whether the stream was
// of use.
async function follow() {
	const stop = new AbortController();
	const hide = () => document.hidden && stop.abort(); // a browser has few connections for a host
	document.addEventListener("visibilitychange", hide);
	let timer, came = 0;
	const alive = () => {
		clearTimeout(timer);
		timer = setTimeout(() => stop.abort(), silence);
		came++;
	};
	alive();
	try {
		const reply = await send(`/core/jobs/${live.dataset.job}/events`, {signal: stop.signal});
		if (!reply.ok) {
			return false;
		}
		for await (const event of events(reply.body, alive)) {
			show(event);
		}
	} catch {
		// The stream is broken, or the page hidden.
	} finally {
		clearTimeout(timer);
		stop.abort();
		document.removeEventListener("visibilitychange", hide);
	}
	return came > 2 || document.hidden;
}

function show(event) {
	const row = event.file_index === undefined ? null : live.querySelector(`[data-file="${event.file_index}"]`);
	const step = steps[event.current_step];
	const bar = row?.querySelector("progress");
	const [, page, pages] = /^page (\d+) of (\d+)$/.exec(event.message ?? "") ?? [];
	if (!step || !bar || !row.closest('[data-part="running"]') || event.current_step === "ocr" && !page) {
		soon();
		return;
	}
	row.querySelector("[data-step]").textContent = page ? `${step.Words} ${event.message}` : step.Words;
	bar.value = page ? step.From + (step.To - step.From) * (page - 1) / pages : step.From;
}

let running = false;

// run follows the imports of the page until all have ended.
async function run() {
	if (running) {
		return;
	}
	running = true;
	let pause = 1000, skip = 0, failed = 0;
	while (live.hasAttribute("data-running")) {
		if (document.hidden) {
			await new Promise(done => document.addEventListener("visibilitychange", done, {once: true}));
		}
		if (live.dataset.job && skip-- <= 0) {
			const useful = await follow();
			failed = useful ? 0 : failed + 1;
			skip = useful ? 0 : Math.min(2 ** failed, 16);
			pause = useful ? 1000 : pause;
		}
		try {
			await look();
		} catch {
			lost.textContent = "The service cannot be reached. An import goes on by itself; this page shows it again as soon as it can.";
			lost.hidden = false;
		}
		if (!live.hasAttribute("data-running")) {
			break;
		}
		pause = changed ? 1000 : Math.min(pause * 1.5, 10000);
		await sleep(Math.max(pause, 8 * took));
	}
	running = false;
}
run();

// An import that this tab has begun is listed at once.
document.addEventListener("imports", () => live.dataset.live === "list" && look().then(run, run));

// The form sends its files as dropped ones are sent, with their progress.
const form = document.getElementById("import");
form?.addEventListener("submit", event => {
	const files = [...form.querySelectorAll("input[type=file]")].flatMap(field => [...field.files]);
	if (files.length === 0) {
		return; // the server says what is missing
	}
	event.preventDefault();
	const to = {folder: form.elements.folder.value.trim(), tags: form.elements.tags.value};
	drop(files.map(file => ({file, path: file.webkitRelativePath.split("/").slice(0, -1).join("/")})), to)
		.then(jobs => jobs.length === 1 && location.pathname === "/import" && (location.href = "/import/" + jobs[0]));
	for (const field of form.querySelectorAll("input[type=file]")) {
		field.value = "";
	}
});
