// Entries stand under the days of the browser's time zone instead of those of UTC.
import {day} from "./console.js";

const old = [...document.querySelectorAll(".day")];
let last, list;
for (const entry of old.flatMap(section => [...section.querySelector("ul").children])) {
	const name = day.format(new Date(entry.querySelector("time").dateTime));
	if (name !== last) {
		const section = old[0].cloneNode(), head = document.createElement("h2");
		list = old[0].querySelector("ul").cloneNode();
		head.textContent = last = name;
		section.append(head, list);
		old[0].before(section);
	}
	list.append(entry);
}
old.forEach(section => section.remove());
