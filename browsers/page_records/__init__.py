"""The records of a rendered page are made here from what the browser and the proxy report."""
