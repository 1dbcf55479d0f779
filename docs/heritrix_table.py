"""This script writes docs/heritrix.md from the tables of the conversion: `.venv/bin/python docs/heritrix_table.py`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Final

from frontier.definition.heritrix.beans import MAX_BYTES
from frontier.definition.heritrix.keys import KEYS, OUTCOMES, PROCESS_CLASSES, SEEN_RULES, HeritrixKey
from frontier.definition.rules.kinds import HERITRIX_ONLY

TARGET: Final = Path(__file__).resolve().parent / "heritrix.md"

HEAD: Final = """\
# From Heritrix to Ghostfleet

`ghostfleet profile from-heritrix` reads a `crawler-beans.cxml` of Heritrix 3 and writes a
[profile](reference/profiles.md), with a report of every key.

```console
$ ghostfleet profile from-heritrix crawler-beans.cxml --output weekly.yaml --seeds-output seeds.txt
$ ghostfleet profile check weekly.yaml
$ ghostfleet crawl --seeds-file seeds.txt --collection weekly --profile weekly.yaml
```

Without `--output` the profile goes to standard output and the report to standard error; `--json` prints both as one
document. The report sorts the keys by what became of them:

| in the report | `outcome` in JSON | meaning |
|---|---|---|
"""

TITLES: Final = {"mapped": "Mapped", "partly": "Mapped in part", "not-mapped": "Not mapped", "ignored": "Ignored"}

MIDDLE: Final = f"""
- Overrides (`simpleOverrides`, `longerOverrides`) are put in place of the values that they override, also by the number
  of a rule, such as `scope.rules[2].maxHops`.
- Where a file does not set a key, the profile has the value that Heritrix uses, such as a delay factor of 5. The report
  marks these values.
- Where several keys become one quota, the smallest value counts.
- Values with a placeholder (`${{…}}`, `#{{…}}`, `%{{…}}`) are left out and named.
- Imported files are named and not read. Beans and rules of unknown classes are named, and stop nothing.
- User names and passwords are neither shown nor taken over.
- A file may have {MAX_BYTES:,} bytes. Entities are refused. Groovy configurations, and the `order.xml` of Heritrix 1,
  can't be read.
- The command loads its result as `profile check` does, and says so.

## Scope

Heritrix runs through the decide rules in order, and the last one that decides counts. Our [built-in
steps](reference/profiles.md#which-links-are-in-scope) come first, and the lines of `rules` after them, as in Heritrix.
A rule therefore becomes a key as long as no line of `rules` has to come before it, and from then on a line, at its
place. `ghostfleet scope` explains the decision about a URL.

| decide rule | becomes |
|---|---|
| `RejectDecideRule`, `AcceptDecideRule` at the beginning | the end of our scope, which rejects; `scope: any` |
| `SurtPrefixedDecideRule` by seeds | `scope: prefix` |
| `OnDomainsDecideRule`, `OnHostsDecideRule` by seeds | `scope: domain`, `scope: host`; of several rules by seeds, the \
widest |
| `SurtPrefixedDecideRule` with `surtsSource` | lines `SurtPrefixed` of `rules` |
| `SurtPrefixedDecideRule` with `surtsSourceFile` | not mapped: the report has the line `SurtListFile` to add |
| `TooManyHopsDecideRule` | `hops`, which counts links and forms; or a line `TooManyHops`, which counts all steps |
| `TransclusionDecideRule` | `embed_hops`, `speculative_hops`, `redirect_hops`; or a line `Transclusion` |
| `PathologicalPathDecideRule`, `TooManyPathSegmentsDecideRule` | `max_path_repeats`, `max_path_segments`; or a line |
| `MatchesListRegexDecideRule`, `MatchesRegexDecideRule` | a line `MatchesRegex` for each expression |
| `NotMatchesRegexDecideRule`, `HopsPathMatchesRegexDecideRule`, `HasViaDecideRule`, `ViaSurtPrefixedDecideRule`, \
`MatchesFilePatternDecideRule`, `IpAddressSetDecideRule` | the line of the same name |
| `ContentTypeMatchesRegexDecideRule`, `FetchStatusDecideRule`, `MatchesStatusCodeDecideRule`, \
`FetchStatusMatchesRegexDecideRule`, `ResponseContentLengthDecideRule`, `ResourceNoLongerThanDecideRule` and their \
opposites | the line of the same name, which decides [whether the links of the answer are \
followed](how-to/scope-and-rules.md#rules-about-addresses-and-answers) |
| `ContentLengthDecideRule` | two lines, since Heritrix takes shorter answers in and rejects all others |
| `SeedAcceptDecideRule` | a built-in step, or a line `SeedAccept` |
| `PrerequisiteAcceptDecideRule` | nothing: robots.txt is asked for in any case |
| `SchemeNotInSetDecideRule` | nothing: other schemes than http and https are always rejected |
| `DecideRuleSequence` within a sequence | its rules, at its place |
| any rule with `enabled` set to false | nothing |

Expressions of Java become those of Python: `\\Q…\\E` and names of groups are rewritten. An expression that Python can't
have, such as `[a-z&&[^b]]`, is named and left out.

These rules have no counterpart:

| decide rule | reason |
|---|---|
"""

KEYS_HEAD: Final = """
## Keys

| bean of Heritrix | property | outcome | key of the profile | remark |
|---|---|---|---|---|
"""

SEEN_HEAD: Final = """
Without a policy in the file, the profile has the rules that Heritrix uses then: `LowercaseRule`, `StripWWWNRule`,
`StripSessionIDs` and `FixupQueryString`.

| rule of canonicalisation | key of the profile |
|---|---|
"""

TAIL: Final = """
## Sheets

A `SurtPrefixesSheetAssociation` becomes a line of `sheets` for each of its prefixes. A `DecideRuledSheetAssociation`
becomes one when its rule is a `MatchesRegexDecideRule` or a `MatchesListRegexDecideRule`. Of several that hold for a
URL, the longest prefix counts, and an expression before all prefixes, as in Heritrix. Sheets may set the keys of this
page whose key of the profile a sheet may have, the numbers of the rules that have become keys, and
`preselector.blockAll`, which becomes a line `REJECT SurtPrefixed` of `rules`. A sheet without an association is
ignored.

## Logins

`HttpAuthenticationCredential` and `HtmlFormCredential` are named with their sites alone. Make the login once by
`ghostfleet profile browser create`, and name it in the key `browser_profile` or `logins`.

## Classes without keys of ours

| class | reason |
|---|---|
"""


def document() -> str:
    """Return the whole of docs/heritrix.md."""
    outcomes = (f"| {TITLES[outcome]} | `{outcome}` | {meaning} |\n" for outcome, meaning in OUTCOMES.items())
    return "".join((HEAD, *outcomes, MIDDLE, *_rules(), KEYS_HEAD, *_keys(), SEEN_HEAD, *_seen(), TAIL, *_classes()))


def _rules() -> Iterator[str]:
    for why, pairs in groupby(HERITRIX_ONLY.items(), key=lambda pair: pair[1]):
        yield f"| {', '.join(f'`{name}DecideRule`' for name, _ in pairs)} | {why} |\n"


def _keys() -> Iterator[str]:
    def alike(key: HeritrixKey) -> tuple[str, str, str, str, str]:
        return key.bean, key.outcome, key.target, key.why, key.default

    for (bean, outcome, target, why, default), keys in groupby(KEYS, key=alike):
        names = ", ".join(f"`{key.name}`" for key in keys)
        usual = f"Heritrix's own value is {default}" if default else ""
        remark = "; ".join(filter(None, (why, usual))).replace("|", "\\|")
        yield f"| {bean} | {names} | {TITLES[outcome].lower()} | {f'`{target}`' if target else ''} | {remark} |\n"


def _seen() -> Iterator[str]:
    for name, key in SEEN_RULES.items():
        yield f"| `{name}` | `seen.{key}` |\n"
    yield "| `RegexRule` | `seen.rewrites` |\n"
    yield "| `StripUserinfoRule` | none |\n"


def _classes() -> Iterator[str]:
    for why, pairs in groupby(PROCESS_CLASSES.items(), key=lambda pair: pair[1]):
        yield f"| {', '.join(f'`{name}`' for name, _ in pairs)} | {why} |\n"


if __name__ == "__main__":
    TARGET.write_text(document(), "utf-8")
