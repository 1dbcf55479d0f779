"""The visits of a queue group whose hosts lie in several shards are shared out among these shards.

Each shard has the number of visits at the same time that a group may have there, its share. A step of one process, each
second, first lowers shares, and then raises others by what has become free. While a worker finds nothing to visit,
there are further steps, each after a quarter of a second. Visits that go on above a lowered share stay counted. So the
shares and these visits together are never more than the group's `parallel`. A group with a delay has its share in one
shard at a time, for some steps. The next shard gets the share when no visit of the group goes on elsewhere, with the
rest of the delay.

So the limits of a group are exact. When the last visit of a turn has ended, the next shard has its turn with the next
step, which an idle worker takes itself.

Processes may take steps at the same time. Each step has a number, and a shard refuses a step when a later one has been
there (`turns.lua`). A step reads all shards before it raises a share anywhere. So no earlier step changes what it has
read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from frontier.definition.groups import QueueGroup
from frontier.groups import GroupBook
from frontier.store import ScriptArgument, Store

type _Change = tuple[str, int, int, int]
"""The arguments of `turns.lua` for one group: name, share, 1 if its turn begins, ms of the delay that are left."""

STEP: Final = 4
"""The number of a step of each second is higher than the one before by this number, and that of a further step by 1."""
_TURN: Final = 5 * STEP
"""A turn ends at this distance of steps, since no visit of the group begins while the turn goes to another shard."""
_PATIENCE: Final = 30 * STEP
"""A shard whose hosts wait keeps its turn for so long without a visit, for example of a job without ghosts."""


@dataclass(frozen=True, slots=True)
class GroupTurn:
    """The turn of a group in one shard."""

    share: int = 0
    """The group may have so many visits at the same time."""
    visits: int = 0
    """These visits go on."""
    waits: bool = False
    """Hosts of the shard wait for the group."""
    begun: int = 0
    """The turn began in this step."""
    has_visited: bool = False
    """A visit began since then."""
    rest_ms: int = 0
    """The delay of the group ends after this time."""

    @property
    def taken(self) -> int:
        """Return how many visits the shard may have until its share is raised."""
        return max(self.share, self.visits)

    def is_kept(self, step: int) -> bool:
        """Return whether the turn goes on, in which hosts wait for the group."""
        return self.share > 0 and self.waits and step - self.begun < (_TURN if self.has_visited else _PATIENCE)


def wanted_shares(turns: Sequence[GroupTurn], group: QueueGroup, step: int) -> list[int]:
    """Return the share that each shard should have of a group. Those whose last turn is the oldest come first."""
    users = [number for number, turn in enumerate(turns) if turn.waits or turn.visits]
    if not users:
        shares = [turn.share for turn in turns]  # they may be too many after Redis has lost its last second
        return shares if sum(shares) <= group.parallel else [0] * len(turns)
    users.sort(key=lambda number: (not turns[number].waits, not turns[number].is_kept(step), turns[number].begun))
    chosen = users[: 1 if group.delay_ms else group.parallel]
    each, further = divmod(group.parallel, len(chosen))
    shares = [0] * len(turns)
    for place, number in enumerate(chosen):
        shares[number] = each + (place < further)
    return shares


@dataclass(slots=True)
class _Step:
    """A step knows the turns of all groups in all shards, and changes them."""

    number: int
    version: str
    stores: Sequence[Store]
    turns: list[Mapping[str, GroupTurn]] = field(default_factory=list)

    def read(self) -> bool:
        """Read all shards. Return False when another step or other groups come in between."""
        self.turns = [{} for _ in self.stores]
        return all(self.change(shard, ()) for shard in range(len(self.stores)))

    def change(self, shard: int, arguments: Sequence[ScriptArgument]) -> bool:
        """Change turns in one shard, and read them all. Return False when another step or other groups came."""
        answer: Any = self.stores[shard].run("turns", self.number, self.version, *arguments)
        if answer == 0:
            return False
        self.turns[shard] = {
            name.decode(): GroupTurn(int(share), int(visits), bool(waits), int(begun), bool(has_visited), int(rest))
            for name, share, visits, waits, begun, has_visited, rest in answer
        }
        return True

    def of_group(self, name: str) -> list[GroupTurn]:
        """Return the turns of a group by shard."""
        return [found.get(name, GroupTurn()) for found in self.turns]


def pass_turns(stores: Sequence[Store], book: GroupBook, distance: int = STEP) -> None:
    """Share the visits of the job's queue groups out anew. Do nothing while the groups change, or in a later step.

    `distance` is 1 for a further step within the second.
    """
    home = stores[0]
    with home.guarded():
        stored = home.client.hget(home.key("state"), "groups")
        if not stored:
            return
        number = int(home.client.hincrby(home.key("state"), "turns", distance))
    version = stored.decode()
    known = book.of_version(version)
    step = _Step(number, version, stores)
    if known is None or not step.read():
        return
    names = {name for found in step.turns for name in found}
    groups = [group for group in known.groups.groups if group.name in names]
    wanted = {group.name: wanted_shares(step.of_group(group.name), group, number) for group in groups}
    lowered = defaultdict[int, list[ScriptArgument]](list)
    for name, shares in wanted.items():
        for shard, turn in enumerate(step.of_group(name)):
            if shares[shard] < turn.share:
                lowered[shard] += (name, shares[shard], 0, 0)
    if not all(step.change(shard, arguments) for shard, arguments in lowered.items()):
        return
    begun = defaultdict[int, list[ScriptArgument]](list)
    for group in groups:
        for shard, change in _begun(step.of_group(group.name), group, wanted[group.name], number).items():
            begun[shard] += change
    for shard, arguments in begun.items():
        if not step.change(shard, arguments):
            return


def _begun(turns: Sequence[GroupTurn], group: QueueGroup, wanted: Sequence[int], step: int) -> Mapping[int, _Change]:
    """Return by shard the changes that raise the share of a group, or let its turn begin anew."""
    taken = sum(turn.taken for turn in turns)
    rest = max(turn.rest_ms for turn in turns)
    have_others = sum(turn.waits or turn.visits > 0 for turn in turns) > 1
    changes = dict[int, _Change]()
    for shard, (turn, share) in enumerate(zip(turns, wanted, strict=True)):
        if not share or (group.delay_ms and taken > turn.taken):
            continue
        most = max(min(share, turn.taken + group.parallel - taken), turn.share)
        is_new = have_others and (not turn.is_kept(step) if turn.has_visited else turn.rest_ms > 0)
        if most > turn.share or is_new:
            changes[shard] = (group.name, most, 1, rest)
            taken += max(most, turn.visits) - turn.taken
    return changes
