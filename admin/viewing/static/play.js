// The bar names the page that the player shows, and leads to its dates, when the reader follows a link in the player.
"use strict";
document.querySelector("replay-web-page")?.addEventListener("rwp-url-change", (event) => {
  const url = event.detail.url;
  if (!url) return;
  document.getElementById("address").textContent = url.length > 200 ? `${url.slice(0, 199)}…` : url;
  const dates = document.getElementById("dates");
  const target = new URL(dates.href);
  target.searchParams.set("url", url);
  dates.href = target.href;
});
