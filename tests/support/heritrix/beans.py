"""Small configurations in the form of Heritrix 3, of which each test changes a part."""

from __future__ import annotations

from typing import Final

RULES: Final = "org.archive.modules.deciderules"
HEAD: Final = """<?xml version="1.0" encoding="UTF-8"?>
<beans xmlns="http://www.springframework.org/schema/beans" xmlns:context="http://www.springframework.org/schema/context"
       xmlns:p="http://www.springframework.org/schema/p">
 <context:annotation-config/>
"""
SIMPLE: Final = """
# the form of a Java property list
metadata.operatorContactUrl=https://archive.example.org/crawler
metadata.jobName=usual
! another comment
metadata.description=A crawl \\
   of two lines
"""
USUAL_SCOPE: Final = (
    ("RejectDecideRule", ""),
    ("surt.SurtPrefixedDecideRule", ""),
    ("TooManyHopsDecideRule", ""),
    ("TransclusionDecideRule", ""),
    ("surt.SurtPrefixedDecideRule", "decision=REJECT seedsAsSurtPrefixes=false surtsDumpFile=negative-surts.dump"),
    ("MatchesListRegexDecideRule", "decision=REJECT"),
    ("PathologicalPathDecideRule", ""),
    ("TooManyPathSegmentsDecideRule", ""),
    ("PrerequisiteAcceptDecideRule", ""),
    ("SchemeNotInSetDecideRule", ""),
)
USUAL_BEANS: Final = (
    ("candidateScoper", "org.archive.crawler.prefetch.CandidateScoper"),
    ("preparer", "org.archive.crawler.prefetch.FrontierPreparer"),
    ("preconditions", "org.archive.crawler.prefetch.PreconditionEnforcer"),
    ("fetchHttp", "org.archive.modules.fetcher.FetchHTTP"),
    ("extractorHtml", "org.archive.modules.extractor.ExtractorHTML"),
    ("warcWriter", "org.archive.modules.writer.WARCWriterChainProcessor"),
    ("disposition", "org.archive.crawler.postprocessor.DispositionProcessor"),
    ("crawlController", "org.archive.crawler.framework.CrawlController"),
    ("frontier", "org.archive.crawler.frontier.BdbFrontier"),
    ("crawlLimiter", "org.archive.crawler.framework.CrawlLimitEnforcer"),
    ("bdb", "org.archive.bdb.BdbModule"),
)


def rule(name: str, properties: str = "", inner: str = "") -> str:
    """Return a decide rule; `properties` are words such as maxHops=3."""
    pairs = (word.partition("=") for word in properties.split())
    inside = "".join(f'<property name="{key}" value="{value}"/>' for key, _, value in pairs)
    return f'<bean class="{RULES}.{name}">{inside}{inner}</bean>\n'


def texts(name: str, *values: str) -> str:
    """Return a property with a list of texts."""
    inside = "".join(f"<value>{value}</value>" for value in values)
    return f'<property name="{name}"><list>{inside}</list></property>'


def scope_of(*rules: str) -> str:
    """Return a bean `scope` with these rules."""
    inside = "".join(rules)
    return (
        f'<bean id="scope" class="{RULES}.DecideRuleSequence"><property name="rules"><list>\n{inside}'
        "</list></property></bean>\n"
    )


def configuration(*more: str, scope: str | None = None, simple: str = "", beans: bool = True) -> bytes:
    """Return a configuration with the usual beans; `simple` are further lines of the overrides."""
    usual = "".join(f'<bean id="{name}" class="{class_name}"></bean>\n' for name, class_name in USUAL_BEANS)
    chosen = scope if scope is not None else scope_of(*(rule(*each) for each in USUAL_SCOPE))
    return (
        HEAD
        + '<bean id="simpleOverrides" class="org.springframework.beans.factory.config.PropertyOverrideConfigurer">'
        + f'<property name="properties"><value>{SIMPLE}{simple}</value></property></bean>\n'
        + '<bean id="longerOverrides" class="org.springframework.beans.factory.config.PropertyOverrideConfigurer">'
        + '<property name="properties"><props><prop key="seeds.textSource.value">\n# URLS\nhttp://example.org/\n'
        + "https://www.example.net/a/b\n</prop></props></property></bean>\n"
        + '<bean id="metadata" class="org.archive.modules.CrawlMetadata" autowire="byName">'
        + '<property name="operatorContactUrl" value="[see override above]"/></bean>\n'
        + '<bean id="seeds" class="org.archive.modules.seeds.TextSeedModule"><property name="textSource">'
        + '<bean class="org.archive.spring.ConfigString"><property name="value"><value># a</value></property></bean>'
        + "</property></bean>\n"
        + chosen
        + (usual if beans else "")
        + "".join(more)
        + "</beans>\n"
    ).encode()
