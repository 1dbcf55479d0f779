// The player's own worker (ReplayWeb.page, sw.js) runs below. This rule adds policies to each of its answers: an
// archived page reaches no other server, neither by a WebSocket, which the player's policy would allow, nor by WebRTC.
"use strict";
(() => {
  if (typeof FetchEvent === "undefined") return; // the player also loads this script as a worker that answers nothing
  const isChromium = Boolean(self.navigator.userAgentData);
  const policy = "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; connect-src 'self' data: blob:; "
    + `frame-src 'self' about: ${isChromium ? "data: blob:" : ""}; object-src 'none'; form-action 'self'; `
    + "base-uri 'self' http: https:; webrtc 'block'";
  const documents = ["document", "frame", "iframe", "embed", "object"];
  const scripts = ["worker", "sharedworker", "serviceworker"];
  const mark = "<!-- WB Insert -->"; // the player's own scripts, which come before those of the page, begin here

  // Chromium obeys `Connection-Allowlist` below it. In other browsers this script takes WebRTC away from the window of
  // an archived page and from the windows of the frames that the page makes: a frame is visited before the call that
  // inserted it returns, and the parser's frames before the next script runs.
  function withoutWebRtc() {
    // A page may replace the methods of its objects later, so that each one is taken here, and lists are walked by hand.
    const { defineProperty, getOwnPropertyDescriptor } = Object;
    const { apply } = Reflect;
    const { indexOf, search, slice } = String.prototype;
    const { setAttribute } = Element.prototype;
    const own = `<script>(${withoutWebRtc})();<\/script>`;
    const removed = ["RTCPeerConnection", "webkitRTCPeerConnection", "mozRTCPeerConnection"];
    const hooks = [];
    const inserts = {
      Node: "appendChild insertBefore replaceChild",
      Element: "append prepend before after replaceWith replaceChildren insertAdjacentElement insertAdjacentHTML "
        + "setHTML setHTMLUnsafe moveBefore innerHTML outerHTML",
      HTMLElement: "innerHTML outerHTML outerText",
      CharacterData: "before after replaceWith",
      Document: "append prepend replaceChildren write writeln open close execCommand",
      DocumentFragment: "append prepend replaceChildren",
      ShadowRoot: "innerHTML setHTML setHTMLUnsafe",
      Range: "insertNode surroundContents",
      HTMLIFrameElement: "contentWindow contentDocument",
      HTMLObjectElement: "contentWindow contentDocument",
    };
    for (const owner of Object.keys(inserts)) {
      for (const name of inserts[owner].split(" ")) hooks.push({ owner, name });
    }
    const guard = (realm) => {
      if (getOwnPropertyDescriptor(realm, "__withoutWebRtc")) return;
      defineProperty(realm, "__withoutWebRtc", { value: true });
      for (let at = 0; at !== removed.length; at += 1) delete realm[removed[at]];
      const visit = () => {
        for (let number = realm.length - 1; number !== -1; number -= 1) {
          try {
            guard(realm[number]);
            const frame = realm[number].frameElement;
            const text = frame.getAttribute("srcdoc");
            if (text !== null) {
              const at = apply(search, text, [/^\s*<!doctype/i]) === 0 ? apply(indexOf, text, [">"]) + 1 : 0;
              const has = apply(slice, text, [at, at + own.length]) === own;
              if (!has) apply(setAttribute, frame, ["srcdoc", apply(slice, text, [0, at]) + own + apply(slice, text, [at])]);
            }
          } catch {
            // the frame is of another origin
          }
        }
      };
      const hooked = (call, sees) => function (...values) {
        if (sees) visit();
        try {
          return apply(call, this, values);
        } finally {
          visit();
        }
      };
      for (let at = 0; at !== hooks.length; at += 1) {
        const { owner, name } = hooks[at];
        const prototype = realm[owner] ? realm[owner].prototype : undefined;
        const found = prototype ? getOwnPropertyDescriptor(prototype, name) : undefined;
        if (found ? found.configurable : false) {
          if (typeof found.value === "function") found.value = hooked(found.value, false);
          else if (name === "contentWindow" || name === "contentDocument") found.get = hooked(found.get, true);
          else if (found.set) found.set = hooked(found.set, false);
          defineProperty(prototype, name, found);
        }
      }
      new realm.MutationObserver(visit).observe(realm.document, { childList: true, subtree: true, attributeFilter: ["srcdoc"] });
      realm.document.addEventListener("load", visit, true);
      visit();
    };
    guard(self);
  }
  const inserted = `${mark}\n<script>//<![CDATA[\n(${withoutWebRtc})();\n//]]></script>`;

  // Put the script behind the mark, wherever the pieces of the body break.
  const inserting = () => {
    const [decoder, encoder] = ["latin1", new TextEncoder()];
    const marked = encoder.encode(mark);
    let held = new Uint8Array(0);
    let done = false;
    const find = (bytes) => {
      const text = new TextDecoder(decoder).decode(bytes);
      return text.indexOf(mark);
    };
    return new TransformStream({
      transform(piece, output) {
        if (done) return output.enqueue(piece);
        const bytes = new Uint8Array(held.length + piece.length);
        bytes.set(held);
        bytes.set(piece, held.length);
        const at = find(bytes);
        if (at >= 0) {
          done = true;
          output.enqueue(bytes.slice(0, at));
          output.enqueue(encoder.encode(inserted));
          return output.enqueue(bytes.slice(at + marked.length));
        }
        const kept = Math.max(0, bytes.length - marked.length + 1);
        output.enqueue(bytes.slice(0, kept));
        held = bytes.slice(kept);
      },
      flush(output) {
        output.enqueue(held);
      },
    });
  };

  const respond = FetchEvent.prototype.respondWith;
  const guarded = async (answer, request) => {
    const response = await answer;
    if (!response || response.type === "error") return response;
    const isDocument = documents.includes(request.destination) || request.mode === "navigate";
    // A style sheet or a module of another address needs that address; a document or a worker needs the policy.
    const needsPolicy = isDocument || scripts.includes(request.destination);
    if (!needsPolicy && (response.redirected || response.type.startsWith("opaque"))) return response;
    if (response.type === "opaqueredirect") return response; // the browser asks again, for the address of the target
    const headers = new Headers(response.headers);
    headers.append("Content-Security-Policy", policy);
    headers.set("Connection-Allowlist", "(response-origin); redirects=allow");
    headers.set("Origin-Agent-Cluster", "?1");
    const hasBody = ![101, 204, 205, 304].includes(response.status) && response.body;
    const isHtml = /html/i.test(headers.get("Content-Type") || "text/html");
    if (isDocument && !isHtml && !isChromium) {
      headers.append("Content-Security-Policy", "script-src 'none'"); // an SVG or XML document has no mark
    }
    const body = hasBody && isDocument && isHtml ? response.body.pipeThrough(inserting()) : response.body;
    return new Response(hasBody ? body : null, { status: response.status, statusText: response.statusText, headers });
  };
  FetchEvent.prototype.respondWith = function (answer) {
    respond.call(this, guarded(answer, this.request).catch(() => Response.error()));
  };
})();
importScripts("../player/sw.js");
