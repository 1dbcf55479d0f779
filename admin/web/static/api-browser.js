// Shows the OpenAPI document with Swagger UI. Requests that change something carry the token of the session's forms.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const place = document.getElementById("api-browser");
  // Swagger UI gives some of its fields no name that a screen reader could read.
  new MutationObserver(() => {
    for (const field of place.querySelectorAll("textarea, select, input")) {
      if (!field.labels.length && !field.hasAttribute("aria-label")) {
        field.setAttribute("aria-label", field.placeholder || field.title || "Value");
      }
    }
  }).observe(place, { childList: true, subtree: true });
  window.SwaggerUIBundle({
    url: place.dataset.document,
    domNode: place,
    presets: [window.SwaggerUIBundle.presets.apis],
    layout: "BaseLayout",
    deepLinking: false,
    docExpansion: "none",
    filter: true,
    validatorUrl: null,
    syntaxHighlight: false,
    requestInterceptor: (request) => {
      const isOwn = new URL(request.url, window.location.href).origin === window.location.origin;
      if (isOwn && !["GET", "HEAD"].includes((request.method || "GET").toUpperCase())) {
        request.headers["X-CSRFToken"] = place.dataset.token;
      }
      return request;
    },
  });
});
