"""archive/settings/load.py: where a value comes from, and what is said of a wrong one."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from archive.settings.load import DEFAULT_HOME, Settings, SettingsError, load, names


def write(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def test_defaults_need_nothing() -> None:
    settings = load(environment={})
    assert settings.home == Path(DEFAULT_HOME).absolute()
    assert settings.archive.warc_max_bytes == 1_000_000_000
    assert settings.archive.fsync


def test_the_last_layer_wins(home: Path) -> None:
    write(home / "ghostfleet.toml", "[proxy]\nport = 1\nprocesses = 2\nqueue_length = 3\nconnect_seconds = 4\n")
    given = write(home / "more.toml", "[proxy]\nprocesses = 20\nqueue_length = 30\nconnect_seconds = 40\n")
    environment = {"GHOSTFLEET_PROXY__QUEUE_LENGTH": "300", "GHOSTFLEET_PROXY__CONNECT_SECONDS": "400"}
    settings = load({"home": home, "proxy.connect_seconds": 4000}, file=given, environment=environment)
    proxy = settings.proxy
    assert (proxy.port, proxy.processes, proxy.queue_length, proxy.connect_seconds) == (1, 20, 300, 4000)


def test_flag_that_was_not_given_changes_nothing(home: Path) -> None:
    assert load({"home": home, "proxy.port": None}, environment={"GHOSTFLEET_PROXY__PORT": "7"}).proxy.port == 7


def test_home_is_taken_from_flag_before_environment(home: Path, tmp_path: Path) -> None:
    environment = {"GHOSTFLEET_HOME": str(tmp_path / "other")}
    assert load(environment=environment).home == tmp_path / "other"
    assert load({"home": home}, environment=environment).home == home


def test_table_setting_is_written_as_pairs_in_the_environment(home: Path) -> None:
    environment = {"GHOSTFLEET_PROXY__RESOLVE": "a.example=127.0.0.1,*.b.example=127.0.0.2"}
    assert load({"home": home}, environment=environment).proxy.resolve == {
        "a.example": "127.0.0.1",
        "*.b.example": "127.0.0.2",
    }


def test_table_setting_may_be_a_json_object_in_the_environment(home: Path) -> None:
    environment = {"GHOSTFLEET_STORAGE__OPTIONS": '{"endpoint_url": "http://s3.example:1", "key": "a,b=c"}'}
    assert load({"home": home}, environment=environment).storage.options == {
        "endpoint_url": "http://s3.example:1",
        "key": "a,b=c",
    }


@pytest.mark.parametrize("value", ["secret", "region=x,secret", '{"key": "secret"'])
def test_table_setting_that_is_no_table_is_refused_without_its_secrets(home: Path, value: str) -> None:
    with pytest.raises(SettingsError, match=r"^setting storage\.options in the environment is not a .*") as caught:
        load({"home": home}, environment={"GHOSTFLEET_STORAGE__OPTIONS": value})
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"proxy.prot": 1}, "unknown setting proxy.prot in the command line; did you mean proxy.port?"),
        ({"proxi.port": 1}, "unknown setting proxi in the command line; did you mean proxy?"),
        ({"qqqqqqqq": 1}, "unknown setting qqqqqqqq in the command line"),
    ],
)
def test_unknown_name_suggests_the_nearest(home: Path, overrides: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load({"home": home} | overrides, environment={})
    assert str(caught.value) == message


def test_unknown_name_in_a_file_names_the_file(home: Path) -> None:
    path = write(home / "ghostfleet.toml", "[archive]\nwarc_max_byte = 1\n")
    with pytest.raises(SettingsError, match=f"{path}; did you mean archive.warc_max_bytes"):
        load({"home": home}, environment={})


def test_unknown_name_in_the_environment_is_an_error(home: Path) -> None:
    with pytest.raises(SettingsError, match=r"proxy\.portt in the environment; did you mean proxy\.port"):
        load({"home": home}, environment={"GHOSTFLEET_PROXY__PORTT": "1"})


@pytest.mark.parametrize("value", ["many", "-1", "65536"])
def test_wrong_value_is_named_with_its_setting_in_one_line(home: Path, value: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load({"home": home}, environment={"GHOSTFLEET_PROXY__PORT": value})
    assert str(caught.value).startswith(f"setting proxy.port = {value!r} can't be used: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("proxy.port", "many", "write a whole number"),
        ("proxy.port", 1.5, "write a whole number"),
        ("proxy.port", -1, "the smallest value is 0"),
        ("proxy.port", "65536", "the largest value is 65,535"),
        ("proxy.idle_seconds", "x", "write a number"),
        ("proxy.idle_seconds", "0", "write a number above 0"),
        ("proxy.whole_ranges", "perhaps", "write true or false"),
        ("proxy.mode", "tape", "choose 'record', 'replay', 'patch' or 'live'"),
        ("proxy.session_ports", "9000", "write the first and the last port, such as 9000-9099"),
        ("proxy.collection", "a b", "a name begins with a letter or a digit"),
        ("proxy.prefix", "--", "a name begins with a letter or a digit"),
        ("proxy.allow_clients", "10.20.0.0/33", "write a network as 10.20.0.0/16, or one address as 10.20.0.11"),
        ("redis.url", "http://127.0.0.1:6379", "begin it with redis://, rediss://, unix://, cluster:// or clusters://"),
        ("redis.url", "127.0.0.1:6379", "or leave it empty for a private Redis in the home"),
        ("archive.warc_name", "{prefix}", "make names unique in the fleet; add them"),
        ("dedup.statuses", "2xx,99", "'99' is not a status from 200 to 599 or a class such as 2xx"),
        ("dedup.mime_filter", "(", "it is not a regular expression"),
    ],
)
def test_wrong_value_comes_with_its_remedy(home: Path, name: str, value: object, remedy: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load({"home": home, name: value}, environment={})
    assert str(caught.value).startswith(f"setting {name} = ")
    assert remedy in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://anna:secret@redis", "anna:secret@redis:6379", ":secret@redis"])
def test_redis_that_can_not_be_asked_is_refused_without_its_password(home: Path, url: str) -> None:
    with pytest.raises(SettingsError, match="cluster://") as caught:
        load({"home": home, "redis.url": url}, environment={})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("scheme", ["redis", "rediss", "unix", "cluster", "clusters"])
def test_redis_can_be_named_by_every_scheme(home: Path, scheme: str) -> None:
    assert load({"home": home, "redis.url": f"{scheme}://host"}, environment={}).redis.url == f"{scheme}://host"


@pytest.mark.parametrize("name", ["../up", "", "a b", "a/b", ".a"])
def test_collection_must_be_a_file_name(home: Path, name: str) -> None:
    with pytest.raises(SettingsError, match=r"proxy\.collection"):
        load({"home": home, "proxy.collection": name}, environment={})


def test_file_that_is_no_toml_is_named(home: Path) -> None:
    path = write(home / "ghostfleet.toml", "port = = 1")
    with pytest.raises(SettingsError, match=f"settings file {path} can't be read"):
        load({"home": home}, environment={})


def test_settings_file_that_is_missing_is_an_error(home: Path) -> None:
    with pytest.raises(SettingsError, match=r"none\.toml can't be read"):
        load({"home": home}, file=home / "none.toml", environment={})


def test_section_that_is_no_section_is_an_error(home: Path) -> None:
    write(home / "ghostfleet.toml", "proxy = 1\n")
    with pytest.raises(SettingsError, match="unknown setting proxy"):
        load({"home": home}, environment={})


def test_child_runs_with_exactly_the_parents_settings(home: Path) -> None:
    settings = load({"home": home, "proxy.port": 9, "proxy.resolve": {"a": "127.0.0.1"}}, environment={})
    assert load(environment=settings.for_child() | {"GHOSTFLEET_PROXY__PORT": "1"}) == settings


def test_settings_are_frozen(settings: Settings) -> None:
    with pytest.raises(ValidationError):
        settings.archive.fsync = False  # type: ignore[misc]


def test_folders_of_a_collection_are_below_the_home(settings: Settings) -> None:
    assert settings.archive_dir("news") == settings.home / "collections" / "news" / "archive"
    assert settings.index_dir("news") == settings.home / "collections" / "news" / "indexes"


def test_database_is_in_the_home_unless_named(home: Path) -> None:
    assert load({"home": home}, environment={}).database_url == f"sqlite:///{home}/ghostfleet.db"
    assert load({"home": home, "database.url": "postgresql://x"}, environment={}).database_url == "postgresql://x"


def test_firefox_has_no_cache_of_a_site(home: Path) -> None:
    with pytest.raises(SettingsError, match=r"browsers\.cache = 'site'.*Firefox.*set browsers\.cache to cold"):
        load({"home": str(home), "browsers.cache": "site", "browsers.engine": "firefox"}, environment={})


def test_every_setting_can_be_given_through_the_environment(home: Path) -> None:
    for name, default, _ in names():
        section, _, key = name.partition(".")
        pairs = [f"{k}={v}" for k, v in default.items()] if isinstance(default, dict) else default
        value = ",".join(pairs) if isinstance(pairs, list | tuple) else str(default)
        settings = load({"home": home}, environment={f"GHOSTFLEET_{section}__{key}".upper(): value})
        assert getattr(getattr(settings, section), key) == default, name


def test_seconds_by_host_are_numbers(home: Path) -> None:
    given = {"GHOSTFLEET_PROXY__HOST_DELAY": "*.example.org=0.5,*=2"}
    assert load({"home": home}, environment=given).proxy.host_delay == {"*.example.org": 0.5, "*": 2.0}
    for wrong in ("a.org=-1", "a.org=soon", "a.org=nan", "a.org="):
        with pytest.raises(SettingsError, match=r"setting proxy\.host_delay\.a\.org = .* can't be used"):
            load({"home": home}, environment={"GHOSTFLEET_PROXY__HOST_DELAY": wrong})
