// Forms of folders and documents in a dialog, and drag of entries onto folders.
import {csrf, toast} from "./console.js";

const dialog = document.createElement("dialog");
dialog.setAttribute("aria-label", "Change");
document.body.append(dialog);
dialog.addEventListener("close", () => dialog.replaceChildren());

// A sentence that tells what a form did is not told again when the page is loaded again.
if (document.querySelector("[data-done]")) {
	const here = new URL(location.href);
	here.searchParams.delete("done");
	here.searchParams.delete("deleted");
	history.replaceState(history.state, "", here);
}

document.addEventListener("click", event => {
	const link = event.target.closest("a[data-dialog]");
	if (event.target.closest("dialog [data-cancel]")) {
		event.preventDefault();
		dialog.close();
	} else if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0) {
		event.preventDefault();
		const menu = link.closest("details");
		if (menu) {
			menu.open = false;
			menu.querySelector("summary").focus(); // where the focus returns from the dialog
		}
		fetch(link.href).then(show).catch(() => location.href = link.href);
	}
});

dialog.addEventListener("submit", async event => {
	const form = event.target, button = event.submitter;
	if (event.defaultPrevented || form.method !== "post") {
		return;
	}
	event.preventDefault();
	button.disabled = true;
	try {
		const page = await post(form.action, new FormData(form, button), form.enctype);
		if (page.redirected) {
			location.href = page.url;
			return;
		}
		const files = form.querySelector("input[type=file]")?.files;
		await show(page);
		const field = dialog.querySelector("input[type=file]");
		if (field && files) {
			field.files = files; // the file that was chosen is chosen still
		}
	} catch {
		toast("The service cannot be reached. Nothing was lost: try again.");
	}
	button.disabled = false;
});

const post = (address, data, enctype) => fetch(address, {method: "POST", body: enctype === "multipart/form-data" ? data : new URLSearchParams(data)});

// show puts the form of a page into the dialog. A page without a form is loaded whole.
async function show(page) {
	const form = new DOMParser().parseFromString(await page.text(), "text/html").querySelector("[data-form]");
	if (!form) {
		if (page.ok) {
			location.href = page.url;
		} else {
			toast(page.status === 401 ? "Your sign-in has ended. Load the page again." : "This is not possible now. Load the page again.");
		}
		return;
	}
	dialog.replaceChildren(form);
	if (!dialog.open) {
		dialog.showModal();
	}
	const first = dialog.querySelector("[aria-invalid], [autofocus]") ?? dialog.querySelector(".chooser a, form input:not([type=hidden]), form button:not(.plain)");
	first?.focus();
	first?.select?.();
}

// What is dragged is an entry of this page: a document, or a folder.
let dragged;

document.addEventListener("dragstart", event => {
	const entry = event.target.closest?.("[data-document], li[data-folder]");
	dragged = entry;
	if (entry) {
		event.dataTransfer.setData("application/x-annals-entry", entry.dataset.document ?? entry.dataset.folder);
		event.dataTransfer.effectAllowed = "move";
	}
});
document.addEventListener("dragend", () => { dragged = undefined; mark(); });
document.addEventListener("dragover", event => {
	const place = placeOf(event);
	mark(place);
	if (place) {
		event.preventDefault();
		event.dataTransfer.dropEffect = "move";
	}
});
document.addEventListener("drop", event => {
	const place = placeOf(event), entry = dragged;
	mark();
	if (place) {
		event.preventDefault();
		move(entry, place);
	}
});

const placeOf = event => {
	const place = dragged && event.target.closest?.("[data-folder]");
	return place && place !== dragged && place.dataset.folder !== dragged.dataset.folder && place.getAttribute("aria-current") !== "page" ? place : undefined;
};

function mark(place) {
	document.querySelectorAll(".target").forEach(e => e !== place && e.classList.remove("target"));
	place?.classList.add("target");
}

// move moves an entry as its form does.
async function move(entry, place) {
	const address = (entry.dataset.document ? "/documents/" + entry.dataset.document : "/folders/" + entry.dataset.folder) + "/change";
	const page = await moveTo(place.dataset.folder, address, entry.dataset.version);
	if (page?.redirected) {
		entry.remove();
		toast(`Moved to ${place.textContent.trim()}.`, "Undo", async () => {
			const back = await moveTo(entry.dataset.in, address);
			back?.redirected ? location.reload() : back && show(back);
		});
	} else if (page) {
		show(page);
	}
}

// moveTo sends a form that moves something. Without a version it is the one that is there now.
async function moveTo(folder, address, version) {
	try {
		if (!version) {
			const form = new DOMParser().parseFromString(await (await fetch(address + "?do=move")).text(), "text/html");
			version = form.querySelector("[data-form] [name=version]").value;
		}
		return await post(address, new URLSearchParams({csrf: csrf(), do: "move", to: folder, version, back: "/folders"}));
	} catch {
		toast("It was not moved, because the service cannot be reached.");
	}
}
