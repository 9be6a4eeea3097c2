"""Each ablation as a run of the demo set by a model that is not shown images, from a page of the user's own folder."""

import json
from dataclasses import dataclass

import pytest
import yaml

from mmerg.runs.events import Called, Supplied
from mmerg.runs.folder import read_results
from mmerg.runs.manifest import read_manifest
from mmerg.runs.result import Result
from tests.engine.parts import STAGES
from tests.memory.parts import quick
from tests.processes import main_of
from tests.run_folders import all_events
from tests.scripted_ollama import scripted_ollama

ALL = (*STAGES, "gra")
ROWS: dict[str, dict[str, dict[str, object]]] = {
    "full": {},
    "without_mpa": {"system": {"without": ["mpa"]}},
    "without_caef": {"system": {"without": ["caef"]}},
    "without_psp": {"system": {"without": ["psp"]}},
    "without_gra": {"system": {"without": ["gra"]}},
    "independent": {"system": {"organization": "independent"}},
    "last_pass": {"system": {"final_selection": "last", "max_iterations": 1}},
    "k0": {"memory": {"top_k": 0}},
    "frames_none": {"frames": {"seen_by": "none"}},
}
HEADINGS = {"mpa": "Evidence:", "caef": "Emotion of the next turn:", "psp": "Plan for the next turn:"}
FRAMES = "Keyframes, as measured"


@dataclass(frozen=True)
class Ran:
    """A row's run: its one result, its calls, and what was supplied to prompts."""

    result: Result
    calls: tuple[Called, ...]
    exemplars: int

    def shows(self, mark: str) -> set[str]:
        """The stages whose prompts have the text `mark`."""
        return {call.stage for call in self.calls if mark in call.messages[1].text}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ran]:
    """One sweep over all rows: what they share is asked for once."""
    folder = tmp_path_factory.mktemp("ablations")
    own = folder / "conf"
    pages: dict[str, object] = {}
    for row, parts in ROWS.items():
        pages[f"ablation/mine/{row}"] = {**parts, "system": {"max_iterations": 0, **parts.get("system", {})}}
    pages["experiment/mine"] = {"hydra": {"sweeper": {"params": {"ablation": ",".join(f"mine/{row}" for row in ROWS)}}}}
    for name, page in pages.items():
        file = own / f"{name}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# @package _global_\n{yaml.safe_dump(page, sort_keys=False)}", encoding="utf-8")
    short = ("ids=[bicycle/4]", "frames.last_turns=1", "frames.max_frames=1")
    with scripted_ollama(capabilities=("completion",)) as server:
        host = ("backend=ollama", f"backend.hosts=[{server.url}]", "backbone=qwen2.5vl-7b", f"runs={folder / 'runs'}")
        line = ["-m", f"--config-dir={own}", "+experiment=mine", "dataset=demo", *short, *host, *quick("memory")]
        assert main_of("mmerg.run", *line) == 0
    rows: dict[str, Ran] = {}
    for manifest in (folder / "runs").glob("demo-*/manifest.json"):
        config = read_manifest(manifest.parent).settings
        events = list(all_events(manifest.parent))
        [result] = read_results(manifest.parent).values()
        calls = tuple(event for event in events if isinstance(event, Called))
        supplied = sum(len(event.content) for event in events if isinstance(event, Supplied))
        rows[row_of(config)] = Ran(result, calls, supplied)
    assert set(rows) == set(ROWS)
    return rows


def row_of(config: dict[str, dict[str, object]]) -> str:
    """The row whose settings a run has: of several, the one that says most."""
    fits = [row for row, parts in ROWS.items() if all(config[part].items() >= parts[part].items() for part in parts)]
    return fits[-1]


@pytest.mark.parametrize("row", ROWS)
def test_it_ends_and_asks_those_who_are_there(row: str, ran: dict[str, Ran]) -> None:
    result, gone = ran[row].result, ROWS[row].get("system", {}).get("without", [])
    there = [stage for stage in ALL if stage not in str(gone)]
    assert list(dict.fromkeys(call.stage for call in ran[row].calls)) == there
    assert result.calls == len(ran[row].calls)
    assert result.status == "ok"
    assert result.response
    assert result.audit is None if "gra" in str(gone) else set(result.audit or {}) == set(there) - {"gra"}
    assert (result.emotion is None) == ("caef" in str(gone))
    assert (result.plan is None) == ("psp" in str(gone))


@pytest.mark.parametrize("stage", HEADINGS)
def test_what_an_absent_agent_would_give_is_in_no_prompt_and_no_schema(stage: str, ran: dict[str, Ran]) -> None:
    row = ran[f"without_{stage}"]
    assert not row.shows(HEADINGS[stage])
    assert not [
        call for call in row.calls if call.answer_schema and stage in json.loads(call.answer_schema)["properties"]
    ]
    assert ran["full"].shows(HEADINGS[stage])


def test_of_independent_stages_the_audit_alone_sees_the_others(ran: dict[str, Ran]) -> None:
    assert [ran["independent"].shows(heading) for heading in HEADINGS.values()] == [{"gra"}] * 3


def test_frames_and_exemplars_go_to_whom_they_should(ran: dict[str, Ran]) -> None:
    assert ran["full"].shows(FRAMES) == {"mpa", "caef", "gra"}
    assert not ran["frames_none"].shows(FRAMES)
    assert (ran["full"].exemplars, ran["k0"].exemplars) == (1, 0)


def test_what_rows_share_is_asked_once(ran: dict[str, Ran]) -> None:
    made = [call.digest for row in ran.values() for call in row.calls if not call.reply.cached]
    assert len(made) == len(set(made))
    first = [call.digest for call in ran["full"].calls]
    assert [call.digest for call in ran["without_gra"].calls] == first[: len(ran["without_gra"].calls)]
    assert [call.digest for call in ran["last_pass"].calls][: len(first)] == first
