// Signs in with passkeys, and registers new ones.

const text = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));

const status = document.getElementById("passkey-status");

function show(problem) {
  status.textContent = problem;
  status.hidden = false;
}

// submit requests a challenge from the service, lets respond compute the browser's response, and
// submits the form with it.
async function submit(form, url, fields, respond) {
  const reply = await fetch(url, {method: "POST", body: new URLSearchParams({token: form.elements.token.value, ...fields})});
  const challenge = reply.ok ? await reply.json() : {problem: "The service did not reply. Reload the page and try again."};
  if (challenge.problem) {
    show(challenge.problem);
    return;
  }
  try {
    form.elements.credential.value = JSON.stringify(await respond(challenge.options));
  } catch (e) {
    show(e.name === "InvalidStateError" ? "This device already has a passkey of yours for this service." : "The browser returned no passkey. Try again, or use your password.");
    return;
  }
  form.elements.ceremony.value = challenge.ceremony;
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
    submit(signIn, new URL("passkey/question", signIn.action), {}, get);
  });
  const add = document.querySelector('form[action$="/security/passkey"]');
  add?.addEventListener("submit", (event) => {
    event.preventDefault();
    const password = add.elements.password.value;
    submit(add, add.action.replace(/\/passkey$/, ""), {do: "passkey", password}, create);
    add.elements.password.value = "";
  });
}
