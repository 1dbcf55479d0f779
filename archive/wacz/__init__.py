"""WACZ packages (Web Archive Collection Zipped, version 1.1.1) are written here, without any settings or database.

1. `package` writes the ZIP file: members, checksums, datapackage.json and its digest.
2. `index` makes the compressed CDXJ index by which players find records.
3. `pages` writes the lists of pages.
4. `signature` signs a package.
"""
