"""The catalogue reads all features from `tests/pages`, a folder for each subject.

A feature is the file `SUBJECT/NAME.html`. The file begins with a comment in TOML, which says what the page is about and
what has to be captured; the lines before one with `<body>` alone belong to the head. The folder `SUBJECT/NAME` has the
other files of the page, and `[files]` of the comment says how they are sent. `[page]` says this of the page itself, which
is `SUBJECT/NAME/index.html` where that exists. Code in `SUBJECT/answers.py` makes the other answers.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from support.pages.feature import Act, Answers, Feature, File, Proof, Reply

FOLDER: Final = Path(__file__).parents[2] / "pages"
KINDS: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".m3u8": "application/vnd.apple.mpegurl",
    ".mpd": "application/dash+xml",
    ".pdf": "application/pdf",
    ".svg": "image/svg+xml",
    ".vtt": "text/vtt",
    ".webmanifest": "application/manifest+json",
}
OTHER_KIND: Final = "text/plain; charset=utf-8"
_TELLS: Final = "<!--proof-->\n"
"""A file that begins so is the body of a document that tells the same parts as the page."""
_META: Final = '<meta charset="utf-8">'
_TUPLES: Final = ("parts", "login")


def _features(subject: Path) -> Iterator[Feature]:
    answers: Answers = {}
    if (subject / "answers.py").exists():
        answers = import_module(f"{FOLDER.name}.{subject.name}.answers").ANSWERS
    for path in sorted(subject.glob("*.html")):
        yield _feature(path, answers.get(path.stem, {}))


def _feature(path: Path, made: Mapping[str, File]) -> Feature:
    front, _, rest = path.read_text("utf-8").removeprefix("<!--\n").partition("-->\n")
    said = tomllib.loads(front)
    heads = said.pop("files", {})
    page = said.pop("page", {})
    head, _, body = rest.rpartition("\n<body>\n")
    said.update({name: tuple(said[name]) for name in _TUPLES if name in said})
    said["acts"] = tuple(Act(**each) for each in said.get("acts", ()))
    said["proofs"] = tuple(each if isinstance(each, str) else Proof(**each) for each in said.get("proofs", ()))
    feature = Feature(path.stem, body=body, head=head, **said)
    folder = path.with_suffix("")
    named = {each.relative_to(folder).as_posix() for each in folder.rglob("*") if each.is_file()}
    named -= {each.get("file", "") for each in heads.values()}
    files = {name: _reply(feature, folder, name, heads.get(name, {})) for name in sorted({*named, *heads})}
    feature = replace(feature, files={**files, **{name: file for name, file in made.items() if name}})
    if "" in made:
        return replace(feature, page=made[""])
    if "index.html" in files:
        return replace(feature, page=_reply(feature, folder, "index.html", page))
    return replace(feature, page=_page(feature, page)) if page else feature


def _reply(feature: Feature, folder: Path, name: str, said: Mapping[str, Any]) -> Reply:
    """Return a file of the page, as the comment says how it is sent."""
    options = dict(said)
    source = folder / options.pop("file", name)
    text = options.pop("body", "")
    if not text and source.is_file():
        text = source.read_text("utf-8")
    if text.startswith(_TELLS):
        text = feature.text(text.removeprefix(_TELLS))
    return _sent(text, {"kind": KINDS.get(source.suffix, OTHER_KIND), **options})


def _page(feature: Feature, said: Mapping[str, Any]) -> Reply:
    """Return the plain page in the encoding that its type names."""
    options = {"kind": KINDS[".html"], **said}
    codec = options["kind"].partition("charset=")[2] or "utf-8"
    text = feature.text()
    return _sent(text if codec == "utf-8" else text.replace(_META, "").encode(codec), options)


def _sent(body: str | bytes, said: Mapping[str, Any]) -> Reply:
    options = dict(said)
    for name in ("headers", "trailers"):
        options[name] = tuple(_field(line) for line in options.get(name, ()))
    options["early"] = options.get("early", "").encode()
    return Reply(body, **options)


def _field(line: str) -> tuple[str, str]:
    name, _, value = line.partition(": ")
    return name, value


GROUPS: Final = {
    each.name: tuple(_features(each)) for each in sorted(FOLDER.iterdir()) if each.is_dir() and each.name[0] not in "._"
}
FEATURES: Final = tuple(feature for group in GROUPS.values() for feature in group)
GAPS: Final = {feature.name: feature.gap for feature in FEATURES if feature.gap}
