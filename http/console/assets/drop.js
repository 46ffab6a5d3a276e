// Files and folders that are dropped on a page are imported. A dock at the bottom of every page
// shows what is being sent, and the imports that this tab has begun until they have ended.
import {csrf, send, sentence, signedOut, toast} from "./console.js";

const batchFiles = 200, batchBytes = 64e6; // of one upload: what has to be sent again after an error
const mostFiles = 10000;                   // in one drop
const tries = 10;
const silence = 60000; // an upload that sends nothing for so long is broken

const sleep = time => new Promise(done => setTimeout(done, time));
const count = (n, one = "file") => `${n.toLocaleString("en")} ${one}${n === 1 ? "" : "s"}`;

function make(tag, set = {}, ...inside) {
	const made = Object.assign(document.createElement(tag), set);
	made.append(...inside);
	return made;
}

// reason says why a file is left out.
function reason(file, rules) {
	const ending = /\.[^.]+$/.exec(file.name.toLowerCase())?.[0] ?? "";
	if (/^(\.|~\$)/.test(file.name)) {
		return "Hidden";
	}
	if (!rules.formats.some(format => format.extension === ending)) {
		return ending ? `Type ${ending} cannot be imported` : "Without a type";
	}
	if (file.size === 0) {
		return "Empty";
	}
	return file.size > rules.file_bytes ? `Larger than ${Math.floor(rules.file_bytes / 1e6).toLocaleString("en")} MB` : "";
}

// leftOut tells which files are left out, and why.
function leftOut(left) {
	const lines = [...left].map(([why, names]) => make("li", {}, `${why} (${names.length}): `, make("bdi", {}, names.slice(0, 3).join(", ")), names.length > 3 ? " …" : ""));
	const all = [...left.values()].flat().length;
	return all ? make("details", {}, make("summary", {}, `${count(all)} left out`), make("ul", {}, ...lines)) : "";
}

// drop imports files. Each has its path, which is the folders above it that were dropped with
// it. to is the destination; without it, the visitor is asked. It resolves to the ids of the
// imports.
export async function drop(found, to) {
	const reply = await send("/core/formats").catch(() => null);
	if (!reply?.ok) {
		toast("The service cannot be reached. Try again in a moment.");
		return [];
	}
	const rules = await reply.json(), left = new Map(), wanted = [];
	for (const one of found) {
		const why = reason(one.file, rules);
		why ? left.set(why, [...left.get(why) ?? [], one.file.name]) : wanted.push(one);
	}
	if (wanted.length === 0) {
		fail(found.length ? "None of these files can be imported." : "There are no files in it.", left);
		return [];
	}
	to ??= await choose(wanted.length, rules.inbox, left);
	return to ? upload(wanted, {...to, folder: to.folder || rules.inbox}, left) : [];
}

// choose asks for the destination.
function choose(files, inbox, left) {
	const folder = make("input", {name: "folder", placeholder: inbox, dir: "auto", value: sessionStorage.getItem("import folder") ?? ""});
	const tags = make("input", {name: "tags", placeholder: "invoice, 2026", dir: "auto"});
	const dialog = make("dialog", {}, make("form", {method: "dialog"},
		make("h2", {}, `Import ${count(files)}`),
		make("p", {}, make("label", {}, "Folder ", folder)), make("p", {}, make("label", {}, "Tags ", tags)), leftOut(left),
		make("div", {className: "actions"}, make("button", {value: "yes"}, "Import"), make("button", {className: "plain"}, "Cancel"))));
	dialog.setAttribute("aria-label", "Where to import");
	document.body.append(dialog);
	dialog.showModal();
	return new Promise(done => dialog.addEventListener("close", () => {
		dialog.remove();
		if (dialog.returnValue !== "yes") {
			return done(null);
		}
		sessionStorage.setItem("import folder", folder.value);
		done({folder: folder.value.trim(), tags: tags.value});
	}));
}

let sending = 0; // uploads in progress
let last = Promise.resolve();

// upload sends files, after those that are being sent.
function upload(files, to, left) {
	sending++;
	return last = last.catch(() => {}).then(() => sendAll(files, to, left)).finally(() => {
		sending--;
		watch();
	});
}

async function sendAll(files, to, left) {
	const tags = to.tags.split(",").map(tag => tag.trim()).filter(Boolean);
	const total = files.reduce((n, one) => n + one.file.size, 0);
	const line = make("p"), bar = make("progress", {max: total || 1, value: 0}), jobs = [];
	bar.setAttribute("aria-label", "Files sent");
	say(line, bar, leftOut(left));
	store(running());
	let bytes = 0;
	for (let from = 0; from < files.length;) {
		const batch = [];
		let size = 0;
		while (from < files.length && batch.length < batchFiles && (batch.length === 0 || size + files[from].file.size <= batchBytes)) {
			size += files[from].file.size;
			batch.push(files[from++]);
		}
		line.replaceChildren(`Sending ${count(files.length)} to `, make("bdi", {}, to.folder), ` (${from - batch.length} sent). Stay on this page until all are sent.`);
		try {
			const job = await sendBatch(batch, to.folder, tags, part => { bar.value = bytes + size * part; }, text => line.replaceChildren(text));
			jobs.push(job.job_id);
			store([...begun(), {id: job.job_id, total: batch.length}]);
			document.dispatchEvent(new Event("imports"));
		} catch (error) {
			fail(`${count(files.length - from + batch.length)} of ${files.length.toLocaleString("en")} were not sent. ${error.message}`, left);
			return jobs;
		}
		bytes += size;
		bar.value = bytes;
	}
	note = leftOut(left);
	return jobs;
}

// sendBatch sends files as one import. It tries again after errors that pass, with the same
// key, so that nothing is imported twice.
async function sendBatch(batch, base, tags, moved, tell) {
	const form = new FormData();
	form.append("file_metadata", JSON.stringify(batch.map(one => ({folder_name: [base, one.path].filter(Boolean).join("/"), shown: true, tags}))));
	for (const one of batch) {
		form.append("files", one.file, one.file.name);
	}
	const key = [...crypto.getRandomValues(new Uint8Array(16))].map(n => n.toString(16).padStart(2, "0")).join("");
	for (let n = 1; ; n++) {
		const reply = await post(form, key, moved);
		if (reply.status === 200 || reply.status === 202) {
			return JSON.parse(reply.responseText);
		}
		if (reply.status === 401) {
			signedOut();
		}
		const wait = Number(reply.getResponseHeader("Retry-After")) || Math.min(2 ** n, 30);
		if (n === tries || wait > 120 || ![0, 401, 429].includes(reply.status) && reply.status < 500) {
			throw new Error(refusal(reply));
		}
		tell(`${reply.status === 0 ? "The connection was lost." : refusal(reply)} Trying again in ${wait} s.`);
		await sleep(1000 * wait);
		tell("Sending again. Stay on this page.");
	}
}

function post(form, key, moved) {
	return new Promise(done => {
		const request = new XMLHttpRequest();
		request.open("POST", "/console/api/core/ingest");
		request.setRequestHeader("X-CSRF-Token", csrf());
		request.setRequestHeader("Idempotency-Key", key);
		let timer;
		const alive = () => {
			clearTimeout(timer);
			timer = setTimeout(() => request.abort(), silence);
		};
		request.upload.onprogress = event => {
			alive();
			moved(event.loaded / event.total);
		};
		request.onloadend = () => {
			clearTimeout(timer);
			done(request);
		};
		alive();
		request.send(form);
	});
}

// refusal returns why an upload was refused.
const refusal = reply => sentence(reply.responseText)
	|| (reply.status === 0 ? "The service cannot be reached, or a file was changed meanwhile." : "The service failed. Try again in a moment.");

addEventListener("beforeunload", event => {
	if (sending > 0) {
		event.preventDefault();
	}
});

// The dock.
const dock = document.getElementById("dock");
let note = "";    // what the last drop left out
let held = false; // the dock shows a failure, which stays until it is closed

function say(...inside) {
	held = false;
	dock.replaceChildren(...inside);
	dock.hidden = false;
}

function fail(text, left) {
	say(make("p", {className: "problem"}, text), leftOut(left), close());
	held = true;
}

function close() {
	const onclick = () => {
		dock.hidden = true;
		held = false;
		note = "";
		store(running());
	};
	return make("button", {className: "link", type: "button", onclick}, "Close");
}

// The imports that this tab has begun, and of which the dock has not shown the end on a page
// before this one.
const begun = () => JSON.parse(sessionStorage.getItem("imports") ?? "[]");
const running = () => begun().filter(job => !job.done);
const store = jobs => sessionStorage.setItem("imports", JSON.stringify(jobs));

let watching = false;

// watch shows the imports that this tab has begun until they have ended. The pages of imports
// show them themselves.
async function watch() {
	if (location.pathname.startsWith("/import")) {
		if (!sending && !held) {
			note ? say("All are sent. ", note, close()) : dock.hidden = true;
		}
		return;
	}
	if (running().length && !sending && !held) {
		tellJobs();
	}
	if (watching) {
		return;
	}
	watching = true;
	for (let pause = 1000; running().length; pause = Math.min(pause * 1.3, 10000)) {
		await ask().catch(() => {}); // the next time
		if (!sending && !held) {
			tellJobs();
		}
		if (running().length) {
			await sleep(document.hidden ? 15000 : pause);
		}
	}
	watching = false;
}

// ask learns what has become of the imports that this tab has begun.
async function ask() {
	const known = new Map();
	let cursor = "";
	do {
		const reply = await send("/core/jobs?limit=100" + cursor);
		const list = await reply.json();
		list.jobs.forEach(job => known.set(job.job_id, job));
		cursor = list.next_cursor && "&cursor=" + list.next_cursor;
	} while (cursor && running().some(job => !known.has(job.id)));
	store(begun().map(job => {
		const now = known.get(job.id);
		return now ? {id: job.id, total: now.total_files, good: now.successful, bad: now.failed, done: now.done} : {...job, missed: (job.missed ?? 0) + 1, done: job.missed > 4}; // perhaps of another user
	}));
}

function tellJobs() {
	const jobs = begun(), done = running().length === 0;
	const [total, good, bad] = ["total", "good", "bad"].map(name => jobs.reduce((n, job) => n + (job[name] ?? 0), 0));
	const link = make("a", {href: jobs.length === 1 ? "/import/" + jobs[0].id : "/import"}, "Show");
	const text = done ? `${good.toLocaleString("en")} of ${count(total)} imported` : `Importing ${count(total)}: ${(good + bad).toLocaleString("en")} done`;
	const bar = make("progress", {max: total || 1, value: good + bad});
	bar.setAttribute("aria-label", "Files imported");
	say(make("p", {}, text + (bad ? `; ${bad.toLocaleString("en")} failed. ` : ". "), link, ...done ? [" · ", close()] : []), done ? "" : bar, note);
}

store(running());
watch();

// Dropping.
const overlay = make("div", {id: "drop", hidden: true, ariaHidden: "true"});
document.body.append(overlay);

// destination returns where files go that are dropped on an element: the folder that it, or the
// page, shows.
function destination(element) {
	const place = element.closest?.("[data-drop]") ?? document.querySelector("main [data-drop]");
	if (place?.tagName === "FORM") {
		return {folder: place.elements.folder.value.trim(), tags: place.elements.tags.value};
	}
	return place?.dataset.drop ? {folder: place.dataset.drop, tags: ""} : undefined;
}

const withFiles = event => event.dataTransfer?.types.includes("Files") && !document.querySelector("dialog[open]");

document.addEventListener("dragover", event => {
	if (!withFiles(event)) {
		return;
	}
	event.preventDefault();
	event.dataTransfer.dropEffect = "copy";
	const to = destination(event.target);
	const text = !to ? "Drop to import; you choose the folder next" : `Drop to import into ${to.folder || "your inbox"}`;
	if (overlay.textContent !== text) {
		overlay.replaceChildren(make("p", {dir: "auto"}, text));
	}
	overlay.hidden = false;
});

document.addEventListener("dragleave", event => {
	if (!event.relatedTarget) {
		overlay.hidden = true;
	}
});

document.addEventListener("drop", async event => {
	if (!withFiles(event)) {
		return;
	}
	event.preventDefault();
	overlay.hidden = true;
	const to = destination(event.target);
	const items = [...event.dataTransfer.items].filter(item => item.kind === "file");
	const entries = items.map(item => item.webkitGetAsEntry?.()).filter(Boolean);
	const plain = [...event.dataTransfer.files].map(file => ({file, path: ""}));
	await drop(entries.length ? await walk(entries) : plain, to);
});

// walk returns the files of folders and of all folders in them.
async function walk(entries) {
	const found = [], open = entries.map(entry => ({entry, path: ""}));
	let unread = 0;
	while (open.length && found.length < mostFiles) {
		const inside = await Promise.all(open.splice(0, 100).map(async ({entry, path}) => {
			try {
				if (entry.isFile) {
					found.push({file: await new Promise((done, fail) => entry.file(done, fail)), path});
					return [];
				}
				const reader = entry.createReader(), all = [];
				for (let more; (more = await new Promise((done, fail) => reader.readEntries(done, fail))).length;) {
					all.push(...more);
				}
				return all.map(one => ({entry: one, path: path ? `${path}/${entry.name}` : entry.name}));
			} catch {
				unread++;
				return [];
			}
		}));
		open.push(...inside.flat());
	}
	if (open.length || found.length > mostFiles) {
		toast(`Only the first ${count(mostFiles)} are imported. Drop the others afterwards.`);
	}
	if (unread) {
		toast(`${count(unread)} could not be read.`);
	}
	return found.slice(0, mostFiles);
}
