// The player's page tells the viewer's bar around it which archived page the reader sees.
"use strict";
document.querySelector("replay-web-page")?.addEventListener("rwp-url-change", (event) => {
  const { url, ts } = event.detail;
  if (url) parent.postMessage({ url, ts: String(ts || "") }, "*");
});
