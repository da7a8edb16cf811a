"""docs/reference/hosts.md is the table of hosts, row by row."""

from tests.docs.pages import DOCS, names, read, rows

from wf_mcp.core.hosts import HOSTS


def shown(fact: bool | int | None) -> str:
    return "–" if fact is None else {True: "yes", False: "no"}[fact] if isinstance(fact, bool) else str(fact)


def test_every_host_is_on_the_page_with_its_facts_and_their_sources() -> None:
    told = [[row[0], names(row[1]), *row[2:]] for row in rows(read(DOCS / "reference" / "hosts.md"))]
    assert told == [
        [
            host.name,
            list(host.patterns),
            shown(host.safe_names),
            shown(host.reads_resources),
            shown(host.keeps_tools),
            shown(host.name_limit),
            shown(host.echoes_session),
            host.source,
        ]
        for host in HOSTS
    ]
