"""scrapy's own Python runs this program: a spider that follows all links within the hosts of its seeds.

The arguments are the number of requests at once, and a file with the seeds. The variable `http_proxy` names the proxy,
through which scrapy asks for robots.txt, too. The bench has a module `scrapy_crawl`, and this program imports no module
of the bench.
"""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import urlsplit


def main() -> None:
    """Crawl the sites of the seeds."""
    import scrapy  # type: ignore[import-not-found]
    from scrapy.crawler import CrawlerProcess  # type: ignore[import-not-found]
    from scrapy.linkextractors import LinkExtractor  # type: ignore[import-not-found]

    at_once, seeds_file = sys.argv[1:]
    seeds = Path(seeds_file).read_text("utf-8").split()
    extractor = LinkExtractor(allow_domains=[urlsplit(seed).netloc for seed in seeds])

    class Spider(scrapy.Spider):  # type: ignore[misc]
        """The spider asks for each page once."""

        name = "bench"

        async def start(self):  # type: ignore[no-untyped-def]
            """Yield the seeds."""
            for seed in seeds:
                yield scrapy.Request(seed)

        def parse(self, response):  # type: ignore[no-untyped-def]
            """Yield the links of a page."""
            for link in extractor.extract_links(response):
                yield scrapy.Request(link.url)

    process = CrawlerProcess(
        {
            "CONCURRENT_REQUESTS": int(at_once),
            "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
            "DOWNLOAD_DELAY": 0,
            "ROBOTSTXT_OBEY": True,
            "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
            "TELNETCONSOLE_ENABLED": False,
            "LOG_LEVEL": "WARNING",
        }
    )
    process.crawl(Spider)
    process.start()


if __name__ == "__main__":
    main()
