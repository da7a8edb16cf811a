"""What a checkout must be for others: complete, pinned, and without a trace of the machine that it was made on."""

import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.sources import ROOT

MACHINE = re.compile(r"(?<![\w.~*$}-])/(?:work|root)/|/tmp/lab")
"""Absolute paths of a machine that developers happened to use; `…/root/…` within a longer path is something else."""

REGISTRIES = re.compile(
    "|".join(
        re.escape(host)
        for host in (
            "pypi" + ".org",
            "pythonhosted" + ".org",
            "npmjs" + ".org",
            "npmjs" + ".com",
            "yarnpkg" + ".com",
            "proxy.golang" + ".org",
            "crates" + ".io",
            "artifactory",
        )
    )
    + r"|--(?:extra-)?index-url\b|--registry\b"
)
"""Where packages come from is the business of whoever installs them."""

EXACT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*==[0-9][A-Za-z0-9.!+]*")
EXACT_NODE = re.compile(r"\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?")
PYPROJECTS = sorted([ROOT / "pyproject.toml", *ROOT.glob("plugins/*/pyproject.toml")])


def tracked() -> list[Path]:
    """The files of the repository, and those that are about to become so."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    ).stdout
    return [ROOT / name for name in sorted(set(listed.split("\0"))) if name and (ROOT / name).is_file()]


def offending(pattern: re.Pattern[str]) -> list[str]:
    """Where `pattern` stands in the repository: `file:line: text`."""
    found = []
    for path in tracked():
        if path == Path(__file__):
            continue
        for number, line in enumerate(path.read_bytes().decode(errors="replace").splitlines(), 1):
            if pattern.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}")
    return found


def test_no_file_names_a_package_registry() -> None:
    assert offending(REGISTRIES) == []


def test_no_file_names_a_path_of_the_machine_it_was_written_on() -> None:
    assert offending(MACHINE) == []


def test_what_the_rules_look_for_is_found() -> None:
    assert MACHINE.search("see /work/" + "main/x") is not None
    assert MACHINE.search("HOME=/root/" + ".cache") is not None
    assert MACHINE.search("frame/work/er and /raw/root/x") is None
    assert REGISTRIES.search("https://pypi" + ".org/simple") is not None


def test_constraints_pin_every_package_exactly() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if not EXACT.fullmatch(line)] == []
    names = [_normal(line.split("==")[0]) for line in lines]
    assert len(names) == len(set(names)) > 0


def test_constraints_cover_every_dependency() -> None:
    pinned = {_normal(line.split("==")[0]) for line in (ROOT / "constraints.txt").read_text().splitlines()}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [
        *project["dependencies"],
        *(each for extra in project["optional-dependencies"].values() for each in extra),
    ]
    names = {_normal(_name(requirement)) for requirement in wanted} - {project["name"]}
    assert names - pinned == set()


@pytest.mark.parametrize("path", PYPROJECTS, ids=lambda path: path.parent.name)
def test_dependencies_are_ranges_and_come_from_wherever_packages_come_from(path: Path) -> None:
    project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    wanted = [
        *project["dependencies"],
        *(each for extra in project["optional-dependencies"].values() for each in extra),
    ]
    named = [requirement for requirement in wanted if _name(requirement) != "wf-mcp" or "[" not in requirement]
    assert [each for each in named if not re.search(r">=[\d.]+", each) or "@" in each or "==" in each] == []


@pytest.mark.parametrize("package", ["fastmcp", "mcp", "mcp-types"])
def test_what_wf_mcp_is_built_on_is_held_to_a_tested_major_version(package: str) -> None:
    dependencies = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    (requirement,) = [each for each in dependencies if _name(each) == package]
    assert re.fullmatch(rf"{package}>=(\d+)(\.\d+)+,<\d+", requirement)


@pytest.mark.parametrize("folder", ["", "clients", "conformance"])
def test_node_packages_are_pinned_exactly_and_without_addresses(folder: str) -> None:
    manifest = json.loads((ROOT / "tests" / folder / "package.json").read_text(encoding="utf-8"))
    kinds = ("dependencies", "devDependencies", "optionalDependencies")
    versions = {name: version for kind in kinds for name, version in manifest.get(kind, {}).items()}
    assert {name: version for name, version in versions.items() if not EXACT_NODE.fullmatch(version)} == {}
    assert "scripts" not in manifest


def _requirements(project: dict[str, Any]) -> list[str]:
    extras = project["optional-dependencies"].values()
    return [*project["dependencies"], *(each for extra in extras for each in extra)]


def _name(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found is not None
    return found[0]


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
