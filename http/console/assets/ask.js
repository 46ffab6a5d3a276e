// The answer, when it takes a while to be written.
import {csrf, send, sentence} from "./console.js";
import {events} from "./stream.js";

const silence = 60000; // a stream without bytes for so long is broken
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
	const stop = new AbortController();
	let timer;
	const alive = () => {
		clearTimeout(timer);
		timer = setTimeout(() => stop.abort(), silence);
	};
	alive();
	try {
		const reply = await send("/core/ask?stream=true", {method: "POST", headers: {"Content-Type": "application/json", "Accept": "text/event-stream"}, body: JSON.stringify(question), signal: stop.signal});
		if (!reply.ok) {
			return fail(sentence(await reply.text()));
		}
		for await (const event of events(reply.body, alive)) {
			if (event.event_type === "sentence") {
				text.append(event.text + " ");
			} else if (event.event_type === "complete") {
				return await whole(event);
			} else if (event.event_type === "error") {
				return fail(event.message);
			}
		}
		fail(); // the stream broke off
	} catch {
		fail();
	} finally {
		clearTimeout(timer);
	}

	function fail(why) {
		place.querySelector(".verdict").textContent = "No answer";
		text.textContent = why || "The connection was lost before the answer was complete. Load the page again to ask once more.";
	}
}

// whole lets the server render an answer.
async function whole(answer) {
	const form = new URLSearchParams({answer: JSON.stringify(answer)});
	const reply = await fetch("/console/answer" + location.search, {method: "POST", body: form, headers: {"X-CSRF-Token": csrf()}});
	if (!reply.ok) {
		throw new Error("the answer was not rendered");
	}
	place.replaceWith(new DOMParser().parseFromString(await reply.text(), "text/html").getElementById("answer"));
}
