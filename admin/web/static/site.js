// What needs a script: questions before something that can't be undone. Everything else works without.
"use strict";
document.addEventListener("submit", (event) => {
  const question = event.target.dataset ? event.target.dataset.confirm : "";
  if (question && !window.confirm(question)) {
    event.preventDefault();
    event.stopImmediatePropagation();
  }
}, true);
