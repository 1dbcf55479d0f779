"""Long queues keep their ends in files, called segments, so that one large host does not fill the memory of Redis.

1. `spiller` runs in the command that runs the job. When a host has more URLs in Redis than the setting allows, the last
   ones are written to a segment (`segment_file`), which is made durable. Then one script removes them from Redis and
   registers the segment (`spill.lua`). The whole queue of a host that is set aside goes the same way.
2. When few URLs before the first one of a segment are left, the segment is read back (`unspill.lua`), in steps that
   register how far it was read. Segments of a host that is set aside wait until the host wakes.
3. `registry` lists the segments and their URLs, for reports, exports and deletions.

Redis decides where a URL is. A file that Redis does not know has no meaning, and is removed after a while. So a kill
between two steps neither loses a URL nor visits a URL twice. A file that is missing or damaged is named, and its URLs
are counted as lost.
"""
