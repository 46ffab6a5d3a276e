// Solves parts of a proof of work in a worker, and posts the counter of each part.
import {solvePart} from "./work.js";

onmessage = ({data: {seed, bits, parts}}) => {
  for (const part of parts) postMessage({part, counter: solvePart(seed, bits, part)});
};
