"""The commands that operators give to a running job are carried out on its frontier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from admin.harvester.running.queue_questions import FoundUrls, history_of_url, urls_found, urls_of_host
from admin.harvests.dispatch.reports import PendingCommand
from admin.harvests.dispatch.steering import QUESTIONS, Verb
from admin.jobs.control.queues import added, delete_matching
from admin.units import counted
from archive.json_text import compact_json
from frontier.definition.edits import with_lists_in
from frontier.definition.job import JobError, Seed
from frontier.definition.scope import Priority, Rejected
from frontier.queue import Frontier
from frontier.store import FrontierLost, FrontierUnavailable

BLOCKED: Final = "blocked by an operator"
QUOTA: Final = "limit-of-domain"
"""How the reason begins for which the hosts of a domain at its limit are set aside."""
_NAMED: Final = 20
_SHOWN_VALUE: Final = 200
_DELETE_SECONDS: Final = 30.0
"""A deletion ends after this time, since the harvester watches over the limits of domains meanwhile."""
NOT_RUNNING: Final = "not carried out: the crawl is starting or ending"


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """A command was carried out, or why it was not; some commands ask the crawl to end."""

    text: str
    stops: str = ""
    """Why the crawl is to end; empty when it is not."""
    at_once: bool = False
    """Visits that go on are cut off."""
    answer: Mapping[str, Any] | None = None
    """The answer to a question, or the edits of the profile; None for another command."""


def wanted_domain_limits(command: PendingCommand) -> tuple[str, dict[str, int]] | None:
    """Return the domain and the limits that a command sets, -1 for none; None for another command."""
    if command.verb != Verb.SET_DOMAIN_LIMITS:
        return None
    limits = {name: -1 if value is None else int(value) for name, value in command.arguments["limits"].items()}
    return command.arguments["domain"], limits


def wake_domain(frontier: Frontier, domain: str) -> int:
    """Take the hosts back into the job that were set aside at the limit of their domain. Return how many these were."""
    reason = f"{QUOTA} {domain}"
    return sum(
        frontier.controls.wake_host(host) for host, why in frontier.controls.hosts_aside().items() if why == reason
    )


def carry_out(
    command: PendingCommand, frontier: Frontier | None, *, lists: Path | None = None, database_url: str = ""
) -> CommandOutcome:
    """Carry out one command. `frontier` is None while the crawl is starting or ending.

    `lists` is the folder of the list files of queue groups, and `database_url` the capture index of the harvester.
    """
    try:
        verb = Verb(command.verb)
    except ValueError:
        return CommandOutcome(f"not carried out: this harvester does not know the command {command.verb[:60]!r}")
    if verb is Verb.STOP_NOW:
        return CommandOutcome("the crawl ends now", "stopped by an operator, at once", at_once=True)
    if verb is Verb.STOP_AFTER_PAGE:
        return CommandOutcome("the crawl ends after the visits that go on", "stopped by an operator")
    if frontier is None:
        return CommandOutcome(NOT_RUNNING)
    try:
        if verb in QUESTIONS:
            found = _found(verb, dict(command.arguments), frontier, database_url)
            return CommandOutcome(found.text, answer=found.answer)
        known = len(frontier.edits())
        text = _done(verb, command, frontier, lists)
        edits = frontier.edits()[known:]
        return CommandOutcome(text, answer={"edits": [each.packed() for each in edits]} if edits else None)
    except (JobError, FrontierUnavailable) as error:
        return CommandOutcome(f"not carried out: {error}")
    except FrontierLost:
        return CommandOutcome(NOT_RUNNING)


def _done(verb: Verb, command: PendingCommand, frontier: Frontier, lists: Path | None) -> str:
    arguments = dict(command.arguments)
    match verb:
        case Verb.PAUSE:
            frontier.controls.pause("paused by an operator")
            return "paused; visits that go on are finished"
        case Verb.RESUME:
            return "goes on" if frontier.controls.go_on() else "was not paused"
        case Verb.ADD_URLS:
            return _added(frontier, [Seed.parse(url) for url in arguments["urls"]])
        case Verb.SET_LIMITS:
            limits = frontier.set_limits(arguments["limits"], by=command.by).model_dump(exclude_none=True)
            said = ", ".join(f"{name} {_plain(value)}" for name, value in limits.items())
            return f"limits in force: {said or 'none'}"
        case Verb.BLOCK_HOST:
            is_new = frontier.controls.set_host_aside(arguments["host"], BLOCKED)
            return f"nothing more of {arguments['host']} is visited" if is_new else "was set aside before"
        case Verb.UNBLOCK_HOST:
            if (why := frontier.controls.hosts_aside().get(arguments["host"], "")).startswith(QUOTA):
                return f"not carried out: the limit of the domain{why.removeprefix(QUOTA)} is reached"
            is_new = frontier.controls.wake_host(arguments["host"])
            return f"{arguments['host']} is visited again" if is_new else "was not set aside"
        case Verb.ADD_REJECT:
            frontier.add_reject(arguments["expression"])
            return "URLs in which the expression is found are left out from now on"
        case Verb.VISIT_NOW:
            found = frontier.visit_now([Seed.parse(url).url for url in arguments["urls"]])
            if not found:
                return NOT_RUNNING
            refused = [f"{each.candidate.url}: {each.reason}" for each, _ in found if isinstance(each, Rejected)]
            return _counted_urls(len(found), refused, "visited", "are visited next")
        case Verb.SET_GROUPS:
            groups = frontier.set_groups(arguments["groups"], lists=lists, by=command.by).groups
            return f"queue groups in force: {', '.join(group.name for group in groups)[:500] or 'none'}"
        case Verb.EDIT_PROFILE:
            values = arguments["values"] if lists is None else with_lists_in(arguments["values"], lists)
            edits = frontier.edit(values, by=command.by, lists=lists)
            changes = [f"{each.place}: {_value(each.before)} → {_value(each.after)}" for each in edits]
            return "; ".join(changes) or "the profile has these values already"
        case Verb.QUEUE_URLS:
            priority = Priority[str(arguments["priority"]).upper()]
            answers = added(frontier, arguments["urls"], priority=priority, force=bool(arguments["force"]))
            refused = [f"{each.url}: {each.reason}" for each in answers if each.outcome != "queued"]
            return _counted_urls(len(answers), refused, "queued")
        case Verb.DELETE_URLS:
            deleted, is_whole = delete_matching(frontier, arguments["expression"], seconds=_DELETE_SECONDS)
            rest = "" if is_whole else "; not all URLs were looked at in time, so give the command again"
            return f"{counted(deleted, 'queued URL')} deleted{rest}"
        case _:
            return f"not carried out: {verb} is no command for a frontier"


def _value(value: Any) -> str:
    """Return the value of a key in few words."""
    text = compact_json(value)
    return text if len(text) <= _SHOWN_VALUE else text[:_SHOWN_VALUE] + "…"


def _found(verb: Verb, arguments: dict[str, Any], frontier: Frontier, database_url: str) -> FoundUrls:
    if verb is Verb.SHOW_URL:
        return history_of_url(frontier, database_url, arguments["url"])
    if verb is Verb.SHOW_QUEUE:
        return urls_of_host(frontier, arguments["host"])
    return urls_found(frontier, arguments["expression"], arguments["state"])


def _plain(value: float) -> str:
    """Return a limit without an exponent, so that people read `5000000000` and not `5e+09`."""
    return str(int(value)) if float(value).is_integer() else str(value)


def _added(frontier: Frontier, seeds: list[Seed]) -> str:
    decisions = frontier.add_seeds(seeds)
    if not decisions:
        return NOT_RUNNING
    refused = [
        f"{seed.url}: {decision.reason}"
        for seed, decision in zip(seeds, decisions, strict=True)
        if isinstance(decision, Rejected)
    ]
    return _counted_urls(len(seeds), refused, "added")


def _counted_urls(given: int, refused: list[str], done: str, says: str = "") -> str:
    more = f", and {len(refused) - _NAMED} more" if len(refused) > _NAMED else ""
    why = f"; not {done}: {', '.join(refused[:_NAMED])}{more}" if refused else ""
    return f"{given - len(refused)} of {given} URLs {says or done}{why}"
