"""People edit the profile of a running job. Each edit says who changed which key, when, from what and to what."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, Final, Self

from pydantic import ValidationError

from archive.dates import Micros
from archive.json_text import compact_json
from frontier.definition.job import JobError, Profile
from frontier.definition.meaning import meaning_problems
from frontier.definition.profile import ProfileProblem, with_list_in, with_list_name, wrong_values
from frontier.definition.profile_files import JOINED, LineOf
from frontier.definition.scope import BOUND_KEYS, SCOPE_KEYS
from frontier.definition.yaml_document import YamlPath

EDITABLE: Final = (
    *SCOPE_KEYS,
    *("limits", "politeness", "robots", "sheets", "quotas", "groups", "least_delays", "max_links"),
)
"""The keys of a profile that people may change while the job runs."""
LISTS: Final = (*JOINED, "quotas", "groups")
"""Edits may add lines to these lists, and remove lines."""
_TABLES: Final = ("limits", "politeness")
"""The keys of these tables are edited each on its own."""
_LONG: Final = 200
"""An edit of a list with more lines has the changed lines alone: a profile may have 100,000 rules."""
_MOST_RUNS: Final = 50
"""Largest number of runs of lines that are removed from a long list, each of which is an edit of its own."""
_MOST_SHOWN: Final = 20
"""Largest number of problems in a message."""


class ProfileEditRefused(JobError):
    """An edit can't be used, and changes nothing. All problems are named."""

    def __init__(self, problems: Sequence[ProfileProblem]) -> None:
        self.problems = tuple(problems)
        more = len(problems) - _MOST_SHOWN
        texts = [each.message for each in problems[:_MOST_SHOWN]]
        super().__init__("; ".join([*texts, f"and {more:,} more problems"] if more > 0 else texts))


@dataclass(frozen=True, slots=True)
class ProfileEdit:
    """An edit has changed one key of a job's profile."""

    time: Micros
    by: str
    key: str
    """A key such as robots, or politeness.min_delay_seconds."""
    before: Any
    after: Any
    line: int = 0
    """The number of the line, from 1, with which `before` and `after` begin, in an edit of a long list. They have the
    changed lines, one line before them and one line behind them. 0 means that they have the whole values."""

    @property
    def place(self) -> str:
        """Return the key, and the line of a long list, for people."""
        return f"{self.key} from line {self.line}" if self.line else self.key

    def packed(self) -> str:
        """Return the edit as JSON."""
        return compact_json(
            [self.time, self.by, self.key, self.before, self.after, *([self.line] if self.line else ())]
        )

    @classmethod
    def unpacked(cls, text: str | bytes) -> Self:
        """Return the edit of the JSON that `packed` returned."""
        return cls(*json.loads(text))

    def is_of(self, value: Any) -> bool:
        """Return whether the key had this value before the edit; of a long list, these lines."""
        if not self.line:
            return bool(value == self.before)
        # Lines that were added at the end stand behind the line before them, also after the edit.
        is_made = len(self.after) > len(self.before) and self._stand_in(value, self.after)
        return self._stand_in(value, self.before) and not is_made

    def applied_to(self, value: Any) -> Any:
        """Return the value of the key after the edit."""
        if not self.line:
            return self.after
        return [*value[: self._first], *self.after, *value[self._first + len(self.before) :]]

    def _stand_in(self, value: Any, lines: Any) -> bool:
        return bool(value[self._first : self._first + len(lines)] == lines)

    @property
    def _first(self) -> int:
        return self.line - 1


def keys_of(values: Mapping[str, Any]) -> set[str]:
    """Return the keys of the profile that these values of an edit change."""
    return {_signed(key)[0] for key in values}


def with_lists_in(values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the values of an edit with the paths of the list files that rules name in this folder of the home.

    Raises JobError for a rule that names another file.
    """
    return {
        key: [with_list_in(line, folder) if isinstance(line, str) else line for line in value]
        if _signed(key)[0] == "rules" and isinstance(value, list | tuple)
        else with_list_in(value, folder)
        if _signed(key)[0] == "rules" and isinstance(value, str)
        else value
        for key, value in values.items()
    }


def with_list_names(edit: ProfileEdit) -> ProfileEdit:
    """Return the edit as the admin site has it, with the names of list files alone."""
    if edit.key != "rules":
        return edit
    return replace(edit, before=list(map(with_list_name, edit.before)), after=list(map(with_list_name, edit.after)))


def edited(
    profile: Profile, values: Mapping[str, Any], line_of: LineOf = lambda _: None, *, is_present: bool = True
) -> Profile:
    """Return a profile with other values of some keys, nested as in a profile file. Raises ProfileEditRefused.

    The key of a list may end with `+` for lines that are added behind the others, or with `-` for lines that are
    removed first. `line_of` tells the lines of the values in their file. Without `is_present`, the profile is not the
    one of the job, so that removed lines may be missing.
    """
    changed = profile.model_dump()
    problems: list[tuple[ProfileProblem, YamlPath]] = []
    added: dict[str, int] = {}
    """The place of the first line that is added to a list."""
    for key in sorted(values, key=lambda each: ("", "-", "+").index(_signed(each)[1])):
        name, sign = _signed(key)
        value = values[key]
        if name not in EDITABLE or (sign and name not in LISTS):
            what = "is no list" if name in EDITABLE else "can't be edited while a job runs"
            names = ", ".join(LISTS if name in EDITABLE else EDITABLE)
            problems.append((ProfileProblem(str(key), f"{str(key)[:100]!r} {what}; use one of {names}"), (key,)))
        elif sign:
            lines = [value] if isinstance(value, str) else value
            if not isinstance(lines, list | tuple) or not isinstance(changed[name], list | tuple):
                problems.append((ProfileProblem(key, f"{key} = {str(value)[:200]!r} is no list of lines"), (key,)))
            elif sign == "+":
                added[name] = len(changed[name])
                changed[name] = (*changed[name], *lines)
            elif is_present:
                present, gone = set(changed[name]), list(map(str, lines))
                removed = set(gone)
                problems += [
                    (ProfileProblem(key, f"{name} has no line {line[:200]!r}"), (key, number))
                    for number, line in enumerate(gone)
                    if line not in present
                ]
                changed[name] = tuple(line for line in changed[name] if line not in removed)
        elif name in _TABLES and isinstance(value, Mapping):
            changed[name] = {**changed[name], **value}
        else:
            changed[name] = value
    try:
        made = Profile.model_validate(changed)
    except ValidationError:
        problems += [_placed(problem, path, added) for problem, path in wrong_values(changed)]
    if problems:
        found = [replace(problem, line=line_of(path)) for problem, path in problems]
        raise ProfileEditRefused(sorted(found, key=lambda each: each.line or 0))
    return made


def check_meaning(profile: Profile, keys: Collection[str]) -> None:
    """Raise ProfileEditRefused when values of these keys do not fit each other, or list files can't be used."""
    found = [
        ProfileProblem(".".join(map(str, each.path)), each.message)
        for each in meaning_problems(profile, keys)
        if each.path[0] in keys and not each.is_warning
    ]
    if found:
        raise ProfileEditRefused(found)


def has_other_scope(before: Profile, after: Profile) -> bool:
    """Return whether the scope of two profiles may decide differently."""
    if any(getattr(before, key) != getattr(after, key) for key in SCOPE_KEYS):
        return True
    if before.sheets == after.sheets:
        return False
    return any(profile.page_rules().may_set(*BOUND_KEYS) for profile in (before, after))


def edits_between(before: Profile, after: Profile, *, by: str, time: Micros) -> list[ProfileEdit]:
    """Return an edit for each key that has another value; for a long list, one for each run of changed lines."""
    old, new = dict(_flat(before)), dict(_flat(after))
    edits: list[ProfileEdit] = []
    for key in (key for key in old if old[key] != new[key]):
        if key in JOINED:
            edits += _list_edits(time, by, key, old[key], new[key])
        else:
            edits.append(ProfileEdit(time, by, key, old[key], new[key]))
    return edits


def with_edits(profile: Profile, edits: Iterable[ProfileEdit]) -> Profile:
    """Return the profile of a job that is started again, with the edits that were made before.

    Edits hold as long as the profile has the value that the key had before its first edit. Raises JobError.
    """
    now = dict(_flat(profile))
    kept: dict[str, Any] = {}
    dropped: set[str] = set()
    for edit in edits:
        if edit.key in dropped or edit.key not in now:
            continue
        value = kept.get(edit.key, now[edit.key])
        if edit.is_of(value) or (edit.key in kept and not edit.line):
            kept[edit.key] = edit.applied_to(value)
        else:
            dropped.add(edit.key)
            kept.pop(edit.key, None)
    return edited(profile, _nested(kept)) if kept else profile


@dataclass(frozen=True, slots=True)
class ProfilePatch:
    """A patch has the values that edits gave to keys, as a profile that is named after another one in `extends`."""

    values: Mapping[str, Any]
    removed: tuple[str, ...]
    """Lines of lists that edits removed. A profile can't take lines away from the profile that it extends."""
    misplaced: tuple[str, ...] = ()
    """Rules that edits put before others. A profile adds its rules behind those of the profile that it extends."""


def patch_of(edits: Iterable[ProfileEdit]) -> ProfilePatch:
    """Return the patch that makes the values in force of those before the edits."""
    first: dict[str, Any] = {}
    values: dict[str, Any] = {}
    lists: dict[str, _ListChanges] = {}
    for edit in edits:
        if edit.key in JOINED:
            lists.setdefault(edit.key, _ListChanges()).note(edit.before, edit.after)
        else:
            first.setdefault(edit.key, edit.before)
            values[edit.key] = edit.after
    made = {key: value for key, value in values.items() if value != first[key]}
    made |= {key: lines for key, changes in lists.items() if (lines := changes.added())}
    removed = tuple(f"{key}: {line}" for key, changes in lists.items() for line in changes.removed())
    misplaced = tuple(lists["rules"].misplaced()) if "rules" in lists else ()
    return ProfilePatch(_nested(made), removed, misplaced)


class _ListChanges:
    """The changes of a list since its first edit."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        """How often a line was added, in the order of the last additions; less than 0 when the line was removed."""
        self._inserted: set[str] = set()
        self._came_last: set[str] = set()

    def note(self, before: Sequence[str], after: Sequence[str]) -> None:
        """Note the lines that came and went with an edit."""
        runs = list(_runs(before, after))
        for gone, _, _ in runs:  # a line that has moved goes first
            self._counts.subtract(gone)
            self._came_last.difference_update(gone)
        for _, new, is_inside in runs:
            for line in new:
                self._counts[line] = self._counts.pop(line, 0) + 1
            self._came_last.update(new)
            if is_inside:
                self._inserted.update(new)

    def added(self) -> list[str]:
        """Return the lines that the list has more than before."""
        return [line for line, number in self._counts.items() if number > 0]

    def removed(self) -> list[str]:
        """Return the lines that the list has no longer."""
        return [line for line, number in self._counts.items() if number < 0]

    def misplaced(self) -> list[str]:
        """Return the lines that were added before others, or have another place in the list than before."""
        return [
            line
            for line, number in self._counts.items()
            if (number > 0 and line in self._inserted) or (number == 0 and line in self._came_last)
        ]


def _signed(key: str) -> tuple[str, str]:
    """Return the key of the profile, and the sign + or - behind it."""
    text = str(key)
    return (text[:-1], text[-1]) if text[-1:] in ("+", "-") else (text, "")


def _placed(problem: ProfileProblem, path: YamlPath, added: Mapping[str, int]) -> tuple[ProfileProblem, YamlPath]:
    """Return the problem of a line with its place among the lines that are added."""
    name, *rest = path
    first = added.get(str(name))
    if first is None or not rest or not isinstance(rest[0], int) or rest[0] < first:
        return problem, path
    place = (f"{name}+", rest[0] - first, *rest[1:])
    key = ".".join(map(str, place))
    return replace(problem, key=key, message=problem.message.replace(problem.key, key, 1)), place


def _list_edits(time: Micros, by: str, key: str, before: Sequence[str], after: Sequence[str]) -> Iterator[ProfileEdit]:
    """Yield the edits that make one list of another: for a long list, one for each run of changed lines."""
    if max(len(before), len(after)) <= _LONG:
        yield ProfileEdit(time, by, key, before, after)
        return
    steps = [before, after]
    gone = set(before).difference(after)
    kept = [line for line in before if line not in gone]
    runs = [list(run) for is_gone, run in groupby(range(len(before)), key=lambda at: before[at] in gone) if is_gone]
    if after[: len(kept)] == kept and len(runs) < _MOST_RUNS:  # lines were removed, and others added at the end
        steps = [before]
        for run in reversed(runs):
            steps.append([*steps[-1][: run[0]], *steps[-1][run[-1] + 1 :]])
        steps.append(after)
    for old, new in pairwise(steps):
        if old != new:
            start, end = _changed_part(old, new)
            # A line on each side shows the place, also when the profile is another one after a restart.
            start, end = max(start - 1, 0), max(end - 1, 0)
            yield ProfileEdit(time, by, key, old[start : len(old) - end], new[start : len(new) - end], start + 1)


def _runs(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[Sequence[str], Sequence[str], bool]]:
    """Yield the lines that went and came at each place, and whether lines follow. Of long lists, this is one place."""
    if max(len(before), len(after)) > _LONG:
        start, end = _changed_part(before, after)
        yield before[start : len(before) - end], after[start : len(after) - end], end > 0
        return
    for tag, first, last, begin, end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            yield before[first:last], after[begin:end], end < len(after)


def _changed_part(before: Sequence[str], after: Sequence[str]) -> tuple[int, int]:
    """Return the number of equal lines at the beginning of two lists, and at the end."""
    most = min(len(before), len(after))
    start = next((at for at in range(most) if before[at] != after[at]), most)
    end = next((at for at in range(most - start) if before[-1 - at] != after[-1 - at]), most - start)
    return start, end


def _flat(profile: Profile) -> Iterator[tuple[str, Any]]:
    values = profile.model_dump(mode="json", include=set(EDITABLE))
    for key in EDITABLE:
        if key in _TABLES:
            yield from ((f"{key}.{name}", value) for name, value in values[key].items())
        else:
            yield key, values[key]


def _nested(values: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in values.items():
        table, _, name = key.partition(".")
        if name:
            found.setdefault(table, {})[name] = value
        else:
            found[key] = value
    return found
