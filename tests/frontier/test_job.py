"""Seeds, profiles and jobs: what is taken, and how a refusal reads."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from frontier.definition.job import Job, JobError, Profile, Seed, first_problem, read_seeds


def test_a_seed_is_kept_in_canonical_form() -> None:
    assert Seed.parse(" HTTP://Example.ORG:80/a/../b#c ").url == "http://example.org/b"


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("example.org", "write http://example.org/"),
        ("example.org:8080/x", "write http://example.org:8080/x"),
        ("//example.org/x", "write http://example.org/x"),
        ("mailto:someone@example.org", "write a URL such as http://example.org/"),
        ("javascript:alert(1)", "write a URL such as http://example.org/"),
        ("file:///etc/passwd", "write a URL such as http://example.org/"),
        ("http://exa mple.org/", "write a URL such as http://example.org/"),
        ("http://example.org:0/", "write a URL such as http://example.org/"),
        ("", "write a URL such as http://example.org/"),
    ],
)
def test_what_is_no_seed_is_named_with_its_remedy_in_one_line(text: str, remedy: str) -> None:
    with pytest.raises(JobError) as caught:
        Seed.parse(text)
    message = str(caught.value)
    assert message.startswith(f"seed {text!r} can't be used: ")
    assert remedy in message
    assert "\n" not in message


def test_a_seed_file_is_read_as_a_stream_with_a_report_for_each_line() -> None:
    lines = ["\ufeffhttp://example.org/\n", "# a comment\n", "\n", "nonsense one\n", "http://example.org/\x00\n"]
    found = dict(read_seeds(iter(lines)))
    assert found[1] == Seed(url="http://example.org/")
    assert isinstance(found[4], JobError)
    assert set(found) == {1, 4, 5}


def test_seeds_are_streamed_not_gathered() -> None:
    def endless() -> object:
        while True:
            yield "http://example.org/\n"

    assert next(read_seeds(endless())) == (1, Seed(url="http://example.org/"))  # type: ignore[arg-type]


def test_a_job_keeps_each_seed_once() -> None:
    job = Job.of("j", "c", ["http://example.org", "http://example.org/", "http://example.com/"])
    assert [seed.url for seed in job.seeds] == ["http://example.org/", "http://example.com/"]


def test_a_job_survives_json() -> None:
    job = Job.of("j", "c", ["http://example.org"], Profile(scope="domain", exclude=("a+",)))
    stored = job.model_dump_json()
    assert "example.org" not in stored, "seeds may be millions"
    assert Job.model_validate_json(stored) == job.model_copy(update={"seeds": ()})


def test_the_seeds_in_the_json_of_an_earlier_release_are_left_out() -> None:
    stored = '{"name": "j", "collection": "c", "seeds": [{"url": "http://example.org/"}], "created": 1}'
    assert len(Job.model_validate_json(stored).seeds) == 0


@pytest.mark.parametrize(("name", "collection", "field"), [("../x", "c", "name"), ("j", "a b", "collection")])
def test_a_name_that_can_not_be_a_file_name_is_refused(name: str, collection: str, field: str) -> None:
    with pytest.raises(JobError, match=rf"{field} = .* can't be used"):
        Job.of(name, collection, ["http://example.org/"])


def test_a_job_without_seeds_is_refused() -> None:
    with pytest.raises(JobError, match="job j has no seeds"):
        Job.of("j", "c", [])


@pytest.mark.parametrize("name", ["../people.key", "/etc/passwd", "a/b.js", "notes.txt", ".js", "c:\\x.js", "b.js\n"])
def test_a_profile_names_behaviour_files_of_the_homes_folder_only(name: str) -> None:
    with pytest.raises(ValueError, match="is no file of the home's folder `behaviors`"):
        Profile(behavior_scripts=(name,))

    assert Profile(behavior_scripts=("shop-tour.json", "a.yml")).behavior_scripts == ("shop-tour.json", "a.yml")


def test_a_device_of_a_profile_changes_only_the_settings_that_it_names() -> None:
    values = {"width": 390, "pointer": "touch", "layout": "desktop", "colors": "dark", "lang": "de-AT,de;q=0.9"}
    device = Profile.model_validate({"device": values}).device

    assert device.browser_settings == {
        "width": 390,
        "touch": True,
        "mobile": False,
        "dark": True,
        "lang": "de-AT,de;q=0.9",
    }
    assert Profile().device.browser_settings == {}


def test_firefox_has_no_cache_of_a_site() -> None:
    with pytest.raises(ValidationError) as caught:
        Profile(engine="firefox", browser_cache="site")

    problem = "browser_cache = 'site' can't be used: Firefox has one cache for all pages; write cold, or"
    assert first_problem(caught.value).startswith(problem)
    assert Profile(engine="chromium", browser_cache="site").browser_cache == "site"


@pytest.mark.parametrize(
    "values",
    [
        {"device": {"lang": "--headless=old"}},
        {"device": {"lang": "de\n--x"}},
        {"device": {"timezone": "../zone"}},
        {"device": {"width": 10**6}},
        {"second_device": "390x844@9"},
        {"second_device": "99999x1"},
        {"service_workers": "yes"},
    ],
)
def test_a_device_that_no_browser_can_be_is_refused(values: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"can't|should|less"):
        Profile.model_validate(values)
