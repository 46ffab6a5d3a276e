// Solves parts of a proof of work beside the page, and reports each.
import {solvePart} from "./work.js";

onmessage = ({data: {seed, bits, parts}}) => {
  for (const part of parts) postMessage({part, counter: solvePart(seed, bits, part)});
};
