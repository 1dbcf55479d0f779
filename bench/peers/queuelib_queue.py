"""scrapy's own Python runs this program: it fills scrapy's disk queue (queuelib) and empties it again.

The arguments are the numbers of hosts and of URLs, and an empty folder. A line of JSON says how many requests a second
were pushed and popped, and how many bytes the queue had on the disk. Requests are stored as scrapy's scheduler stores
them: pickled, in a queue of priorities whose queues are files.
"""

from __future__ import annotations

import json
import pickle
import sys
import time
from pathlib import Path


def main() -> None:
    """Measure the queue."""
    from queuelib import FifoDiskQueue, PriorityQueue  # type: ignore[import-not-found]
    from scrapy import Request  # type: ignore[import-not-found]
    from scrapy.utils.request import request_from_dict  # type: ignore[import-not-found]

    hosts, urls, folder = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    queue = PriorityQueue(lambda priority: FifoDiskQueue(str(folder / f"queue-{priority}")))
    began = time.perf_counter()
    for number in range(urls):
        page = number // hosts
        url = f"http://host{number % hosts}.test/section/{page % 50}/page-{page}.html"
        queue.push(pickle.dumps(Request(url, meta={"depth": 1}).to_dict(), protocol=4), 1)
    pushed = time.perf_counter() - began
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    began = time.perf_counter()
    popped = 0
    while (stored := queue.pop()) is not None:
        request_from_dict(pickle.loads(stored))
        popped += 1
    seconds = time.perf_counter() - began
    queue.close()
    print(json.dumps({"pushed_per_second": urls / pushed, "popped_per_second": popped / seconds, "bytes": size / urls}))


if __name__ == "__main__":
    main()
