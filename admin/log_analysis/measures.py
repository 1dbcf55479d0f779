"""The measures sum a log up in numbers that two runs of a harvest are compared by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from admin.log_analysis.columns.line_columns import LONG_URL
from admin.log_analysis.columns.readings import Reading
from admin.log_analysis.error_classes import FAULTS
from admin.log_analysis.host_table import REPEATS

_FAULTS: Final = ", ".join(f"'{name}'" for name in FAULTS)


@dataclass(frozen=True, slots=True)
class LogMeasures:
    """The measures of one log."""

    seconds: int
    """From the first line to the last."""
    lines: int
    urls: int
    """URLs with a response."""
    bytes: int
    errors: int
    """Wanted URLs without a response, and responses from 400 on."""
    long_urls: int
    """URLs longer than 125 characters."""
    off_seed: int
    """Responses from another registered domain than that of the seed which led there."""
    robots: int
    """URLs that robots.txt forbids."""
    unknown_types: int
    """Responses without a media type."""
    sub_domains: int
    """Hosts, apart from look-ups of names."""
    repeating: int
    """URLs whose path repeats itself."""
    malformed: int
    capped: int


@dataclass(frozen=True, slots=True)
class UrlChange:
    """The change between the URLs of two runs, each counted once."""

    known: int
    """URLs that the reference run fetched."""
    missing: int
    """URLs of the reference run that this run did not fetch."""
    new: int
    """URLs that this run alone fetched."""


def measures(reading: Reading, *, of_reference: bool = False) -> LogMeasures:
    """Return the measures of the log, or of the reference run."""
    prefix = "reference_" if of_reference else ""
    row = next(
        iter(
            reading.engine.rows(
                f"SELECT coalesce(epoch_ms(max(time)) - epoch_ms(min(time)), 0) // 1000 AS seconds, count(*) AS lines,"
                " count(*) FILTER (code > 0) AS urls, coalesce(sum(bytes) FILTER (code > 0), 0)::BIGINT AS bytes,"
                f" count(*) FILTER (error IN ({_FAULTS})) AS errors,"
                f" count(*) FILTER (length(url) > {LONG_URL}) AS long_urls,"
                " count(*) FILTER (code > 0 AND there.domain <> home.domain) AS off_seed,"
                " count(*) FILTER (error = 'robots') AS robots,"
                " count(*) FILTER (code > 0 AND mime IN ('', 'unknown', 'no-type')) AS unknown_types,"
                " count(DISTINCT there.host) FILTER (NOT ends_with(there.host, ':')) AS sub_domains,"
                f" count(*) FILTER (repeats >= {REPEATS}) AS repeating, count(*) FILTER (malformed) AS malformed,"
                " count(*) FILTER (code = -5003) AS capped"
                f" FROM {prefix}lines AS each LEFT JOIN {prefix}hosts AS there ON there.host = each.host"
                f" LEFT JOIN {prefix}hosts AS home ON home.host = each.source_host AND each.source_host <> ''"
            )
        )
    )
    return LogMeasures(**row)


def url_change(reading: Reading) -> UrlChange:
    """Return how the fetched URLs differ from those of the reference run, by hashes of 64 bits, which are small."""
    fetched = "SELECT DISTINCT hash(url) AS url FROM {}lines WHERE code BETWEEN 200 AND 399"
    known, missing, new = reading.engine.run(
        f"SELECT count(old.url), count(*) FILTER (now.url IS NULL), count(*) FILTER (old.url IS NULL)"
        f" FROM ({fetched.format('reference_')}) AS old FULL JOIN ({fetched.format('')}) AS now ON old.url = now.url"
    )[0]
    return UrlChange(known, missing, new)
