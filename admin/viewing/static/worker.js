// The player's own worker (ReplayWeb.page, sw.js) runs below. This rule adds a policy to each of its answers: an
// archived page reaches no other server, not by a WebSocket either, which the player's policy would allow.
"use strict";
(() => {
  if (typeof FetchEvent === "undefined") return; // the player also loads this script as a worker that answers nothing
  const policy = "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; connect-src 'self' data: blob:; "
    + "frame-src 'self' data: blob: about:; object-src 'none'; form-action 'self'; base-uri 'self' http: https:";
  const respond = FetchEvent.prototype.respondWith;
  const guarded = async (answer) => {
    const response = await answer;
    if (!response || response.type === "error" || response.type === "opaque" || response.redirected) return response;
    try {
      const headers = new Headers(response.headers);
      headers.append("Content-Security-Policy", policy);
      const body = [101, 204, 205, 304].includes(response.status) ? null : response.body;
      return new Response(body, { status: response.status, statusText: response.statusText, headers });
    } catch {
      return response;
    }
  };
  FetchEvent.prototype.respondWith = function (answer) {
    respond.call(this, guarded(answer));
  };
})();
importScripts("../player/sw.js");
