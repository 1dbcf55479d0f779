// The bar names the page that the frame shows, its date and the dates beside it, when the reader follows a link there.
// The frame is archived content: what it says is shown as text, and becomes a parameter of the viewer's own addresses.
"use strict";
(() => {
  const frame = document.getElementById("player");
  const steps = document.querySelector(".steps");
  if (!frame || !steps) return;
  const origin = new URL(frame.src).origin;
  const shorten = (text) => (text.length > 200 ? `${text.slice(0, 199)}…` : text);
  const moment = (date) => date.replace("T", " ").replace("Z", "");
  const address = (place, url, timestamp) => {
    const found = new URL(place, location.href);
    found.searchParams.set("url", url);
    if (timestamp) found.searchParams.set("ts", timestamp);
    return found.href;
  };
  let asked = new URLSearchParams(location.search).get("url");
  const show = (found, url) => {
    document.getElementById("shown").textContent =
      found.shown ? moment(found.shown.date) : "No capture of this address is known";
    for (const part of ["earlier", "later"]) {
      const link = document.getElementById(part);
      link.hidden = !found[part];
      if (!found[part]) continue;
      link.href = address(steps.dataset.play, url, found[part].timestamp);
      link.querySelector("span").textContent = moment(found[part].date);
    }
    const pdf = document.getElementById("pdf");
    pdf.hidden = !found.is_pdf;
    if (found.is_pdf) pdf.querySelector("a").href = address(steps.dataset.play, url, found.shown.timestamp);
  };
  addEventListener("message", async (event) => {
    if (event.source !== frame.contentWindow || event.origin !== origin) return;
    const { url, ts } = event.data || {};
    if (typeof url !== "string" || !/^https?:\/\//.test(url) || url.length > 9000) return;
    const timestamp = /^\d{4,17}$/.test(ts) ? ts : new URLSearchParams(location.search).get("ts") || "";
    document.getElementById("address").textContent = shorten(url);
    const dates = document.getElementById("dates");
    dates.href = address(dates.href, url);
    const compare = new URL(address(document.getElementById("compare").href, url));
    compare.searchParams.set("b", timestamp.slice(0, 14));
    document.getElementById("compare").href = compare.href;
    history.replaceState(null, "", address(location.href, url, timestamp));
    asked = url;
    const answer = await fetch(address(steps.dataset.dates, url, timestamp));
    if (answer.ok && asked === url) show(await answer.json(), url);
  });
})();
