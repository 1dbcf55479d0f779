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
