"""This script writes docs/reference/profiles.md from the models: `.venv/bin/python docs/profile_table.py`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from frontier.definition.job import DeviceOverrides, Limits, PolitenessOverrides, Profile, RevisitRules, SeenRules

TARGET: Final = Path(__file__).resolve().parent / "reference" / "profiles.md"
EXAMPLES: Final = TARGET.with_suffix("")
ORDER: Final = ("domain-harvest", "one-site-with-ghosts", "front-page", "big-site", "feeds-and-pdfs")

HEAD: Final = """\
# Profiles

A profile says how a job harvests. `ghostfleet crawl --profile FILE` reads it as YAML when its name ends in `.yaml` or
`.yml`, as JSON when it ends in `.json`, and otherwise as TOML. Every key may be left out. The options of the command
line win over the profile; `--include`, `--exclude` and `--header` are added to it. An unknown key is an error that
suggests the nearest one. `ghostfleet profile check FILE` names everything that is wrong with a profile, each with its
file and line, or prints it with every key in force. Each run keeps its profile as `profile.json` in its folder.

A file may begin with `extends: [polite, traps.yaml]`: the values of these profiles come first
([Scope and rules](../how-to/scope-and-rules.md#profiles-that-extend-others)).

YAML is read by version 1.2: `yes` and `on` are texts, `true` and `null` are not. A file may have 1 MB, 20,000 lines
and 5,000 keys. Anchors, aliases, tags, directives and keys that are given twice are refused.

The forms of the admin site show each key by its name, with the key beside it.

## Which links are in scope

The first case that applies decides:

| # | the link | decision |
|---|---|---|
| 1 | matches a pattern of `exclude`, exceeds a bound on the URL, or makes a \
[chain](../how-to/crawl.md#redirects-and-other-chains) too long | rejected |
| 2 | is a seed | taken |
| 3 | is more than `hops` links away from the seed | rejected |
| 4 | is within `scope`, or matches a pattern of `include` | taken |
| 5 | is embedded, guessed, or a redirect's target | taken within `embed_hops`, `speculative_hops`, `redirect_hops` |
| 6 | any other | rejected |

The list `rules` comes after these cases, and the last of its rules that decides about the link counts:
[Scope and rules](../how-to/scope-and-rules.md).

An unfinished job can continue with other limits, politeness, headers and visitor, but not with another scope.

## Headers and secrets

**Headers are sent to every site of the crawl**, also to those that serve the embedded pictures and scripts of a page.
Request records have what was sent. The values of `Authorization` and `Cookie` in `headers` are never recorded. Name
other secrets, such as `X-Api-Key`, in `redact_headers`. The folder's `profile.json` has all values, so that the run
can be repeated, and then only its owner can read it. Other users of a machine can see the options of a running
command, but not the values of a profile.
"""

GROUPS: Final = (
    ("Keys", Profile, ""),
    (
        "[limits]",
        Limits,
        "The end of a job before its frontier is empty. A limit of an unfinished job can be raised.\n",
    ),
    (
        "[seen]",
        SeenRules,
        "URLs that have the same form after these changes are visited once. Heritrix calls them rules of"
        " canonicalisation. The last three keys say how a job knows the URLs that it has seen: [Choose the seen test of"
        " a large crawl](../how-to/crawl.md#choose-the-seen-test-of-a-large-crawl). A job keeps its table `seen` until"
        " it has finished.\n",
    ),
    ("[politeness]", PolitenessOverrides, "A key that is left out follows the setting `frontier.` of the same name.\n"),
    (
        "[device]",
        DeviceOverrides,
        "A key that is left out follows the setting `browsers.` of that subject. The User-Agent is `user_agent`.\n",
    ),
    ("[revisit]", RevisitRules, "[Crawl a site continuously](../how-to/crawl.md#crawl-continuously).\n"),
)
TABLES: Final = ("limits", "seen", "politeness", "device", "revisit")
"""Keys of the profile that have a section of their own."""


def document() -> str:
    """Return the whole of docs/reference/profiles.md."""
    parts = [HEAD]
    for title, model, words in GROUPS:
        parts.append(f"\n## {title}\n\n{words}{'\n' if words else ''}")
        parts.append("| key | name | default | values | meaning |\n|---|---|---|---|---|\n")
        schema = model.model_json_schema()
        for name, info in model.model_fields.items():
            if name not in TABLES:
                values, meaning = _values(schema, schema["properties"][name]), (info.description or "")
                cells = (f"`{name}`", info.title or "", _default(info.default), values, meaning.replace("|", "\\|"))
                parts.append(f"| {' | '.join(cells)} |\n")
    parts.append("\n## Examples\n")
    for name in ORDER:
        text = (EXAMPLES / f"{name}.toml").read_text("utf-8")
        parts.append(f"\n[`{name}.toml`](profiles/{name}.toml)\n\n```toml\n{text}```\n")
    return "".join(parts)


def _default(value: Any) -> str:
    if value is None or value in ("", (), {}):
        return "none"
    return f"`{value}`" if isinstance(value, str) else f"`{json.dumps(value)}`"


def _values(schema: dict[str, Any], field: dict[str, Any]) -> str:
    """Return the values that a key may have, in words."""
    field = _resolved(schema, field)
    kinds = [_resolved(schema, kind) for kind in field.get("anyOf", [field]) if kind.get("type") != "null"]
    kinds = [_with_items(schema, kind) for kind in kinds]
    return ", ".join(_kind(kind) for kind in kinds)


def _resolved(schema: dict[str, Any], kind: dict[str, Any]) -> dict[str, Any]:
    """Return a kind, or its definition where the schema only names the definition."""
    return schema["$defs"][kind["$ref"].rpartition("/")[2]] if "$ref" in kind else kind


def _with_items(schema: dict[str, Any], kind: dict[str, Any]) -> dict[str, Any]:
    """Return a kind with the definition of the things in its list, where the schema only names the definition."""
    reference = kind.get("items", {}).get("$ref")
    return {**kind, "items": schema["$defs"][reference.rpartition("/")[2]]} if reference else kind


def _kind(kind: dict[str, Any]) -> str:
    if "enum" in kind:
        return ", ".join(f"`{value}`" for value in kind["enum"])
    if kind["type"] in ("integer", "number"):
        bounds = [f"from {kind['minimum']:g}"] if "minimum" in kind else []
        bounds += [f"above {kind['exclusiveMinimum']:g}"] if "exclusiveMinimum" in kind else []
        bounds += [f"to {kind['maximum']:g}"] if "maximum" in kind else []
        return " ".join(["whole number" if kind["type"] == "integer" else "number", *bounds])
    if "enum" in (items := kind.get("items", {})):
        return "list of " + ", ".join(f"`{value}`" for value in items["enum"])
    return {"string": "text", "array": "list of texts", "object": "table of texts"}[kind["type"]]


if __name__ == "__main__":
    TARGET.write_text(document(), "utf-8")
