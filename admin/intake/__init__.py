"""Messages of a broker feed a running crawl: their forms, and the process that takes them."""
