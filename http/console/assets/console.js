// What every page can do: keys, texts that are kept while they are typed, and messages.

// What is kept for the tab belongs to one user. Pages that ask for a sign-in name none.
const user = document.querySelector('meta[name="user"]').content;
if (user && sessionStorage.getItem("user") !== user) {
	sessionStorage.clear();
	sessionStorage.setItem("user", user);
}

// send makes a call of the REST interface for the visitor. path begins with /core/ or /vault/.
export async function send(path, options = {}) {
	const reply = await fetch("/console/api" + path, {...options, headers: {"X-CSRF-Token": csrf(), ...options.headers}});
	if (reply.status === 401) {
		signedOut();
	}
	return reply;
}

export const csrf = () => document.querySelector('meta[name="csrf"]').content;

// sentence returns what a refusal of the REST interface says, "" if it says nothing.
export function sentence(text) {
	try {
		const {detail, message} = JSON.parse(text);
		return [detail ?? message ?? ""].flat().map(one => one.msg ?? one).join("; ");
	} catch {
		return "";
	}
}

// toast shows a short message. action, if given, is a function that a button runs.
export function toast(text, label, action) {
	const box = document.createElement("div");
	box.className = "toast";
	box.append(text);
	if (action) {
		const button = document.createElement("button");
		button.className = "link";
		button.textContent = label;
		button.onclick = () => { box.remove(); action(); };
		box.append(" ", button);
	}
	document.getElementById("toasts").append(box);
	setTimeout(() => box.remove(), action ? 12000 : 6000);
}

// A page that stays open keeps its sign-in while it is looked at.
setInterval(() => document.hidden || fetch("/console/renew", {method: "POST", headers: {"X-CSRF-Token": csrf()}}), 20 * 60 * 1000);

let told = false;

export function signedOut() {
	if (told) {
		return;
	}
	told = true;
	toast("Your sign-in has ended.", "Sign in again", () => { open("/console/login?to=/account"); told = false; });
}

// A text that is being typed survives a reload, a sign-in and a crash of the browser's tab.
for (const field of document.querySelectorAll("[data-keep]")) {
	const key = "draft " + field.dataset.keep;
	const kept = sessionStorage.getItem(key);
	if (kept && !field.value) {
		field.value = kept;
	}
	field.addEventListener("input", () => sessionStorage.setItem(key, field.value));
	field.form?.addEventListener("submit", () => sessionStorage.removeItem(key));
}

// Fields suggest tags as soon as they are entered. Reading all tags takes too long for a page.
document.addEventListener("focusin", async event => {
	const list = event.target.list;
	if (list?.dataset.from && !list.children.length) {
		const reply = await send(list.dataset.from);
		const tags = reply.ok ? (await reply.json()).tags.slice(0, 1000) : [];
		list.replaceChildren(...tags.map(tag => new Option(tag, tag)));
	}
});

// A form asks before it destroys something.
document.addEventListener("submit", event => {
	const question = event.submitter?.dataset.confirm ?? event.target.dataset.confirm;
	if (question && !confirm(question)) {
		event.preventDefault();
	}
});

const places = {a: "/", f: "/folders", i: "/import", h: "/history"};
let going = false;

document.addEventListener("keydown", event => {
	const at = event.target;
	if (event.ctrlKey || event.metaKey || event.altKey) {
		return;
	}
	if (event.key === "Escape") {
		for (const menu of document.querySelectorAll("details.who[open], details.more[open]")) {
			menu.open = false;
			menu.querySelector("summary").focus();
		}
	}
	if (at.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName) || document.querySelector("dialog[open]")) {
		return;
	}
	if (going && places[event.key]) {
		location.href = places[event.key];
	}
	going = event.key === "g";
	switch (event.key) {
	case "/": {
		const field = document.querySelector("input[type=search]");
		event.preventDefault();
		if (field) {
			field.focus();
			field.select();
		} else {
			location.href = "/";
		}
		break;
	}
	case "?":
		document.getElementById("keys").showModal();
		break;
	case "j":
	case "k":
		step(event.key === "j" ? 1 : -1);
		break;
	}
});

// step moves the focus to the first link of the next or previous entry of the page's list.
function step(by) {
	const entries = [...document.querySelectorAll("[data-list] > *")].map(e => e.querySelector("a")).filter(Boolean);
	const now = entries.findIndex(a => a.closest("[data-list] > *").contains(document.activeElement));
	const next = entries[Math.max(0, Math.min(entries.length - 1, now < 0 ? 0 : now + by))];
	next?.focus();
	next?.scrollIntoView({block: "nearest"});
}

// Menus close when something else is clicked.
document.addEventListener("click", event => {
	for (const menu of document.querySelectorAll("details.who[open], details.more[open]")) {
		if (!menu.contains(event.target)) {
			menu.open = false;
		}
	}
});

// Times are written in UTC. They are shown in the zone of the browser, with its name in the title.
const times = options => new Intl.DateTimeFormat("en-GB", options);
export const day = times({dateStyle: "long"});
const hour = times({timeStyle: "short"}), clock = times({dateStyle: "long", timeStyle: "short"}), exact = times({dateStyle: "full", timeStyle: "long"});
const zone = exact.resolvedOptions().timeZone;

function local(within) {
	for (const e of within.querySelectorAll("time[datetime]:not([data-local]), option[data-time]:not([data-local])")) {
		const at = new Date(e.dateTime ?? e.dataset.time);
		if (!isNaN(at)) {
			e.textContent = e.textContent.replace(/\d+ [A-Z][a-z]+ \d{4}(, \d\d:\d\d UTC)?|\d\d:\d\d/, (found, both) => (both ? clock : found.includes(":") ? hour : day).format(at));
			e.title = exact.format(at) + " (" + zone + ")";
		}
		e.dataset.local = "";
	}
}

local(document);
new MutationObserver(changes => new Set(changes.map(c => c.target)).forEach(local)).observe(document.body, {childList: true, subtree: true});
