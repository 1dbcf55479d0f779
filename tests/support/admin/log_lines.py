"""Lines of crawl logs, of this program and of Heritrix 3, and whole logs of an ordinary crawl."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from random import Random
from time import gmtime, strftime
from typing import Any, Final

from archive.crawl_log import LogLine
from archive.dates import Micros

START: Final = 1_795_248_900_000_000
"""2026-11-21T08:15:00Z."""
SECOND: Final = 1_000_000
HERITRIX: Final = (
    "2026-11-21T08:15:00.123Z     1         54 dns:www.example.org P https://www.example.org/ text/dns #012"
    " 20261121081500012+110 sha1:W7Y4JKMHOS4YQHX2LQOBHD4ZP5HZRDHT https://www.example.org/ content-size:54",
    "2026-11-21T08:15:01.500Z   200       1043 https://www.example.org/a%20b.html LL https://www.example.org/ text/html"
    " #003 20261121081501100+400 sha1:DXB6B7TAHBQDQZK3CTMGBYXYPNE2ZT4Z https://www.example.org/ 2t,content-size:1300"
    ' {"contentSize":1300,"warcFilename":"WEB-1.warc.gz","warcFileOffset":1234}',
    "2026-11-21T08:15:02.000Z    -2          - https://gone.example.org/x E https://www.example.org/ unknown #004 -"
    " - https://www.example.org/ 30t",
    "2026-11-21T08:15:03.000Z -9998          - https://user@www.example.co.uk:8443/no L - unknown #004 - - - -",
)
"""Lines in the format of Heritrix 3, as its user manual documents it ("Logs: crawl.log")."""


def line(seconds: float = 0, url: str = "https://www.example.org/", code: int = 200, **given: Any) -> str:
    """Return a line of this program's log, `seconds` after START."""
    at: Micros = START + round(seconds * SECOND)
    size = given.pop("size", 1000 if code > 0 else None)
    mime = given.pop("mime", "text/html" if code > 0 else "unknown")
    started = given.pop("started", at - 100_000)
    return LogLine(at, code, size, url, mime=mime, started=started, duration_ms=100, **given).text()


def ordinary(lines: int = 1500, per_second: float = 5, hosts: int = 20) -> list[str]:
    """Return the lines of a crawl in which no rule finds an anomaly."""
    kinds = ("text/html", "image/jpeg", "image/png", "text/css", "application/pdf")
    return [
        line(
            number / per_second,
            f"https://www{number % hosts}.example{number % hosts % 7}.org/news/{number % 13}/{number}.html",
            404 if number % 40 == 0 else -9998 if number % 97 == 0 else 200,
            mime=kinds[number % len(kinds)],
            source=f"https://www{number % hosts}.example{number % hosts % 7}.org/",
            digest=f"sha1:{number:032d}",
        )
        for number in range(lines)
    ]


def write_log(path: Path, lines: Iterable[str]) -> Path:
    """Write lines as a whole log."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{each}\n" for each in lines), "utf-8")
    return path


def write_large_log(path: Path, size: int) -> Path:
    """Write a log of so many bytes in Heritrix's format: many hosts, digests that differ, 300 lines a second."""
    choose = Random(1)
    hosts = [f"www{number}.example{number % 97}.{'org' if number % 3 else 'co.uk'}" for number in range(3000)]
    codes = choose.choices((200, 301, 404, 503, -2, -9998, 304), (80, 6, 6, 1, 2, 3, 2), k=10_007)
    types = ("text/html", "image/jpeg", "image/png", "application/pdf", "text/css")
    count = written = 0
    with path.open("w") as file:
        while written < size:
            lines = []
            for number in range(count, count + 10_000):
                at = START // 1000 + number * 10 // 3
                second = strftime("%Y%m%d%H%M%S", gmtime(at // 1000)) + f"{at % 1000:03d}"
                iso = f"{second[:4]}-{second[4:6]}-{second[6:8]}T{second[8:10]}:{second[10:12]}:{second[12:14]}"
                host, digest = hosts[int(choose.random() ** 3 * 3000)], f"{choose.getrandbits(160):040x}"[:32].upper()
                bytes_, code = choose.randrange(100, 200_000), codes[number % 10_007]
                lines.append(
                    f"{iso}.{at % 1000:03d}Z {code:>5} {bytes_:>10} https://{host}/s{number % 300}/page-{number % 9973}"
                    f"/index.html?id={number} LL https://{host}/s{number % 300}/ {types[number % 5]} #{number % 50:03d}"
                    f" {second}+{number % 900} sha1:{digest} https://{host}/ -"
                    f' {{"contentSize":{bytes_ + 300},"warcFilename":"WEB-20261121081500123-00001-1.warc.gz",'
                    f'"warcFileOffset":{number * 1000}}}\n'
                )
            text = "".join(lines)
            written += file.write(text)
            count += 10_000
    return path
