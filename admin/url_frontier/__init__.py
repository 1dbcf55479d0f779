"""Other crawlers take the URLs of a running crawl by the interface of URLFrontier, over gRPC."""
