// Documents: pages are turned without loading the whole page again, and passages are opened
// beside their list where the window is wide enough.
const wide = matchMedia("(min-width: 70rem)");
const results = document.getElementById("results");
const kept = ["q", "folder", "tag"]; // parameters of the question

let opener = null; // the link that opened the document
let latest = 0; // number of the last request

// alone returns the address at which a document stands alone, and beside the one at which it
// stands beside the passages. Both say the same.
function alone(address) {
	const url = new URL(address, location.href), id = url.searchParams.get("open");
	if (id) {
		url.searchParams.delete("open");
		url.pathname = "/documents/" + encodeURIComponent(id);
	}
	return url;
}

function beside(address) {
	const url = new URL(address, location.href), here = new URLSearchParams(location.search);
	if (url.pathname.startsWith("/documents/")) {
		url.searchParams.set("open", url.pathname.slice("/documents/".length));
		url.pathname = "/";
	}
	for (const name of kept) {
		if (here.has(name)) {
			url.searchParams.set(name, here.get(name));
		}
	}
	return url;
}

// show loads the document at an address into the page. It is a new state of the page unless
// push is false.
async function show(address, push = true) {
	const target = results ? beside(address) : alone(address);
	target.hash = "";
	const request = ++latest, old = document.getElementById("viewer");
	old?.setAttribute("aria-busy", "true");
	const only = new URL(target);
	if (results) {
		only.searchParams.set("only", "document"); // the question is not asked again
	}
	try {
		const reply = await fetch(only);
		const page = new DOMParser().parseFromString(await reply.text(), "text/html");
		const viewer = page.getElementById("viewer");
		if (request !== latest) {
			return; // another one was asked for meanwhile
		}
		if (!viewer || reply.redirected) {
			throw new Error("there is no document on the page");
		}
		const focused = old?.contains(document.activeElement) && document.activeElement.getAttribute("aria-label");
		if (old) {
			old.replaceWith(viewer);
		} else {
			results.append(viewer);
		}
		if (push) {
			history.pushState({}, "", target);
		}
		document.title = page.title;
		for (const link of document.querySelectorAll("#results [data-view]")) {
			if (same(link.href, target)) {
				link.setAttribute("aria-current", "true");
			} else {
				link.removeAttribute("aria-current");
			}
		}
		const again = focused && viewer.querySelector(`[aria-label="${CSS.escape(focused)}"]`);
		(again || viewer).focus({preventScroll: true});
		settle(viewer);
	} catch {
		location.href = target;
	}
}

// same reports whether two addresses are of the same passage.
function same(a, b) {
	const x = beside(a).searchParams, y = beside(b).searchParams;
	return ["open", "hit", "words"].every(name => x.get(name) === y.get(name));
}

// reveal scrolls to the passage: only the document where that scrolls by itself.
function reveal(viewer) {
	const hit = viewer.querySelector("#hit");
	if (!hit) {
		return;
	}
	if (viewer.scrollHeight > viewer.clientHeight + 1 && getComputedStyle(viewer).overflowY === "auto") {
		viewer.scrollTop += hit.getBoundingClientRect().top - viewer.getBoundingClientRect().top - viewer.clientHeight / 2;
	} else {
		hit.scrollIntoView({block: "center", inline: "center"});
	}
}

// close takes the document away from beside the passages.
function close() {
	const viewer = document.getElementById("viewer");
	latest++;
	viewer?.remove();
	const url = new URL(location.pathname, location.href), here = new URLSearchParams(location.search);
	for (const name of kept) {
		if (here.has(name)) {
			url.searchParams.set(name, here.get(name));
		}
	}
	history.pushState({}, "", url);
	const current = opener?.isConnected ? opener : document.querySelector("#results [data-view][aria-current]");
	for (const link of document.querySelectorAll("#results [data-view][aria-current]")) {
		link.removeAttribute("aria-current");
	}
	(current ?? document.querySelector("#results [data-view]"))?.focus();
}

document.addEventListener("click", event => {
	const link = event.target.closest("a");
	if (!link || event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) {
		return;
	}
	if (link.matches("[data-view]") && results && wide.matches) {
		event.preventDefault();
		opener = link;
		show(link.href);
	} else if (link.matches("#viewer [data-turn]")) {
		event.preventDefault();
		show(link.href);
	} else if (link.matches("#viewer [data-close]")) {
		event.preventDefault();
		close();
	}
});

document.addEventListener("submit", event => {
	if (event.target.matches("#viewer [data-page]")) {
		event.preventDefault();
		show(event.target.action + "?" + new URLSearchParams(new FormData(event.target)));
	}
});

document.addEventListener("keydown", event => {
	const viewer = document.getElementById("viewer"), at = event.target;
	if (!viewer || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || document.querySelector("dialog[open]")) {
		return;
	}
	if (event.key === "Escape" && results && !document.querySelector("details.who[open], details.more[open]")) {
		close();
		return;
	}
	if (/^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName) || at.closest(".sheet[tabindex]")) {
		return; // the keys move the cursor, or an enlarged page
	}
	if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
		viewer.querySelector(event.key === "ArrowLeft" ? "a[rel=prev]" : "a[rel=next]")?.click();
	}
});

addEventListener("popstate", () => {
	if (results && !new URLSearchParams(location.search).has("open")) {
		latest++;
		document.getElementById("viewer")?.remove();
	} else if (results || document.getElementById("viewer")) {
		show(location.href, false);
	}
});

// settle scrolls to the passage, and once more when the picture is there.
function settle(viewer) {
	const picture = viewer.querySelector("img");
	reveal(viewer);
	if (picture && !picture.complete) {
		picture.addEventListener("load", () => reveal(viewer), {once: true});
	}
}

const first = document.getElementById("viewer");
if (first) {
	settle(first);
}
