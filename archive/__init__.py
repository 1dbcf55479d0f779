"""What a capture is, and how it is kept: the bottom shelf, which imports no other room.

The path of one exchange through this room:

1. `settings` (`sections` has what there is to set) tells where the home is and how files are to be written.
2. `url` gives the exchange's URL its one sort key.
3. `capture.Exchange` says what passed: the bytes of request and response, and the facts.
4. `record` turns it into the bytes of WARC records, `derived` what was made of a page, `warcinfo` the file itself;
   `header`, `digest` and `ids` have what their fields say. They open nothing.
5. `warcfile` appends them, makes a batch durable with one fsync and rolls over: `wrapping` packs each record
   (`gzipmember`, or `zstdframe` with a `dictionary`), `openfile` holds the file, `warcname` and `place` tell where.
6. `cdxj` writes the index line beside it: `capture.Capture`, where the record was kept.

And the way back:

7. `repair` finishes what a dead writer left; `check` and `findings` say what is wrong with a file, ours or anybody's.
8. `upload` hands closed files to the `storage`.
9. `holdings` gives a record by its place in the index, from the home or from the storage: `source` unpacks the file's
   bytes, `reader` finds the records in them, `message` the parts of HTTP.
"""
