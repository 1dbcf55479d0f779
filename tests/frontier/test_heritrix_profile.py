"""A configuration of Heritrix 3 becomes a profile, and nothing in it is passed over in silence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.heritrix.beans import configuration, rule, scope_of, texts

from frontier.definition.heritrix.keys import KEYS
from frontier.definition.heritrix.profile import Conversion, convert, yaml_text
from frontier.definition.heritrix.scope import UNBOUNDED, KeyFinding, java_regex
from frontier.definition.job import Job, Profile, Seed
from frontier.definition.profile import check_profile
from frontier.definition.scope import Candidate, Rejected, Scope


def values(*more: str, scope: str | None = None, simple: str = "") -> dict[str, Any]:
    return convert(configuration(*more, scope=scope, simple=simple)).values


def found(conversion: Conversion, key: str) -> KeyFinding:
    return next(each for each in conversion.findings if each.key.startswith(key))


def sheet(name: str, **entries: str) -> str:
    inside = "".join(f'<entry key="{key.replace("__", ".")}" value="{value}"/>' for key, value in entries.items())
    return (
        f'<bean id="{name}" class="org.archive.spring.Sheet"><property name="map"><map>{inside}</map></property></bean>'
    )


def by_surt(prefixes: tuple[str, ...], *names: str) -> str:
    inside = texts("surtPrefixes", *prefixes) + texts("targetSheetNames", *names)
    return f'<bean class="org.archive.crawler.spring.SurtPrefixesSheetAssociation">{inside}</bean>'


def test_the_usual_configuration_has_the_values_that_heritrix_uses() -> None:
    made = values()
    assert made["scope"] == "prefix"
    assert made["hops"] == 20
    assert (made["embed_hops"], made["speculative_hops"]) == (2, 1)
    assert (made["max_path_segments"], made["max_path_repeats"]) == (20, 2)
    assert made["robots"] == "obey"
    assert made["politeness"] == {
        "delay_factor": 5, "min_delay_seconds": 3, "max_delay_seconds": 30, "max_crawl_delay_seconds": 300,
        "max_retries": 30, "retry_seconds": 900, "max_retry_seconds": 900,
    }  # fmt: skip
    assert made["seen"] == {
        "session_ids": "on", "lowercase": "on", "www": "on", "extra_slashes": "off", "fix_query": "on",
    }  # fmt: skip
    assert "+https://archive.example.org/crawler" in made["user_agent"]
    assert "heritrix" not in made["user_agent"].lower()
    assert "rules" not in made
    assert "limits" not in made


def test_a_profile_loads_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "profile.yaml"
    path.write_text(yaml_text(values(), ("A comment.",)), "utf-8")
    check = check_profile(path)
    assert check.problems == ()
    assert check.profile is not None
    assert check.profile.seen.lowercase == "on"


def test_overrides_win_over_beans_also_by_the_number_of_a_rule() -> None:
    simple = """
scope.rules[2].maxHops=3
scope.rules[3].maxTransHops: 5
disposition.delayFactor 1.5
fetchHttp.acceptHeaders[0]=Accept-Language: da
crawlLimiter.maxTimeSeconds=3600
"""
    made = values(simple=simple)
    assert made["hops"] == 3
    assert made["embed_hops"] == 5
    assert made["politeness"]["delay_factor"] == 1.5
    assert made["headers"] == {"Accept-Language": "da"}
    assert made["limits"] == {"seconds": 3600}


def test_an_override_of_a_usual_bean_in_an_imported_file_is_mapped() -> None:
    conversion = convert(configuration(simple="disposition.minDelayMs=500\nownBean.size=4\n", beans=False))
    assert conversion.values["politeness"]["min_delay_seconds"] == 0.5
    lost = found(conversion, "ownBean.size")
    assert lost.outcome == "not-mapped"
    assert "no bean 'ownBean'" in lost.why


def test_attributes_of_the_property_name_space_are_properties() -> None:
    bean = '<bean id="q" class="org.archive.crawler.prefetch.QuotaEnforcer" p:hostMaxFetchSuccesses="70"/>'
    assert values(bean)["quotas"] == ["host urls=70"]


def test_each_key_with_a_counterpart_has_a_key_of_the_profile() -> None:
    for key in KEYS:
        table, _, name = key.target.partition(".")
        assert not table or table in Profile.model_fields
        if table in ("limits", "politeness", "seen") and name:
            assert name in type(getattr(Profile(), table)).model_fields
        assert key.target or key.why


def test_rules_keep_their_order_when_a_rule_takes_urls_in() -> None:
    scope = scope_of(
        rule("RejectDecideRule"),
        rule("surt.SurtPrefixedDecideRule"),
        rule("MatchesRegexDecideRule", "regex=.*/press/.*"),
        rule("TooManyHopsDecideRule", "maxHops=4"),
        rule("TransclusionDecideRule", "maxTransHops=3 maxSpeculativeHops=0"),
        rule("PathologicalPathDecideRule", "maxRepetitions=3"),
        rule("HopsPathMatchesRegexDecideRule", "regex=.*RRRRR decision=REJECT"),
    )
    made = values(scope=scope)
    assert made["rules"] == [
        "ACCEPT MatchesRegex .*/press/.*",
        "REJECT TooManyHops 4",
        "ACCEPT Transclusion trans=3 spec=0",
        "REJECT PathologicalPath 3",
        "REJECT HopsPathMatchesRegex .*RRRRR",
    ]
    assert "hops" not in made
    assert made["embed_hops"] == 0
    assert made["max_path_segments"] == made["max_path_repeats"] == UNBOUNDED


@pytest.mark.parametrize(
    ("kinds", "scope"),
    [
        (("surt.SurtPrefixed", "surt.OnDomains"), "domain"),
        (("surt.SurtPrefixed", "surt.OnHosts"), "host"),
        (("surt.OnDomains", "surt.OnHosts", "surt.SurtPrefixed"), "domain"),
    ],
)
def test_the_widest_of_several_rules_by_seeds_is_the_scope(kinds: tuple[str, ...], scope: str) -> None:
    rules = [rule("RejectDecideRule"), *(rule(f"{kind}DecideRule") for kind in kinds), rule("TooManyHopsDecideRule")]
    conversion = convert(configuration(scope=scope_of(*rules)))
    assert conversion.values["scope"] == scope
    for number, _ in enumerate(kinds, 1):
        finding = found(conversion, f"scope.rules[{number}]")
        assert (finding.outcome, finding.result) == ("mapped", (f"scope: {scope}",))


def test_rules_by_seeds_add_nothing_to_a_scope_of_all_urls() -> None:
    scope = scope_of(rule("AcceptDecideRule"), rule("surt.OnDomainsDecideRule"))
    conversion = convert(configuration(scope=scope))
    assert conversion.values["scope"] == "any"
    assert "no prefixes" not in found(conversion, "scope.rules[1]").why


@pytest.mark.parametrize("between", ["TooManyHopsDecideRule", "PathologicalPathDecideRule", "MatchesRegexDecideRule"])
def test_a_rule_by_seeds_that_follows_rejections_is_mapped_in_part(between: str) -> None:
    rejection = rule(between, "regex=.*/trap/.* decision=REJECT")
    scope = scope_of(
        rule("RejectDecideRule"), rule("surt.SurtPrefixedDecideRule"), rejection, rule("surt.OnDomainsDecideRule")
    )
    conversion = convert(configuration(scope=scope))
    assert conversion.values["scope"] == "domain"
    finding = found(conversion, "scope.rules[3]")
    assert finding.outcome == "partly"
    assert "stays rejected" in finding.why


def test_the_scope_decides_as_the_rules_of_heritrix_do() -> None:
    regexes = texts("regexList", ".*/calendar/.*", r".*\.(?i)iso")
    scope = scope_of(
        rule("RejectDecideRule"),
        rule("surt.SurtPrefixedDecideRule"),
        rule("TooManyHopsDecideRule", "maxHops=2"),
        rule("TransclusionDecideRule"),
        rule("MatchesListRegexDecideRule", "decision=REJECT", regexes),
        rule("PathologicalPathDecideRule", "maxRepetitions=2"),
    )
    profile = Profile.model_validate(values(scope=scope))
    job = Job(name="j", collection="c", seeds=(Seed(url="http://example.org/a/"),), profile=profile)
    decides = Scope(job)

    def reason(url: str, hop_path: str = "L") -> str:
        decision = decides.decide(Candidate(url, hop_path, depth=hop_path.count("L")))
        return decision.reason if isinstance(decision, Rejected) else ""

    assert reason("http://example.org/a/b") == ""
    assert reason("http://example.org/b") == "scope"
    assert reason("http://example.org/a/b", "LLL") == "hops"
    assert reason("http://other.example/x.png", "LEE") == ""
    assert reason("http://other.example/x.png", "LEEE") == "scope"
    assert reason("http://example.org/a/calendar/1") == "regex"
    assert reason("http://example.org/a/x/x/x/") == "repeating-path"


def test_prefixes_in_the_file_become_rules() -> None:
    source = (
        '<property name="surtsSource"><bean class="org.archive.spring.ConfigString"><property name="value"><value>\n'
        "# a comment\n+http://(org,example,shop,\nexample.net\n!no prefix\n</value></property></bean></property>"
    )
    scope = scope_of(
        rule("RejectDecideRule"),
        rule("surt.SurtPrefixedDecideRule"),
        rule("surt.SurtPrefixedDecideRule", "decision=REJECT seedsAsSurtPrefixes=false", source),
    )
    conversion = convert(configuration(scope=scope))
    assert conversion.values["rules"] == ["REJECT SurtPrefixed http://(org,example,shop, example.net"]
    assert found(conversion, "scope.rules[2] SurtPrefixed surtsSource").value == "!no"


def test_files_of_prefixes_are_named_and_not_read() -> None:
    scope = scope_of(rule("RejectDecideRule"), rule("surt.SurtPrefixedDecideRule", "surtsSourceFile=surts.txt"))
    conversion = convert(configuration(scope=scope))
    named = found(conversion, "scope.rules[1]")
    assert named.outcome == "partly"
    assert "ACCEPT SurtListFile surts.txt" in named.why


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("IdenticalDigestDecideRule", "none of them is queued again"),
        ("IpAddressSetDecideRule", "no values in this file"),
        ("ContentLengthDecideRule", "no threshold"),
        ("ScriptedDecideRule", "no programs"),
        ("OwnDecideRule", "no rule of ours"),
    ],
)
def test_rules_without_a_counterpart_are_named_and_stop_nothing(name: str, wanted: str) -> None:
    scope = scope_of(rule("RejectDecideRule"), rule(name), rule("OnHostsDecideRule"))
    conversion = convert(configuration(scope=scope))
    assert conversion.values["scope"] == "host"
    assert wanted in found(conversion, "scope.rules[1]").why


def test_a_rule_that_is_switched_off_is_left_out() -> None:
    scope = scope_of(rule("AcceptDecideRule"), rule("MatchesRegexDecideRule", "regex=.* decision=REJECT enabled=false"))
    made = values(scope=scope)
    assert made["scope"] == "any"
    assert "rules" not in made


def test_a_sequence_within_a_sequence_decides_in_its_place() -> None:
    inner = rule("DecideRuleSequence", "", f'<property name="rules"><list>{rule("HasViaDecideRule")}</list></property>')
    made = values(scope=scope_of(rule("RejectDecideRule"), inner, rule("OnDomainsDecideRule")))
    assert made["rules"] == ["ACCEPT HasVia"]
    assert made["scope"] == "domain"


def test_a_scope_that_names_itself_ends() -> None:
    references = '<ref bean="scope"/>' * 40
    conversion = convert(configuration(scope=scope_of(references)))
    assert any("lie within each other" in each.why for each in conversion.findings)


@pytest.mark.parametrize(
    ("written", "ours"),
    [
        (r"\Qa.b\E/.*", r"a\.b/.*"),
        (r"(?<year>\d+)", r"(?P<year>\d+)"),
        (r"^(?i).*\.iso", r"(?i)^.*\.iso"),
        (" .*/a \n", ".*/a"),
        (r"[\[a]b", r"[\[a]b"),
    ],
)
def test_expressions_of_java_are_rewritten(written: str, ours: str) -> None:
    assert java_regex(written) == ours


@pytest.mark.parametrize("written", ["[a-z&&[^b]]", "a\nb", "${TRAPS}", "[a[bc]]", "[:" * 3_000])
def test_expressions_that_python_cannot_have_are_refused(written: str) -> None:
    with pytest.raises(ValueError, match=r"; (rewrite|write|add)"):
        java_regex(written)


def test_sheets_become_lines_for_each_prefix() -> None:
    made = values(
        sheet("veryPolite", disposition__delayFactor="10", disposition__minDelayMs="10000", frontier__maxRetries="2"),
        sheet("shallow", **{"scope.rules[2].maxHops": "1"}, metadata__robotsPolicyName="ignore"),
        by_surt(("http://(org,example,", "http://(net,example,www,)/a"), "veryPolite", "shallow"),
    )
    settings = "delay_factor=10 min_delay_seconds=10 max_retries=2 hops=1 robots=ignore"
    assert made["sheets"] == [f"http://(org,example, {settings}", f"http://(net,example,www,)/a {settings}"]
    Profile.model_validate(made)


def test_sheets_by_an_expression_and_sheets_that_block_are_mapped() -> None:
    association = (
        '<bean class="org.archive.crawler.spring.DecideRuledSheetAssociation"><property name="rules">'
        + rule("MatchesRegexDecideRule", "regex=.*\\.pdf")
        + f"</property>{texts('targetSheetNames', 'free')}</bean>"
    )
    blocked = sheet("blocked", preselector__blockAll="true") + by_surt(("http://(org,example,bad,",), "blocked")
    made = values(sheet("free", metadata__robotsPolicyName="ignore"), association, blocked)
    assert made["sheets"] == [r"regex:.*\.pdf robots=ignore"]
    assert made["rules"] == ["REJECT SurtPrefixed http://(org,example,bad,"]


def test_sheets_without_a_place_or_a_counterpart_are_named() -> None:
    by_status = (
        '<bean class="org.archive.crawler.spring.DecideRuledSheetAssociation"><property name="rules">'
        + rule("MatchesStatusCodeDecideRule")
        + f"</property>{texts('targetSheetNames', 'slow')}</bean>"
    )
    conversion = convert(
        configuration(sheet("unused"), sheet("slow"), by_status, by_surt(("http://(org,",), "imported"))
    )
    assert found(conversion, "sheet unused").outcome == "ignored"
    assert "MatchesStatusCode" in found(conversion, "sheet association").why
    assert "not in this file" in found(conversion, "sheet imported").why
    assert "sheets" not in conversion.values


def test_logins_are_named_without_users_and_passwords() -> None:
    store = """<bean id="credentialStore" class="org.archive.modules.credential.CredentialStore">
 <property name="credentials"><map>
  <entry key="a"><bean class="org.archive.modules.credential.HttpAuthenticationCredential">
   <property name="domain" value="example.org"/><property name="realm" value="Staff"/>
   <property name="login" value="anna"/><property name="password" value="s3cret"/></bean></entry>
  <entry key="b"><ref bean="form"/></entry>
 </map></property></bean>
<bean id="form" class="org.archive.modules.credential.HtmlFormCredential">
 <property name="domain" value="example.net"/><property name="loginUri" value="/in"/>
 <property name="formItems"><map><entry key="user" value="anna"/><entry key="pass" value="s3cret"/></map></property>
</bean>
"""
    simple = (
        "credentialStore.credentials[a].password=s3cret\nother.password=s3cret\nfetchHttp.httpProxyPassword=s3cret\n"
    )
    conversion = convert(configuration(store, simple=simple))
    said = repr(conversion)
    assert "s3cret" not in said
    assert "anna" not in said
    named = found(conversion, "credentialStore")
    assert "example.org" in named.value
    assert "ghostfleet profile browser create" in named.why


def test_keys_without_a_counterpart_have_a_reason_or_a_remedy() -> None:
    more = '<bean id="own" class="org.example.Own"/><import resource="sheets.xml"/>'
    simple = "crawlController.maxToeThreads=50\nwarcWriter.prefix=ABC\nfrontier.errorPenaltyAmount=9\nbdb.dir=state\n"
    conversion = convert(configuration(more, simple=simple))
    assert "--workers" in found(conversion, "crawlController.maxToeThreads").why
    assert "recording proxies" in found(conversion, "warcWriter.prefix").why
    assert found(conversion, "frontier.errorPenaltyAmount").outcome == "ignored"
    assert found(conversion, "bdb.dir").outcome == "ignored"
    assert found(conversion, "own").value == "Own"
    assert found(conversion, "import").value == "sheets.xml"
    assert conversion.seeds == ("http://example.org/", "https://www.example.net/a/b")


@pytest.mark.parametrize(
    "value", ["${delay}", "%{DELAY_PLACEHOLDER}", "#{systemEnvironment['X']}", "many", "-4", "1e999", ""]
)
def test_values_that_are_no_numbers_are_left_out_with_a_reason(value: str) -> None:
    conversion = convert(configuration(simple=f"disposition.delayFactor={value}\n"))
    assert "delay_factor" not in conversion.values["politeness"]
    assert found(conversion, "disposition.delayFactor").why.endswith("set the key by hand")


def test_a_missing_contact_leaves_the_user_agent_out() -> None:
    conversion = convert(configuration(simple="metadata.operatorContactUrl=ENTER_AN_URL_HERE\n"))
    assert "user_agent" not in conversion.values
    assert "set user_agent" in found(conversion, "metadata.operatorContactUrl").why


def test_the_mail_address_is_the_contact_when_there_is_no_page() -> None:
    simple = "metadata.operatorContactUrl=\nmetadata.operatorFrom=crawl@example.org\nmetadata.userAgentTemplate=Own/1\n"
    made = values(simple=simple)
    assert made["user_agent"] == "Own/1 (+crawl@example.org)"
    assert made["headers"] == {"From": "crawl@example.org"}


def test_the_longest_delay_wins_over_the_shortest() -> None:
    made = values(simple="disposition.minDelayMs=5000\ndisposition.maxDelayMs=1000\n")
    assert (made["politeness"]["min_delay_seconds"], made["politeness"]["max_delay_seconds"]) == (1, 1)


def test_rules_of_canonicalisation_become_keys_of_seen() -> None:
    policy = (
        '<bean id="canonicalizationPolicy" class="org.archive.modules.canonicalize.RulesCanonicalizationPolicy">'
        '<property name="rules"><list><bean class="org.archive.modules.canonicalize.StripExtraSlashes"/>'
        '<bean class="org.archive.modules.canonicalize.RegexRule"><property name="regex" value="(.*)&amp;x=.*"/>'
        '<property name="format" value="${1}"/></bean>'
        '<bean class="org.archive.modules.canonicalize.RegexRule"><property name="regex" value="(.*)&amp;y=.*"/></bean>'
        '<bean class="org.archive.modules.canonicalize.LowercaseRule"><property name="enabled" value="false"/></bean>'
        '<bean class="org.archive.modules.canonicalize.RegexRule">'
        '<property name="regex" value="([a-z&amp;&amp;[^b]])"/></bean></list></property></bean>'
    )
    conversion = convert(configuration(policy))
    on = [key for key, value in conversion.values["seen"].items() if value == "on"]
    assert on == ["extra_slashes"]
    assert conversion.values["seen"]["rewrites"] == [r"^(?:(.*)&x=.*)$ => \1", r"^(?:(.*)&y=.*)$ => \1"]
    outcomes = [each.outcome for each in conversion.findings if each.value == "RegexRule"]
    assert outcomes == ["mapped", "mapped", "not-mapped"]


def preselector(inner: str) -> str:
    return f'<bean id="preselector" class="org.archive.crawler.prefetch.Preselector">{inner}</bean>'


@pytest.mark.parametrize(("name", "kind"), [("blockByRegex", "MatchesRegex"), ("allowByRegex", "NotMatchesRegex")])
def test_expressions_of_the_preselector_are_taken_over_in_full(name: str, kind: str) -> None:
    expression = "|".join(f".*/trap{number}/.*" for number in range(30))
    conversion = convert(configuration(preselector(f'<property name="{name}" value="{expression}"/>')))
    assert conversion.values["rules"] == [f"REJECT {kind} {expression}"]
    assert found(conversion, f"preselector.{name}").result == (f"rules: REJECT {kind} {expression}",)


def test_an_expression_of_the_preselector_that_is_no_text_is_named() -> None:
    bean = '<property name="blockByRegex"><bean class="java.util.regex.Pattern"/></property>'
    conversion = convert(configuration(preselector(bean)))
    assert "rules" not in conversion.values
    assert "set rules by hand" in found(conversion, "preselector.blockByRegex").why


def test_robots_guessed_links_and_limits_are_mapped() -> None:
    simple = """
metadata.robotsPolicyName=ignore
extractorHtml.extractJavascript=false
crawlLimiter.maxBytesDownload=1000000
crawlLimiter.maxDocumentsDownload=0
frontier.queueTotalBudget=-1
"""
    made = values(simple=simple)
    assert made["robots"] == "ignore"
    assert made["guessed_links"] == "off"
    assert made["limits"] == {"bytes": 1_000_000}


def test_a_template_whose_placeholders_are_still_open_is_converted() -> None:
    simple = """
metadata.operatorContactUrl=%{CONTACT_PLACEHOLDER}
crawlLimiter.maxTimeSeconds=%{MAX_TIME_SECONDS_PLACEHOLDER}
disposition.delayFactor=1.0
scope.rules[2].maxHops=25
scope.rules[6].maxRepetitions=3
quotaEnforcer.groupMaxAllKb=%{LIMIT_PLACEHOLDER}
"""
    conversion = convert(configuration(simple=simple))
    assert conversion.values["hops"] == 25
    assert conversion.values["max_path_repeats"] == 3
    assert "limits" not in conversion.values
    assert "placeholder" in found(conversion, "crawlLimiter.maxTimeSeconds").why
    assert found(conversion, "quotaEnforcer.groupMaxAllKb").outcome == "not-mapped"


def test_quotas_become_lines_and_no_limit_becomes_nothing() -> None:
    simple = """
quotaEnforcer.hostMaxAllKb=10
quotaEnforcer.groupMaxNovelKb=3
quotaEnforcer.serverMaxFetchResponses=-1
quotaEnforcer.hostMaxNovelUrls=7
crawlLimiter.maxNovelBytes=5000
"""
    bean = '<bean id="quotaEnforcer" class="org.archive.crawler.prefetch.QuotaEnforcer"/>'
    conversion = convert(configuration(bean, simple=simple))
    assert sorted(conversion.values["quotas"]) == ["host bytes=10240", "host new_bytes=3072", "job new_bytes=5000"]
    assert found(conversion, "quotaEnforcer.hostMaxNovelUrls").outcome == "not-mapped"
    Profile.model_validate(conversion.values)


@pytest.mark.parametrize(("success", "every"), [(1_000, 50_000), (50_000, 1_000)])
def test_the_smallest_of_several_limits_that_become_one_quota_counts(success: int, every: int) -> None:
    simple = f"""
quotaEnforcer.hostMaxSuccessKb={success}
quotaEnforcer.groupMaxAllKb={every}
quotaEnforcer.hostMaxFetchSuccesses=70
crawlLimiter.maxNovelBytes=5000
crawlLimiter.maxWarcNovelBytes=6000
"""
    bean = '<bean id="quotaEnforcer" class="org.archive.crawler.prefetch.QuotaEnforcer"/>'
    conversion = convert(configuration(bean, simple=simple))
    assert sorted(conversion.values["quotas"]) == ["host bytes=1024000", "host urls=70", "job new_bytes=5000"]
    larger = "hostMaxSuccessKb" if success > every else "groupMaxAllKb"
    for name in ("hostMaxSuccessKb", "groupMaxAllKb"):
        finding = found(conversion, f"quotaEnforcer.{name}")
        assert finding.result == ("quotas: host bytes=1024000",)
        assert ("smaller limit" in finding.why) == (name == larger)


def test_a_value_that_our_checks_refuse_is_taken_out_and_named() -> None:
    conversion = convert(configuration(simple="metadata.userAgentTemplate=caf\u00e9 @OPERATOR_CONTACT_URL@\n"))
    Profile.model_validate(conversion.values)
    assert "user_agent" not in conversion.values
    assert found(conversion, "metadata.userAgentTemplate").outcome == "not-mapped"
    assert "not printable ASCII" in found(conversion, "user_agent").why


def test_lists_of_too_many_expressions_are_cut_and_named() -> None:
    many = texts("regexList", *(f".*/{number}/" for number in range(6_000)))
    conversion = convert(
        configuration(scope=scope_of(rule("RejectDecideRule"), rule("MatchesListRegexDecideRule", "", many)))
    )
    assert len(conversion.values["rules"]) == 5_000
    assert any("MatchesListRegex FILE" in each.why for each in conversion.findings)


def test_sheets_may_name_a_rule_within_the_scope() -> None:
    hops = rule("TooManyHopsDecideRule").replace("<bean ", '<bean id="tooManyHops" ')
    scope = scope_of(rule("RejectDecideRule"), rule("surt.SurtPrefixedDecideRule"), hops)
    endless = sheet("endless", tooManyHops__enabled="false") + by_surt(("http://(org,example,",), "endless")
    assert values(endless, scope=scope)["sheets"] == ["http://(org,example, hops=none"]


def test_rules_about_addresses_and_answers_become_lines_of_the_same_name() -> None:
    addresses = '<property name="ipAddresses"><set><value>192.0.2.1</value><value>192.0.2.2</value></set></property>'
    statuses = '<property name="statusCodes"><list><value>403</value><value>404</value></list></property>'
    conversion = convert(
        configuration(
            scope=scope_of(
                rule("RejectDecideRule"),
                rule("OnHostsDecideRule"),
                rule("IpAddressSetDecideRule", "decision=REJECT", addresses),
                rule("ContentTypeNotMatchesRegexDecideRule", "decision=REJECT regex=text/.*"),
                rule("FetchStatusDecideRule", "decision=REJECT", statuses),
                rule("MatchesStatusCodeDecideRule", "decision=REJECT lowerBound=500 upperBound=599"),
                rule("ContentLengthDecideRule", "contentLengthThreshold=5000"),
                rule("ResourceNoLongerThanDecideRule", "contentLengthThreshold=10"),
                rule("ResponseContentLengthDecideRule", "decision=REJECT lowerBound=7"),
            )
        )
    )
    assert conversion.values["rules"] == [
        "REJECT IpAddressSet 192.0.2.1 192.0.2.2",
        "REJECT ContentTypeNotMatchesRegex text/.*",
        "REJECT FetchStatus 403 404",
        "REJECT MatchesStatusCode 500 599",
        "REJECT ResponseContentLength from=5000",
        "ACCEPT ContentLength 5000",
        "ACCEPT ResourceNoLongerThan 10",
        "REJECT ResponseContentLength from=7",
    ]
    assert found(conversion, "scope.rules[2]").why == ""
    assert "links of the answer" in found(conversion, "scope.rules[4]").why
