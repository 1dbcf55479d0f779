// The text of a template in CodeMirror: highlighting, and problems at their lines. Without a script the textarea stays.
"use strict";
(() => {
  const nonce = document.currentScript.nonce;
  const area = document.querySelector("textarea[data-editor]");
  if (!area || !window.CodeMirror) return;
  const cm = window.CodeMirror;
  const state = document.getElementById("text-state");
  const colours = cm.HighlightStyle.define([
    { tag: [cm.tags.propertyName, cm.tags.definition(cm.tags.propertyName)], color: "var(--code-key)" },
    { tag: [cm.tags.string, cm.tags.special(cm.tags.string)], color: "var(--code-string)" },
    { tag: [cm.tags.comment, cm.tags.lineComment], color: "var(--code-comment)", fontStyle: "italic" },
    { tag: [cm.tags.meta, cm.tags.keyword, cm.tags.punctuation, cm.tags.separator], color: "var(--code-mark)" },
  ]);
  const looks = cm.EditorView.theme({
    "&": { border: "1px solid var(--pico-form-element-border-color)", maxHeight: "45rem", backgroundColor: "var(--pico-form-element-background-color)", color: "var(--pico-color)" },
    "&.cm-focused": { outline: "2px solid var(--pico-primary)" },
    ".cm-scroller": { overflow: "auto", fontFamily: "ui-monospace, monospace", fontSize: "0.9rem" },
    ".cm-content": { caretColor: "var(--pico-color)" },
    ".cm-cursor": { borderLeftColor: "var(--pico-color)" },
    ".cm-gutters": { backgroundColor: "var(--pico-card-background-color)", color: "var(--code-comment)", border: "none" },
    ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "transparent" },
    ".cm-activeLineGutter": { fontWeight: "700" },
    ".cm-tooltip, .cm-panels": { backgroundColor: "var(--pico-card-background-color)", color: "var(--pico-color)" },
  });
  const described = ["text-help", "text-state"].concat(document.getElementById("text-problem") ? ["text-problem"] : []);
  const view = new cm.EditorView({
    parent: area.parentElement,
    state: cm.EditorState.create({
      doc: area.value,
      extensions: [
        cm.EditorView.cspNonce.of(nonce),
        cm.basicSetup,
        cm.keymap.of([cm.indentWithTab]),
        cm.indentUnit.of("  "),
        cm.yaml(),
        cm.syntaxHighlighting(colours),
        cm.lintGutter(),
        looks,
        cm.EditorView.contentAttributes.of({ "aria-labelledby": "text-label", "aria-describedby": described.join(" "), spellcheck: "false", tabindex: "0" }),
        cm.EditorView.updateListener.of((update) => { if (update.docChanged) later(); }),
      ],
    }),
  });
  area.before(view.dom);
  area.hidden = true;
  document.querySelectorAll("[data-with-script]").forEach((each) => { each.hidden = false; });
  document.getElementById("text-label").addEventListener("click", () => view.focus());

  function show(problems) {
    const doc = view.state.doc;
    const marks = problems.map((each) => {
      const line = doc.line(Math.min(Math.max(each.line || 1, 1), doc.lines));
      const from = line.from + (line.text.length - line.text.trimStart().length);
      return { from: Math.min(from, line.to), to: line.to, severity: "error", message: each.message };
    });
    view.dispatch(cm.setDiagnostics(view.state, marks));
    view.contentDOM.setAttribute("aria-invalid", problems.length ? "true" : "false");
  }

  function tell(problems) {
    const first = problems[0];
    const place = first && first.line ? "Line " + first.line + ": " : "";
    const more = problems.length > 1 ? " (and " + (problems.length - 1) + " more)" : "";
    state.textContent = first ? place + first.message + more : "Nothing is wrong with the profile.";
  }

  let timer = 0;
  let asked = 0;
  function later() {
    clearTimeout(timer);
    timer = setTimeout(verify, 700);
  }

  async function verify() {
    const mine = ++asked;
    const sent = view.state.doc;
    const body = new FormData();
    body.set("text", sent.toString());
    try {
      const answer = await fetch(area.dataset.verify, { method: "POST", body, headers: { "X-CSRFToken": area.form.elements.csrf_token.value } });
      if (!answer.ok || mine !== asked || sent !== view.state.doc) return;
      const { problems } = await answer.json();
      show(problems);
      tell(problems);
    } catch {
      state.textContent = "The profile can't be verified while the site does not answer.";
    }
  }

  function jump(number) {
    const line = view.state.doc.line(Math.min(Math.max(number, 1), view.state.doc.lines));
    view.dispatch({ selection: { anchor: line.from }, effects: cm.EditorView.scrollIntoView(line.from, { y: "center" }) });
    view.focus();
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest ? event.target.closest("a[data-line]") : null;
    if (!link) return;
    event.preventDefault();
    jump(Number(link.dataset.line));
  });
  area.form.addEventListener("submit", () => { area.value = view.state.doc.toString(); });
  const given = JSON.parse(area.dataset.problems);
  if (given.length) show(given);
})();
