"""What a capture is, and how it is kept: the bottom shelf, which imports no other room.

The path of one exchange through this room:

1. `settings` tells where the home is and how files are to be written.
2. `url` gives the exchange's URL its one sort key.
3. `capture.Exchange` says what passed: the bytes of request and response, and the facts.
4. `record` (`derived` for what was made of a page) turns it into the bytes of WARC records; it opens nothing.
5. `warcfile` appends them, makes a batch durable with one fsync, rolls over, repairs.
6. `cdxj` writes the index line beside it: `capture.Capture`, where the record was kept.
"""
