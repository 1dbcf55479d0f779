"""archive/names/file_name.py: names by template, unique in the fleet, or a setting that is refused in one line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.archive.exchanges import exchange, keep

from archive.names.file_name import DEFAULT_TEMPLATE, FIELDS, FOLDER_FIELDS, checked_folder, checked_template, warc_name
from archive.settings.load import SettingsError, load
from archive.warc.reading.reader import read_record
from archive.warc.writing.writer import WarcWriter


def name(template: str, serial: int = 3) -> str:
    return warc_name(template, prefix="news", serial=serial, hostname="mole", process="1", ending=".warc.gz")


def test_every_field_is_filled() -> None:
    template = ".".join(f"{{{field}}}" for field in FIELDS)

    found = name(checked_template(template))

    assert re.fullmatch(r"news\.\d{17}\.\d{14}\.00003\.mole\.1\.[0-9a-f]{8}\.warc\.gz", found)


def test_the_default_is_a_template_that_may_be_used() -> None:
    assert checked_template(DEFAULT_TEMPLATE) == DEFAULT_TEMPLATE


def test_names_made_at_the_same_moment_differ() -> None:
    assert len({name("{timestamp14}-{random}") for _ in range(100)}) == 100


def test_the_longest_name_fits_every_file_system() -> None:
    template = "x" * 24 + "".join(f"{{{field}}}" for field in FIELDS)

    found = warc_name(
        checked_template(template), prefix="p" * 64, serial=99_999, hostname="h" * 40, process="7", ending=".warc.zst"
    )

    assert len(found + ".cdxj.new") <= 255


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("", "make names unique"),
        ("{prefix}-{timestamp17}-{serialno}", "make names unique"),
        ("{prefix}-{random}", "make names unique"),
        ("{prefix}-{date}-{random}", "{date} is not a field; write one of {prefix}"),
        ("{prefix.__class__}-{timestamp14}-{random}", "is not a field"),
        ("{}-{timestamp14}-{random}", "{} is not a field"),
        ("{timestamp14!r}-{random}", "can't have a format"),
        ("{timestamp14:>900}-{random}", "can't have a format"),
        ("{timestamp14}-{random}-{random}", "twice"),
        ("../{timestamp14}-{random}", "letters, digits"),
        ("a/{timestamp14}-{random}", "letters, digits"),
        ("-{timestamp14}-{random}", "not at the start"),
        ("{timestamp14}-{random}{{", "letters, digits"),
        ("{timestamp14}-{random", "braces"),
        ("x" * 25 + "{timestamp14}{random}", "24 are allowed"),
    ],
)
def test_a_template_that_cant_be_is_refused_in_one_line(tmp_path: Path, template: str, says: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load({"home": str(tmp_path), "archive.warc_name": template}, environment={})

    assert says in str(refused.value)
    assert "archive.warc_name" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_every_field_of_a_folder_is_filled() -> None:
    folder = checked_folder("/".join(f"{{{field}}}" for field in FOLDER_FIELDS))

    found = warc_name(
        DEFAULT_TEMPLATE, prefix="news", serial=0, hostname="mole", process="1", ending=".warc.gz", folder=folder
    )

    year, month, day, hour = re.fullmatch(r"news/(\d{4})/(\d\d)/(\d\d)/(\d\d)/mole/1/news-\S+", found).groups()  # type: ignore[union-attr]
    assert f"news-{year}{month}{day}{hour}" in found, "folder and name tell the same moment"


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("..", "not at the start"),
        ("{prefix}/../..", "not at the start"),
        (".hidden/{year}", "not at the start"),
        ("/srv/warcs", "none at the start"),
        ("{year}/", "none at the start"),
        ("{year}//{month}", "none at the start"),
        ("C:\\{year}", "letters, digits"),
        ("{year}/{random}", "{random} is not a field; write one of {prefix}"),
        ("{year!r}", "can't have a format"),
        ("{year", "braces"),
        ("/".join("abcdefghi"), "9 folders"),
    ],
)
def test_a_folder_that_leads_elsewhere_is_refused_in_one_line(tmp_path: Path, template: str, says: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load({"home": str(tmp_path), "archive.warc_folder": template}, environment={})

    assert says in str(refused.value)
    assert "archive.warc_folder" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_files_are_called_by_the_template(home: Path) -> None:
    settings = load({"home": str(home), "archive.warc_name": "lib_{timestamp14}.{random}_{prefix}"}, environment={})
    writer = WarcWriter(settings, "news", prefix="daily")

    capture = keep(writer, exchange())
    writer.close()

    assert re.fullmatch(r"lib_\d{14}\.[0-9a-f]{8}_daily\.warc\.gz", capture.filename)
    with read_record(settings.archive_dir("news") / capture.filename, 0) as record:
        assert record.fields.get("WARC-Filename") == capture.filename
