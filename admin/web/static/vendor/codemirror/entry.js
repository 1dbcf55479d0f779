// The parts of CodeMirror that the template editor uses; `static/editor.js` finds them as the global CodeMirror.
export { basicSetup } from "codemirror";
export { EditorState } from "@codemirror/state";
export { EditorView, keymap } from "@codemirror/view";
export { indentWithTab } from "@codemirror/commands";
export { indentUnit, syntaxHighlighting, HighlightStyle } from "@codemirror/language";
export { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
export { yaml } from "@codemirror/lang-yaml";
export { tags } from "@lezer/highlight";
