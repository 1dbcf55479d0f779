"""Domains and seeds are added from long lists, each part of a list in a transaction of its own.

An upload that was broken off is repeated as a whole, or from `after_line` on: what is there already is left as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import batched
from typing import Any, Final

from pydantic import Field
from sqlalchemy import bindparam, func, insert, select, update

from admin.harvests.domains.bulk import audit_many, insert_unless_there, table_of
from admin.harvests.domains.configurations import LARGEST_NUMBER
from admin.harvests.domains.creation import insert_domains
from admin.harvests.domains.lookup import find_template
from admin.harvests.domains.names import DomainName, DomainNameError, registered_domain
from admin.harvests.domains.seeds import LONGEST_TEXT, parse_seed, seed_lines
from admin.harvests.domains.upload_lines import LONGEST_LINE, UploadLine, lines_of_bytes, lines_of_text
from admin.harvests.input_checks import name_problem, note_problem, refuse
from admin.models.database import Database
from admin.models.domain_tables import CONFIGURATION_SEED_LISTS, Configuration, Domain, SeedList
from admin.models.errors import Problem
from admin.models.operation import InputModel, OutputModel
from admin.models.transaction import Actor, Right, Transaction
from archive.names.characters import printable
from archive.url import canonical_or_same
from frontier.definition.job import JobError

LINES_OF_ONE_TRANSACTION: Final = 2_000
MOST_PROBLEMS: Final = 1_000
_SHOWN: Final = 100


class DomainUpload(InputModel):
    """The input has names of domains, one on each line."""

    text: str


class SeedUpload(InputModel):
    """The input has URLs, one on each line; their domains are added where they are new."""

    text: str
    seed_list: str = Field("defaultseeds", description="name of the seed list that gets the URLs, in each domain")
    configuration: str = Field("", description="name of a configuration that uses the seed list; empty makes none")
    template: str | None = None
    max_bytes: int | None = None
    max_objects: int | None = None


class LineProblem(OutputModel):
    """A line of an upload that can't be used."""

    line: int
    text: str
    """The line, shortened."""
    reason: str


class UploadReport(OutputModel):
    """The output says what came of an upload."""

    lines: int
    """Lines that were read, up to which an upload that was broken off need not be repeated."""
    created: int
    """Domains that are new."""
    known: int
    """Lines whose domain was there before, earlier lines of the same upload included."""
    seeds_added: int
    seeds_known: int
    invalid: int
    problems: list[LineProblem]
    """The first of the lines that can't be used; at most 1,000."""
    summary: str
    """A sentence for people."""


@dataclass(frozen=True, slots=True)
class SeedTarget:
    """Seeds of an upload are added to this seed list of their domains, which this configuration uses."""

    seed_list: str
    configuration: str = ""
    """Empty makes no configuration."""
    template: str | None = None
    """None is the template of new domains. A configuration that is there keeps its template and limits."""
    max_bytes: int | None = None
    max_objects: int | None = None


@dataclass(slots=True)
class UploadTally:
    """The tally of an upload counts what came of its lines so far."""

    lines: int = 0
    created: int = 0
    known: int = 0
    seeds_added: int = 0
    seeds_known: int = 0
    invalid: int = 0
    problems: list[LineProblem] = field(default_factory=list)
    on_problem: Callable[[LineProblem], None] | None = None
    """Gets each line that can't be used, however many there are."""

    def refuse(self, line: UploadLine, reason: str) -> None:
        """Count a line that can't be used, and keep it when it is among the first."""
        self.invalid += 1
        text = line.text if len(line.text) <= _SHOWN else line.text[:_SHOWN] + "…"
        problem = LineProblem(line=line.number, text=printable(text), reason=reason)
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(problem)
        if self.on_problem is not None:
            self.on_problem(problem)

    def report(self) -> UploadReport:
        """Return the report for people."""
        return UploadReport(
            lines=self.lines,
            created=self.created,
            known=self.known,
            seeds_added=self.seeds_added,
            seeds_known=self.seeds_known,
            invalid=self.invalid,
            problems=list(self.problems),
            summary=self._summary(),
        )

    def _summary(self) -> str:
        with_seeds = self.seeds_added + self.seeds_known > 0
        wrong = f" {_counted(self.invalid, 'line')} can't be used." if self.invalid else ""
        if not self.created and not self.seeds_added:
            what = "domains and seeds" if with_seeds else "domains"
            done = (
                f"Nothing was changed: all {what} of the list are there already."
                if self.known
                else "Nothing was changed."
            )
            return done + wrong
        parts = [f"{_counted(self.created, 'domain')} added"]
        if with_seeds:
            parts.append(f"{_counted(self.seeds_added, 'seed')} added")
            parts += [f"{_counted(self.seeds_known, 'seed')} known before"] if self.seeds_known else []
        elif self.known:
            parts.append(f"{_counted(self.known, 'line')} known before")
        return f"{', '.join(parts)}.{wrong}"


type Progress = Callable[[UploadTally], None]
type Chosen = Callable[[Transaction, list[int]], None]
"""Gets the numbers of the configurations of one part, such as to add them to a harvest in the same transaction."""


def upload_domains(
    database: Database,
    actor: Actor,
    chunks: Iterable[bytes] | Iterable[str],
    *,
    after_line: int = 0,
    on_progress: Progress | None = None,
    on_problem: Callable[[LineProblem], None] | None = None,
) -> UploadReport:
    """Add the domains of a list, and return what came of it. Memory stays flat however long the list is.

    `chunks` are pieces of a file (`upload_lines.pieces_of_file`) or of a text. `on_problem` gets every line that can't
    be used, whereas the report has the first ones. Raises InvalidInput when it is no list of lines, and IllegalState
    when the template of new domains is missing.
    """
    tally = UploadTally(on_problem=on_problem)
    for part in _parts(chunks, after_line):
        with database.transaction(actor) as transaction:
            transaction.require(Right.CURATE)
            _add_domains(transaction, part, tally)
        if on_progress is not None:
            on_progress(tally)
    return tally.report()


def upload_seeds(
    database: Database,
    actor: Actor,
    chunks: Iterable[bytes] | Iterable[str],
    target: SeedTarget,
    *,
    after_line: int = 0,
    on_configurations: Chosen | None = None,
    on_progress: Progress | None = None,
) -> UploadReport:
    """Add the URLs of a list to a seed list of their domains; domains that are new are added.

    `on_configurations` is called in the transaction of each part with the numbers of its domains' configurations; a
    number may come in several parts.
    """
    tally = UploadTally()
    for part in _parts(chunks, after_line):
        with database.transaction(actor) as transaction:
            transaction.require(Right.CURATE)
            numbers = add_seeds(transaction, part, target, tally)
            if on_configurations is not None:
                on_configurations(transaction, numbers)
        if on_progress is not None:
            on_progress(tally)
    return tally.report()


def create_domains(transaction: Transaction, given: DomainUpload) -> UploadReport:
    """Add the domains of a text, all in one transaction. `upload_domains` is for long lists."""
    transaction.require(Right.CURATE)
    tally = UploadTally()
    for part in _parts([given.text], 0):
        _add_domains(transaction, part, tally)
    return tally.report()


def create_seeds(transaction: Transaction, given: SeedUpload) -> UploadReport:
    """Add the URLs of a text to a seed list of their domains, all in one transaction."""
    transaction.require(Right.CURATE)
    values = given.model_dump(exclude={"text"})
    tally = UploadTally()
    for part in _parts([given.text], 0):
        add_seeds(transaction, part, SeedTarget(**values), tally)
    return tally.report()


def upload_given_domains(database: Database, actor: Actor, given: DomainUpload) -> UploadReport:
    """Add the domains of a text, each part in a transaction of its own: `create_domains` for long texts."""
    return upload_domains(database, actor, [given.text])


def upload_given_seeds(database: Database, actor: Actor, given: SeedUpload) -> UploadReport:
    """Add the URLs of a text, each part in a transaction of its own: `create_seeds` for long texts."""
    return upload_seeds(database, actor, [given.text], SeedTarget(**given.model_dump(exclude={"text"})))


def add_seeds(
    transaction: Transaction, lines: Iterable[UploadLine], target: SeedTarget, tally: UploadTally
) -> list[int]:
    """Add the URLs of some lines, and return the numbers of the configurations that use them, in order.

    Without a configuration in `target` the list is empty.
    """
    settings = transaction.settings.harvests
    by_domain: dict[DomainName, list[str]] = {}
    for line in _used(lines, tally):
        try:
            seed = parse_seed(line.text, settings.seed_regex)
            by_domain.setdefault(registered_domain(seed, settings.tlds), []).append(seed)
        except (JobError, DomainNameError, ValueError) as error:
            tally.refuse(line, str(error))
    names = {name.name: seeds for name, seeds in by_domain.items()}
    _check_target(transaction, target, list(names))
    if not names:
        return []
    created = insert_domains(transaction, list(by_domain), "with a seed list")
    tally.created += len(created)
    tally.known += sum(len(seeds) for name, seeds in by_domain.items() if name.name not in created)
    return _write_seeds(transaction, names, target, tally)


def _parts(chunks: Iterable[bytes] | Iterable[str], after_line: int) -> Iterator[tuple[UploadLine, ...]]:
    lines = (line for line in _lines(chunks) if line.number > after_line)
    return batched(lines, LINES_OF_ONE_TRANSACTION)


def _lines(chunks: Iterable[bytes] | Iterable[str]) -> Iterator[UploadLine]:
    """Yield the lines of bytes or of text; the first piece says which of the two it is."""
    pieces: Iterator[Any] = iter(chunks)
    first = next(pieces, "")

    def whole() -> Iterator[Any]:
        yield first
        yield from pieces

    return lines_of_bytes(whole()) if isinstance(first, bytes) else lines_of_text(whole())


def _used(lines: Iterable[UploadLine], tally: UploadTally) -> Iterator[UploadLine]:
    """Yield the lines that say something; a line that is too long is reported."""
    for line in lines:
        tally.lines = line.number
        if line.is_too_long:
            tally.refuse(line, f"the line has more than {LONGEST_LINE} characters; write one name or URL on each line")
        elif not line.is_blank:
            yield line


def _add_domains(transaction: Transaction, lines: Iterable[UploadLine], tally: UploadTally) -> None:
    names: dict[str, DomainName] = {}
    used = 0
    for line in _used(lines, tally):
        try:
            name = registered_domain(line.text, transaction.settings.harvests.tlds)
        except DomainNameError as error:
            tally.refuse(line, str(error))
            continue
        names[name.name] = name
        used += 1
    created = len(insert_domains(transaction, list(names.values()), "upload"))
    tally.created += created
    tally.known += used - created


def _check_target(transaction: Transaction, target: SeedTarget, domains: Sequence[str]) -> None:
    """Raise InvalidInput for a target that can't be used. A name that all the domains have already can be used."""
    problems: list[Problem | None] = []
    wanted = (("seed_list", target.seed_list, SeedList), ("configuration", target.configuration, Configuration))
    for field_name, name, kind in wanted:
        problem = name_problem(field_name, name) if name or kind is SeedList else None
        if problem is not None and not _is_in_all(transaction, kind, name, domains):
            problems.append(problem)
    for name, value in (("max_bytes", target.max_bytes), ("max_objects", target.max_objects)):
        if value is not None and not -1 <= value <= LARGEST_NUMBER:
            problems.append(Problem(name, f"{value} is no limit; write a number from 0 on, or -1 for no limit"))
    refuse(problems)


def _is_in_all(
    transaction: Transaction, kind: type[SeedList | Configuration], name: str, domains: Sequence[str]
) -> bool:
    """Return whether each of the domains, of which there is one at least, has a thing of this kind and name."""
    if note_problem("name", name) or not domains:
        return False
    query = select(func.count()).select_from(kind).join(Domain, kind.domain_id == Domain.id)
    return transaction.session.scalar(query.where(Domain.name.in_(domains), kind.name == name)) == len(domains)


def _write_seeds(
    transaction: Transaction, seeds: dict[str, list[str]], target: SeedTarget, tally: UploadTally
) -> list[int]:
    session = transaction.session
    names = sorted(seeds)
    # Locked in the order of their names, so that two uploads never wait for each other.
    query = select(Domain.id, Domain.name).where(Domain.name.in_(names)).order_by(Domain.name).with_for_update()
    domains = dict(session.execute(query).all())
    present = {
        domain: (number, text)
        for number, domain, text in session.execute(
            select(SeedList.id, SeedList.domain_id, SeedList.seeds).where(
                SeedList.domain_id.in_(list(domains)), SeedList.name == target.seed_list
            )
        )
    }
    fresh: list[dict[str, Any]] = []
    longer: list[dict[str, Any]] = []
    grown: list[tuple[int, str, dict[str, Any]]] = []
    for domain, name in domains.items():
        number, text = present.get(domain, (None, ""))
        added = _new_seeds(text, seeds[name], tally)
        if len(text) + sum(map(len, added)) + len(added) > LONGEST_TEXT:
            line = UploadLine(tally.lines, added[0])
            tally.refuse(line, f"the seed list {target.seed_list!r} of {name} is full with {len(text)} characters")
            continue
        tally.seeds_added += len(added)
        whole = "\n".join([*([text] if text else []), *added])
        if number is None:
            fresh.append({"domain_id": domain, "name": target.seed_list, "seeds": whole})
        elif added:
            longer.append({"number": number, "text": whole})
            grown.append((number, f"{name}: {target.seed_list}", {"seeds": added[:_SHOWN]}))
    connection, table = session.connection(), table_of(SeedList)
    if longer:
        statement = update(table).where(table.c.id == bindparam("number"))
        connection.execute(statement.values(seeds=bindparam("text"), edition=table.c.edition + 1), longer)
        audit_many(transaction, "seed-list.add", "seed list", grown)
    numbers = {domain: number for domain, (number, _) in present.items()}
    if fresh:
        made = connection.execute(insert(table).returning(table.c.domain_id, table.c.id), fresh).all()
        numbers.update(made)
        entries = [
            (number, f"{domains[domain]}: {target.seed_list}", {"seeds": seeds[domains[domain]][:_SHOWN]})
            for domain, number in made
        ]
        audit_many(transaction, "seed-list.create", "seed list", entries)
    session.expire_all()
    return _use_seed_lists(transaction, domains, numbers, target) if target.configuration else []


def _new_seeds(text: str, seeds: list[str], tally: UploadTally) -> list[str]:
    """Return those of the seeds that the seed list does not have, in whatever spelling."""
    known = {canonical_or_same(seed) for seed in seed_lines(text)}
    added: dict[str, str] = {}
    for seed in seeds:
        spelling = canonical_or_same(seed)
        if spelling in known or spelling in added:
            tally.seeds_known += 1
        else:
            added[spelling] = seed
    return list(added.values())


def _use_seed_lists(
    transaction: Transaction, domains: dict[int, str], seed_lists: dict[int, int], target: SeedTarget
) -> list[int]:
    """Return the numbers of the configurations that use these seed lists; what is missing is made."""
    session, settings = transaction.session, transaction.settings.harvests
    query = select(Configuration.domain_id, Configuration.id).where(
        Configuration.domain_id.in_(list(domains)), Configuration.name == target.configuration
    )
    found = dict(session.execute(query).all())
    connection, table = session.connection(), table_of(Configuration)
    missing = [domain for domain in domains if domain not in found and domain in seed_lists]
    if missing:
        template_id = find_template(transaction, target.template).id
        rows = [
            {
                "domain_id": domain,
                "name": target.configuration,
                "template_id": template_id,
                "max_bytes": settings.default_max_bytes if target.max_bytes is None else target.max_bytes,
                "max_objects": settings.default_max_objects if target.max_objects is None else target.max_objects,
                "max_rate": settings.default_max_rate,
            }
            for domain in missing
        ]
        made = connection.execute(insert(table).returning(table.c.domain_id, table.c.id), rows).all()
        found.update(made)
        new = {"seed_lists": [target.seed_list], "how": "with a seed list"}
        entries = [(number, f"{domains[domain]}: {target.configuration}", new) for domain, number in made]
        audit_many(transaction, "configuration.create", "configuration", entries)
    links = [
        {"configuration_id": found[domain], "seed_list_id": seed_lists[domain]}
        for domain in domains
        if domain in found and domain in seed_lists
    ]
    if links:
        connection.execute(insert_unless_there(transaction, CONFIGURATION_SEED_LISTS), links)
    return sorted(each["configuration_id"] for each in links)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
