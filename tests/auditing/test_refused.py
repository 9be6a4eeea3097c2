"""Refusals of `mmerg audit`, and its results in a report."""

from pathlib import Path

import pytest

from mmerg.audit import main
from mmerg.auditing.planted import PLANTED
from mmerg.report import main as report
from mmerg.reporting.run_pages import RunPages
from mmerg.runs.folder import read_results
from tests.auditing.parts import FOREIGN_ONLY, planted_of
from tests.compared_runs import edit
from tests.composed import BASE, plain_of
from tests.scripted_ollama import ScriptedOllama


def refused(capsys: pytest.CaptureFixture[str], path: Path, *more: str) -> str:
    assert main([str(path), *more]) == 2
    assert not (path / PLANTED).exists()
    told = capsys.readouterr().err
    assert "\n  where: " in told
    assert "\n  next:  " in told
    return told


@pytest.mark.parametrize(
    ("system", "told"), [("one_pass", "it has no auditor"), ("self_refine", "critic gives feedback")]
)
def test_systems_without_checks_of_stages_are_refused(
    path: Path, capsys: pytest.CaptureFixture[str], system: str, told: str
) -> None:
    edit(path, lambda manifest: manifest["settings"].update(system=plain_of(*BASE, f"system={system}")["system"]))
    assert f"system={system} cannot be audited: {told}" in refused(capsys, path)


def test_changed_templates_or_settings_are_refused(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    template = path.parents[1] / "templates" / "mpa.j2"
    before = template.read_bytes()
    template.write_bytes(before + b"\nBe brief.")
    try:
        told = refused(capsys, path)
    finally:
        template.write_bytes(before)
    assert "changed since the run: prompt mpa.j2 changed\n" in told
    assert str(template.parent) in told
    edit(path, lambda manifest: manifest["settings"].pop("frames"))
    assert "the run's settings are of another version: frames" in refused(capsys, path)


def test_an_absent_server_or_another_version_is_refused(
    path: Path, capsys: pytest.CaptureFixture[str], server: ScriptedOllama
) -> None:
    here = server.url
    nowhere = "http://127.0.0.1:9"
    told = refused(capsys, path, "--host", nowhere)
    assert nowhere in told
    assert "--host" in told
    edit(path, lambda manifest: manifest["sessions"][-1]["how"].update({"backend.hosts": [nowhere]}))
    assert "--host" in refused(capsys, path)
    server.version = "0.99.0"
    try:
        assert "server version 0.24.0 → 0.99.0" in refused(capsys, path, "--host", here)
    finally:
        server.version = "0.24.0"
    assert main([str(path), "--host", here, "--n", "2", *FOREIGN_ONLY]) == 0
    assert len(planted_of(path).cases) == 2 * 8


def test_wrong_options_are_refused(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(path), "--n", "0"]) == 2
    assert "n must be 1 or more" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([str(path), "--forms", "hunch"])


def test_a_report_shows_the_results_until_the_run_changes(path: Path) -> None:
    assert (RunPages(path).planted, RunPages(path).unplanted) == (None, "")
    assert main([str(path), "--n", "3", *FOREIGN_ONLY]) == 0
    assert report([str(path)]) == 0
    shown = (path / "report" / "index.html").read_text(encoding="utf-8")
    assert "12 outputs of 3 samples and 12 with a planted fault were checked" in shown
    assert "sgrg finding" in shown
    edit(path, lines=[*read_results(path).values()][:-1])
    assert "the planted faults are stale" in RunPages(path).unplanted
    (path / PLANTED).write_text("{", encoding="utf-8")
    assert "cannot be read, or are of another version" in RunPages(path).unplanted
