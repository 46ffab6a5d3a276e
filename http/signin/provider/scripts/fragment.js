// Keeps the fragment of the URL, which names the page of a document, through the pages of the
// sign-in. Browsers keep it across redirects; here it is added to the URLs of forms and links.
// This script must run after the others, which find forms by their URLs.
if (location.hash.length > 1 && location.hash.length < 200) {
  for (const form of document.querySelectorAll("form")) form.action = new URL(location.hash, form.action).href;
  for (const link of document.querySelectorAll("a.onward")) link.href = new URL(location.hash, link.href).href;
}
