"""Each record is compressed for itself: as a gzip member, as a Zstandard frame, or stored when that gains nothing."""
