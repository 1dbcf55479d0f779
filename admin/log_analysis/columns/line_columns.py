"""These expressions of SQL turn the text of a line of crawl.log into typed columns, once. Pure.

Each line of the log gives one row, so that the number of a row is that of its line. A line that can't be read gives a
row with `broken`, its first characters, and without a time.
"""

from __future__ import annotations

from typing import Final

from admin.log_analysis.error_classes import class_sql

EDITION: Final = 1
"""Raised when columns change; an analysis of another edition is made again."""
LONG_URL: Final = 125
"""Characters; WCT's indicator counts URLs that are longer."""
_COLUMNS: Final = 12
_SMALL: Final = 32_767
"""The largest SMALLINT; a URL may have more path segments."""
_SHOWN: Final = 200
_TEXTS: Final = (
    *("application/xhtml+xml", "application/xml", "application/json", "application/javascript"),
    *("application/x-javascript", "application/ecmascript"),
)


def parse_sql(path: str) -> str:
    """Return the query that reads a file of lines, whose columns are parted by one space each."""
    return f"""
SELECT time, code, size, bytes, url, host, path_depth, repeats, hops, via, mime, is_text, started, duration_ms, digest,
  source, {_host("split_part(source, '/', 3)")} AS source_host, annotations, tries, error, is_note, broken,
  NOT is_lookup AND ({_malformed()}) AS malformed
FROM (SELECT *, {_size()} AS bytes, {class_sql("code")} AS error,
    CASE WHEN is_lookup THEN split_part(lower(url), ':', 1) || ':' ELSE {_host("parts[3]")} END AS host,
    least(greatest(len(parts) - 3 - CASE WHEN parts[-1] = '' THEN 1 ELSE 0 END, 0), {_SMALL})::SMALLINT AS path_depth,
    least(CASE WHEN len(parts) > 6 THEN len(parts) - 3 - len(list_distinct(parts[4:])) ELSE 0 END, {_SMALL})::SMALLINT
      AS repeats,
    starts_with(mime, 'text/') OR mime IN {_TEXTS} OR ends_with(mime, '+xml') OR ends_with(mime, '+json') AS is_text,
    coalesce(try_cast(nullif(regexp_extract(annotations, '(?:^|,)([0-9]{{1,4}})t(?:,|$)', 1), '') AS SMALLINT), 1)
      AS tries
  FROM (SELECT * EXCLUDE (cells, is_good),
      CASE WHEN is_good THEN NULL ELSE coalesce(left(line, {_SHOWN}), '') END AS broken,
      CASE WHEN is_good THEN moment END AS time,
      CASE WHEN is_good THEN try_cast(cells[2] AS INTEGER) END AS code,
      try_cast(cells[3] AS BIGINT) AS size, {_cell(4)} AS url, {_cell(5)} AS hops, {_cell(6)} AS via,
      split_part(lower({_cell(7)}), ';', 1) AS mime,
      try_strptime(left(split_part(cells[9], '+', 1), 17), '%Y%m%d%H%M%S%g') AS started,
      coalesce(try_cast(split_part(cells[9], '+', 2) AS BIGINT), 0) AS duration_ms,
      {_cell(10)} AS digest, {_cell(11)} AS source, {_cell(12)} AS annotations,
      array_to_string(cells[13:], ' ') AS extra,
      contains(extra, '"annotates"') AS is_note,
      starts_with(lower(url), 'dns:') OR starts_with(lower(url), 'whois:') AS is_lookup,
      string_split(split_part(split_part(url, '?', 1), '#', 1), '/') AS parts
    FROM (SELECT line, cells, try_cast(cells[1] AS TIMESTAMP) AS moment,
        coalesce(len(cells) >= {_COLUMNS} AND moment IS NOT NULL AND try_cast(cells[2] AS INTEGER) IS NOT NULL
          AND contains(cells[1], 'T'), false) AS is_good
      FROM (SELECT line, string_split(line, ' ') AS cells
        FROM read_csv('{path}', columns = {{'line': 'VARCHAR'}}, delim = chr(1), quote = '', escape = '',
          header = false, auto_detect = false, strict_mode = false, max_line_size = 1000000, buffer_size = 8000000)))))
"""


def _cell(number: int) -> str:
    """Return the text of a column; that of a broken line, and of one that is not known, is empty."""
    return f"CASE WHEN NOT is_good OR cells[{number}] = '-' THEN '' ELSE cells[{number}] END"


def _host(authority: str) -> str:
    """Return the host in an authority: without user and port, in small letters."""
    return (
        f"CASE WHEN contains({authority}, '@') OR contains({authority}, ':')"
        f" THEN lower(regexp_extract({authority}, '^(?:.*@)?(\\[[^\\]]*\\]|[^:]*)', 1))"
        f" ELSE lower(coalesce({authority}, '')) END"
    )


def _size() -> str:
    """Return the bytes of head and body, or of the body when only these are known, as Heritrix's reports count."""
    return (
        "coalesce(CASE WHEN contains(extra, 'contentSize') THEN"
        " try_cast(nullif(regexp_extract(extra, '\"contentSize\": ?([0-9]{1,18})', 1), '') AS BIGINT)"
        " WHEN contains(annotations, 'content-size:') THEN"
        " try_cast(nullif(regexp_extract(annotations, 'content-size:([0-9]{1,18})', 1), '') AS BIGINT) END, size, 0)"
    )


def _malformed() -> str:
    """Return whether no browser could have followed the URL as it stands (RFC 3986, sections 2.1 and 3.2).

    Plain searches come before regular expressions, which few URLs then need. Blocks have no control characters.
    """
    return (
        "host = '' OR NOT (starts_with(url, 'http') OR regexp_matches(url, '^[A-Za-z][A-Za-z0-9+.-]*://'))"
        " OR NOT contains(url, '://')"
        " OR NOT regexp_full_match(host, '[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_.])?|\\[[0-9a-f:.]+\\]')"
        " OR contains(host, '..') OR contains(url, '<') OR contains(url, '>') OR contains(url, '\"')"
        " OR contains(parts[3], ':') AND NOT contains(parts[3], '@')"
        " AND regexp_matches(parts[3], ':[^\\]]*[^0-9\\]][^\\]]*$')"
        " OR contains(url, '%') AND regexp_matches(url, '%(?:[^0-9A-Fa-f]|.[^0-9A-Fa-f]|.?$)')"
    )
