// The state of the read models, read again while the page is seen.
import {toast} from "./console.js";

let place = document.getElementById("models");
let busy = "busy" in place.dataset;

setTimeout(again, pause());

// pause is short while something is being rebuilt.
function pause() {
	return busy ? 1000 : 10000;
}

async function again() {
	const asks = place.querySelector("details[open]"); // somebody is about to press a button
	if (!document.hidden && !asks) {
		try {
			await refresh();
		} catch {
			// The next time may do.
		}
	}
	setTimeout(again, pause());
}

async function refresh() {
	const reply = await fetch("/admin?only=models");
	const fresh = reply.ok && new DOMParser().parseFromString(await reply.text(), "text/html").getElementById("models");
	if (!fresh || place.querySelector("details[open]")) {
		return;
	}
	const focus = [...place.querySelectorAll("a, summary, button")].indexOf(document.activeElement);
	place.replaceWith(fresh);
	place = fresh;
	if (focus >= 0) {
		place.querySelectorAll("a, summary, button")[focus]?.focus();
	}
	const was = busy;
	busy = "busy" in place.dataset;
	if (was && !busy) {
		toast("The rebuild has ended.");
	}
}

document.addEventListener("click", event => {
	if (event.target.closest("[data-refresh]")) {
		event.preventDefault();
		refresh();
	}
});
