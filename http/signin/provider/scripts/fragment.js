// Keeps what is behind the "#" of the address, the page of a document that is to be
// opened, on the way through the sign-in: a browser keeps it over redirects by itself,
// and with the address that a form is sent to. It comes after the pages' other scripts,
// which find forms by their addresses.
if (location.hash.length > 1 && location.hash.length < 200) {
  for (const form of document.querySelectorAll("form")) form.action = new URL(location.hash, form.action).href;
  for (const link of document.querySelectorAll("a.onward")) link.href = new URL(location.hash, link.href).href;
}
