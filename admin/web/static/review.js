// One key presses each button of the page on which people review captured pages. Everything works without it, too.
"use strict";
const stage = document.querySelector("[data-stage]");
const blend = document.querySelector("[data-blend]");
const BLENDED = ["slider", "overlay"];

function compareBy(mode) {
  stage.dataset.stage = mode;
  blend.closest("label").hidden = !BLENDED.includes(mode);
  for (const link of document.querySelectorAll("a[data-mode]")) {
    if (link.dataset.mode === mode) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
  try { sessionStorage.setItem("qa-mode", mode); } catch { /* the next page begins side by side */ }
}

if (stage) {
  let kept = "";
  try { kept = sessionStorage.getItem("qa-mode") ?? ""; } catch { /* storage is switched off */ }
  const isAsked = new URLSearchParams(location.search).has("mode");
  const isKnown = document.querySelector(`a[data-mode="${CSS.escape(kept)}"]`);
  compareBy(!isAsked && isKnown ? kept : stage.dataset.stage);
  blend.addEventListener("input", () => stage.style.setProperty("--blend", `${blend.value}%`));
  blend.addEventListener("pointerup", () => blend.blur());  // keys press buttons again
}
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-mode]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  compareBy(link.dataset.mode);
});
let isLeaving = false;
window.addEventListener("pageshow", () => { isLeaving = false; });
document.addEventListener("submit", () => { isLeaving = true; });
document.addEventListener("keydown", (event) => {
  const isField = event.target.closest("input, textarea, select, [contenteditable]");
  if (event.key === "Escape" && isField) event.target.blur();
  if (isField || isLeaving || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
  const key = CSS.escape(event.key.toLowerCase());
  const field = document.querySelector(`[data-focus="${key}"]`);
  const button = document.querySelector(`[data-key="${key}"]`);
  if (!field && !button) return;
  event.preventDefault();
  if (field) field.focus();
  else button.click();
});
