"""Refusals of `mmerg audit`, and its results in a report."""

from pathlib import Path

import pytest

from mmerg.audit import main
from mmerg.auditing.planted import PLANTED
from mmerg.report import main as report
from mmerg.reporting.run_pages import RunPages
from mmerg.runs.folder import read_results
from tests.auditing.parts import FOREIGN_ONLY, read_faults
from tests.compared_runs import edit_run
from tests.configs import BASE, dump_settings
from tests.scripted_ollama import ScriptedOllama


def get_refusal(capsys: pytest.CaptureFixture[str], path: Path, *more: str) -> str:
    assert main([str(path), *more]) == 2
    assert not (path / PLANTED).exists()
    message = capsys.readouterr().err
    assert "\n  where: " in message
    assert "\n  next:  " in message
    return message


@pytest.mark.parametrize(
    ("system", "reason"), [("one_pass", "it has no auditor"), ("self_refine", "critic gives feedback")]
)
def test_systems_without_checks_of_stages_are_refused(
    path: Path, capsys: pytest.CaptureFixture[str], system: str, reason: str
) -> None:
    edit_run(
        path, lambda manifest: manifest["settings"].update(system=dump_settings(*BASE, f"system={system}")["system"])
    )
    assert f"system={system} cannot be audited: {reason}" in get_refusal(capsys, path)


def test_changed_templates_or_settings_are_refused(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    template = path.parents[1] / "templates" / "mpa.j2"
    before = template.read_bytes()
    template.write_bytes(before + b"\nBe brief.")
    try:
        message = get_refusal(capsys, path)
    finally:
        template.write_bytes(before)
    assert "changed since the run: prompt mpa.j2 changed\n" in message
    assert str(template.parent) in message
    edit_run(path, lambda manifest: manifest["settings"].pop("frames"))
    assert "the run's settings are of another version: frames" in get_refusal(capsys, path)


def test_an_absent_server_or_another_version_is_refused(
    path: Path, capsys: pytest.CaptureFixture[str], server: ScriptedOllama
) -> None:
    here = server.url
    nowhere = "http://127.0.0.1:9"
    message = get_refusal(capsys, path, "--host", nowhere)
    assert nowhere in message
    assert "--host" in message
    edit_run(path, lambda manifest: manifest["sessions"][-1]["how"].update({"backend.hosts": [nowhere]}))
    assert "--host" in get_refusal(capsys, path)
    server.version = "0.99.0"
    try:
        assert "server version 0.24.0 → 0.99.0" in get_refusal(capsys, path, "--host", here)
    finally:
        server.version = "0.24.0"
    assert main([str(path), "--host", here, "--n", "2", *FOREIGN_ONLY]) == 0
    assert len(read_faults(path).cases) == 2 * 8


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
    edit_run(path, lines=[*read_results(path).values()][:-1])
    assert "the planted faults are stale" in RunPages(path).unplanted
    (path / PLANTED).write_text("{", encoding="utf-8")
    assert "planted.json cannot be read, or is of another version" in RunPages(path).unplanted
