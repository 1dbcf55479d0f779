"""The expected number of objects of a configuration follows from earlier harvests and from the limits in force.

The formula is that of NetarchiveSuite. All divisions are those of Java: they cut towards zero.
"""

from __future__ import annotations

from typing import Final

from admin.models.base import NO_LIMIT
from archive.fast_frozen import fast_frozen
from archive.settings.generation import GenerationSettings

ENOUGH_OBJECTS: Final = 50
"""An average of fewer objects tells little about the next harvest."""


@fast_frozen(frozen=True, slots=True)
class BudgetLimits:
    """These limits hold for one domain; -1 is no limit."""

    objects: int = NO_LIMIT
    bytes: int = NO_LIMIT


@fast_frozen(frozen=True, slots=True)
class PastHarvest:
    """A past harvest is one earlier harvest of a configuration."""

    objects: int
    bytes: int
    is_complete: bool
    ended: int = 0


@fast_frozen(frozen=True, slots=True)
class Expectation:
    """An expectation is a number of objects, with its reason for people."""

    objects: int
    why: str


def expected(
    best: PastHarvest | None, configuration: BudgetLimits, harvest: BudgetLimits, settings: GenerationSettings
) -> Expectation:
    """Return how many objects the configuration probably has under these limits, and why."""
    size = bytes_per_object(best, settings)
    most = _most_objects(harvest, size)
    if most == NO_LIMIT:
        most = _most_objects(configuration, size)
    if most == NO_LIMIT:
        most = settings.domain_objects
    cap = tighter(most, _most_objects(configuration, size))
    if best is None:
        guess = tighter(settings.domain_objects, configuration.objects)
        why = "no earlier harvest"
    else:
        factor = settings.error_factor_previous if best.is_complete else settings.error_factor_guess
        guess = best.objects + java_divided(most - best.objects, factor)
        why = f"{best.objects} objects when {'complete' if best.is_complete else 'incomplete'}, {size} bytes each"
    return Expectation(min(guess, cap), f"{why}, at most {cap}")


def bytes_per_object(best: PastHarvest | None, settings: GenerationSettings) -> int:
    """Return the size of an object by the best earlier harvest, or by the settings where it does not tell."""
    default = settings.average_object_bytes
    if best is None or best.objects <= 0 or best.bytes <= 0:
        return default
    average = max(best.bytes // best.objects, 1)
    has_enough = best.objects >= ENOUGH_OBJECTS
    if settings.bytes_per_object == "netarchivesuite":
        return default if average < default and not has_enough else average
    return max(average, default) if has_enough else default


def tighter(one: int, other: int) -> int:
    """Return the smaller of two limits, of which each may be none."""
    if one == NO_LIMIT:
        return other
    return one if other == NO_LIMIT else min(one, other)


def both(harvest: BudgetLimits, configuration: BudgetLimits) -> BudgetLimits:
    """Return the limits that hold when both do. A limit of 0 objects is one of 0 bytes too, and the other way round."""
    objects, size = tighter(harvest.objects, configuration.objects), tighter(harvest.bytes, configuration.bytes)
    return BudgetLimits(0, 0) if objects == 0 or size == 0 else BudgetLimits(objects, size)


def java_divided(number: int, divisor: int) -> int:
    """Divide as Java does: -7 / 2 is -3. The divisor is positive."""
    return number // divisor if number >= 0 else -(-number // divisor)


def _most_objects(limits: BudgetLimits, size: int) -> int:
    return tighter(limits.objects, NO_LIMIT if limits.bytes == NO_LIMIT else limits.bytes // size)
