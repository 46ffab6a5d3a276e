// The answer, when it takes a while to be written.
import {send} from "./console.js";

const place = document.querySelector("[data-answer]");
if (place) {
	answer();
}

// answer shows the sentences of the answer as they are written, and then the whole of it as
// the server renders it.
async function answer() {
	const text = document.getElementById("answer-text");
	const query = new URLSearchParams(location.search);
	const question = {query: query.get("q")};
	if (query.get("folder")) {
		question.folder_name = query.get("folder");
	}
	if (query.get("tag")) {
		question.tags = [query.get("tag")];
	}
	try {
		const reply = await send("/core/ask?stream=true", {method: "POST", headers: {"Content-Type": "application/json", "Accept": "text/event-stream"}, body: JSON.stringify(question)});
		if (!reply.ok) {
			throw new Error((await reply.json()).detail);
		}
		for await (const event of events(reply.body)) {
			if (event.event_type === "sentence") {
				text.append(event.text + " ");
			} else if (event.event_type === "complete") {
				await whole(event);
			} else if (event.event_type === "error") {
				throw new Error(event.message);
			}
		}
	} catch (error) {
		place.querySelector(".verdict").textContent = "No answer";
		text.textContent = typeof error.message === "string" ? error.message : "The answer could not be had. The passages below were found.";
	}
}

// whole lets the server render an answer.
async function whole(answer) {
	const form = new URLSearchParams({answer: JSON.stringify(answer)});
	const reply = await fetch("/console/answer" + location.search, {method: "POST", body: form, headers: {"X-CSRF-Token": document.querySelector('meta[name="csrf"]').content}});
	if (reply.ok) {
		const page = new DOMParser().parseFromString(await reply.text(), "text/html");
		place.replaceWith(page.getElementById("answer"));
	}
}

// events yields the events of a stream.
async function* events(body) {
	let rest = "";
	for await (const part of body.pipeThrough(new TextDecoderStream())) {
		rest += part;
		const blocks = rest.split("\n\n");
		rest = blocks.pop();
		for (const block of blocks) {
			if (block.startsWith("data: ")) {
				yield JSON.parse(block.slice(6));
			}
		}
	}
}
