// events yields the events of a stream of the REST interface. alive, if given, is called
// whenever bytes arrive, also for comments that only keep the connection open.
export async function* events(body, alive = () => {}) {
	const reader = body.pipeThrough(new TextDecoderStream()).getReader();
	let rest = "";
	try {
		for (;;) {
			const {done, value} = await reader.read();
			if (done) {
				return;
			}
			alive();
			const blocks = (rest + value).split("\n\n");
			rest = blocks.pop();
			for (const block of blocks) {
				if (block.startsWith("data: ")) {
					yield JSON.parse(block.slice(6));
				}
			}
		}
	} finally {
		reader.cancel().catch(() => {});
	}
}
