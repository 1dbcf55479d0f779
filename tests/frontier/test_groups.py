"""definition/groups.py: lines of queue groups, and the group of a host."""

from __future__ import annotations

import time

import pytest

from frontier.definition import groups as definition
from frontier.definition.groups import GroupList, HostGroups, QueueGroup, check_group_line, members_text, read_groups
from frontier.definition.job import Profile

LISTS = {
    "hosts.txt": ["\ufeff# hosts", "", "blog.test", "  198.51.100.0/24  "],
    "more.txt": ["cdn 192.0.2.0/24 parallel=2 delay=0.5", "# nothing", "v6 2001:db8::/32 delay=1"],
}
LINES = (
    "one a.shop.test parallel=3",
    "shop *.shop.test,example.net,img*.cdn.test parallel=1 delay=5",
    "list:more.txt",
    "blogs list:hosts.txt parallel=4",
    "late b.shop.test delay=9",
)


def read(name: str) -> list[str]:
    return LISTS[name]


def name_of(host: str, *addresses: str) -> str:
    found = HostGroups(read_groups(LINES, read)).group_of(host, addresses)
    return found.name if found else ""


@pytest.mark.parametrize(
    ("host", "group"),
    [
        ("a.shop.test", "one"),
        ("a.shop.test:8080", "one"),
        ("b.shop.test", "shop"),
        ("x.y.shop.test", "shop"),
        ("shop.test", ""),
        ("example.net", "shop"),
        ("www.example.net", "shop"),
        ("badexample.net", ""),
        ("img7.cdn.test", "shop"),
        ("img.cdn.test", "shop"),
        ("xmg.cdn.test", ""),
        ("192.0.2.255", "cdn"),
        ("192.0.3.0:81", ""),
        ("[2001:db8::7]", "v6"),
        ("[2001:db8::7]:81", "v6"),
        ("[2001:db9::7]", ""),
        ("blog.test", "blogs"),
        ("198.51.100.9", "blogs"),
    ],
)
def test_a_host_belongs_to_the_first_group_that_matches(host: str, group: str) -> None:
    assert name_of(host) == group


def test_addresses_count_when_they_are_known() -> None:
    assert name_of("www.test", "192.0.2.7") == "cdn"
    assert name_of("www.test", "203.0.113.1", "::ffff:198.51.100.1") == "blogs"
    assert name_of("b.shop.test", "192.0.2.7") == "shop", "an earlier group"
    assert name_of("blog.test", "192.0.2.7") == "cdn", "an earlier group than that of the name"


def test_addresses_are_asked_for_only_when_they_could_decide() -> None:
    groups = HostGroups(read_groups(LINES, read))
    asked = {host: groups.needs_look_up(host) for host in ("a.shop.test", "blog.test", "x.test", "192.0.2.1")}
    assert asked == {"a.shop.test": False, "blog.test": True, "x.test": True, "192.0.2.1": False}
    assert not HostGroups(read_groups(LINES[:2], read)).needs_look_up("x.test")


def test_groups_keep_their_values_on_the_way_to_the_workers() -> None:
    groups = read_groups(LINES, read)
    assert groups.groups[2] == QueueGroup("cdn", ("192.0.2.0/24",), 2, 500)
    assert GroupList.unpacked(groups.packed()) == groups
    assert groups.version != read_groups(LINES[:4], read).version
    assert GroupList().version == ""
    assert members_text(groups.groups[1], 2) == "*.shop.test, example.net and 1 more"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("shop", "is no group"),
        ("shop a.test", "is no group"),
        ("sh/op a.test delay=1", "is no name of a group"),
        ("shop a.test speed=1", "sets no key"),
        ("shop a.test delay=1 delay=2", "has delay twice"),
        ("shop a.test delay=nan", "delay=nan is no number from 0 to 3600"),
        ("shop a.test parallel=0", "parallel=0 is no number from 1 to 1000"),
        ("shop a.test parallel=1.5", "is no whole number"),
        ("shop http://a.test/ delay=1", "is no host name, domain or address"),
        ("shop a.test:80 delay=1", "is no host name, domain or address"),
        ("shop 10.0.0.1/8 delay=1", "is no network"),
        ("shop *.a/b delay=1", "is no host name with wildcard"),
        ("shop , delay=1", "has no members"),
        ("shop list:../x delay=1", "names no file"),
        ("list:/etc/passwd", "names no file"),
        (f"shop {'a.test,' * 20_000} delay=1", "has 140,0"),
    ],
)
def test_a_line_that_can_not_be_used_says_why(line: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        check_group_line(line)
    with pytest.raises(ValueError, match="groups"):
        Profile(groups=(line,))


def test_groups_that_do_not_fit_together_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="is given twice"):
        read_groups(["a x.test delay=1", "a y.test delay=1"], read)
    monkeypatch.setattr(definition, "MAX_MEMBERS", 2_000)
    with pytest.raises(ValueError, match="more than 2,000 members"):
        read_groups(["a list:big delay=1"], lambda _: (f"h{number}.test" for number in range(2_001)))
    with pytest.raises(ValueError, match="more than 1,000 wildcards"):
        read_groups(["a list:big delay=1"], lambda _: (f"*h{number}.test" for number in range(1_001)))


def test_the_worst_wildcards_are_compared_in_bounded_time() -> None:
    line = f"a {','.join('*' + 'a*' * 60 + str(number) for number in range(100))} delay=1"
    groups = HostGroups(read_groups([line], read))
    began = time.process_time()
    assert groups.group_of("a" * 63 + ".test") is None
    assert time.process_time() - began < 20


def test_a_cname_target_names_the_group_of_a_host() -> None:
    lines = ("cdn cname:*.cdn.test,cname:example.net parallel=2", "late shop.test delay=9")
    groups = HostGroups(read_groups(lines, read))
    assert groups.needs_look_up("www.shop.test")
    for target in ("a7.cdn.test", "x.example.net"):
        found = groups.group_of("www.shop.test", (), target)
        assert found is not None
        assert found.name == "cdn"
    assert groups.group_of("www.own.test", (), "other.test") is None
    assert groups.group_of("a7.cdn.test") is None, "the member is about targets, and not about names of hosts"
    with pytest.raises(ValueError, match="write the address without cname:"):
        check_group_line("cdn cname:192.0.2.1 parallel=1")
