// Before the sign-in form is sent, requests the challenge for the name, and computes its proof
// of work if one is required.
import {tryPart} from "./work.js";

const form = document.querySelector('form[action$="/login"]');
const status = document.getElementById("progress");

// solve computes the proof in workers, so that the page stays responsive.
async function solve({challenge, seed, bits, parts}) {
  const counters = new Array(parts).fill(-1);
  let done = 0;
  const report = (part, counter) => {
    counters[part] = counter;
    done++;
    status.textContent = `Wrong passwords were tried for this name, so your browser has to do some work first. Done: ${done} of ${parts} parts.`;
  };
  status.hidden = false;
  status.textContent = "Wrong passwords were tried for this name, so your browser has to do some work first. This takes a few seconds.";
  try {
    await inWorkers(seed, bits, parts, report);
  } catch {
    await inPieces(seed, bits, counters, report);
  }
  return challenge + ":" + counters.join(",");
}

function inWorkers(seed, bits, parts, report) {
  const workers = [];
  const share = Array.from({length: Math.max(1, Math.min(4, navigator.hardwareConcurrency || 1))}, () => []);
  for (let part = 0; part < parts; part++) share[part % share.length].push(part);
  return new Promise((resolve, reject) => {
    let left = parts;
    for (const parts of share) {
      const worker = new Worker(new URL("./worker.js", import.meta.url), {type: "module"});
      workers.push(worker);
      worker.onerror = reject;
      worker.onmessage = ({data}) => {
        report(data.part, data.counter);
        if (--left === 0) resolve();
      };
      worker.postMessage({seed, bits, parts});
    }
  }).finally(() => workers.forEach((worker) => worker.terminate()));
}

// inPieces computes the proof in the page, for browsers that cannot run modules in workers.
async function inPieces(seed, bits, counters, report) {
  for (let part = 0; part < counters.length; part++) {
    for (let from = 0; counters[part] < 0; from += 2 ** 14) {
      const counter = tryPart(seed, bits, part, from, 2 ** 14);
      if (counter >= 0) report(part, counter);
      await new Promise((go) => setTimeout(go));
    }
  }
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = form.querySelector("button");
  button.disabled = true;
  try {
    const response = await fetch(new URL("proof", form.action), {
      method: "POST",
      body: new URLSearchParams({token: form.elements.token.value, username: form.elements.username.value}),
    });
    const challenge = await response.json();
    form.elements.proof.value = challenge.challenge ? await solve(challenge) : "";
  } catch {
    // The form is sent all the same; its response says what is wrong.
  }
  form.submit();
});

// If the user goes back to this page, the form can be sent again.
addEventListener("pageshow", () => {
  form.querySelector("button").disabled = false;
  status.hidden = true;
});
