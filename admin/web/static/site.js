// What needs a script: questions before something that can't be undone. Everything else works without.
"use strict";
document.addEventListener("submit", (event) => {
  const question = event.target.dataset ? event.target.dataset.confirm : "";
  if (question && !window.confirm(question)) {
    event.preventDefault();
    event.stopImmediatePropagation();
  }
}, true);
// A part of a page that is replaced keeps what a person has opened in it.
const opened = new Set();
document.addEventListener("toggle", (event) => {
  const { id, tagName, open } = event.target;
  if (id && tagName === "DETAILS") opened[open ? "add" : "delete"](id);
}, true);
document.addEventListener("htmx:after:swap", () => {
  for (const id of opened) {
    const found = document.getElementById(id);
    if (found) found.open = true;
  }
});
// A page is not loaded again for a new login while it shows what a person has typed: the form that is sent keeps it.
document.addEventListener("htmx:before:response", (event) => {
  const fields = [...document.querySelectorAll("main input, main textarea")];
  const isTyped = fields.some((each) => each.value !== each.defaultValue);
  if (isTyped && event.detail.ctx.response.status === 401) event.preventDefault();
});
