// Passkeys: signs in with one, and makes new ones.

const text = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));

const status = document.getElementById("passkey-status");

function say(problem) {
  status.textContent = problem;
  status.hidden = false;
}

// ask gets a question from the service, and the browser's answer to it into the form.
async function ask(form, url, fields, answer) {
  const reply = await fetch(url, {method: "POST", body: new URLSearchParams({token: form.elements.token.value, ...fields})});
  const question = reply.ok ? await reply.json() : {problem: "The service did not answer. Load the page again."};
  if (question.problem) {
    say(question.problem);
    return;
  }
  try {
    form.elements.credential.value = JSON.stringify(await answer(question.options));
  } catch (e) {
    say(e.name === "InvalidStateError" ? "This device has a passkey for you here already." : "The browser gave no passkey. Try again, or use your password.");
    return;
  }
  form.elements.ceremony.value = question.ceremony;
  form.submit();
}

async function get(options) {
  options.challenge = bytes(options.challenge);
  const {id, rawId, type, response: r} = await navigator.credentials.get({publicKey: options});
  return {
    id, type, rawId: text(rawId), clientExtensionResults: {},
    response: {
      clientDataJSON: text(r.clientDataJSON), authenticatorData: text(r.authenticatorData), signature: text(r.signature),
      userHandle: r.userHandle ? text(r.userHandle) : "",
    },
  };
}

async function create(options) {
  options.challenge = bytes(options.challenge);
  options.user.id = bytes(options.user.id);
  for (const known of options.excludeCredentials || []) known.id = bytes(known.id);
  const {id, rawId, type, response: r} = await navigator.credentials.create({publicKey: options});
  return {
    id, type, rawId: text(rawId), clientExtensionResults: {},
    response: {clientDataJSON: text(r.clientDataJSON), attestationObject: text(r.attestationObject), transports: r.getTransports ? r.getTransports() : []},
  };
}

if (window.PublicKeyCredential && window.isSecureContext) {
  for (const part of document.querySelectorAll(".passkey")) part.hidden = false;
  const signIn = document.querySelector('form[action$="/passkey"]:not([action$="/security/passkey"])');
  signIn?.addEventListener("submit", (event) => {
    event.preventDefault();
    ask(signIn, new URL("passkey/question", signIn.action), {}, get);
  });
  const add = document.querySelector('form[action$="/security/passkey"]');
  add?.addEventListener("submit", (event) => {
    event.preventDefault();
    const password = add.elements.password.value;
    ask(add, add.action.replace(/\/passkey$/, ""), {do: "passkey", password}, create);
    add.elements.password.value = "";
  });
}
