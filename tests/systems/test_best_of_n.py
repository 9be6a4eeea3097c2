"""Best of n: the selected candidate, invalid candidates, and seeds."""

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import pytest

from mmerg.backends.protocol import Request, Sampling
from mmerg.backends.scripted import ScriptItem, build_completion
from mmerg.errors import CallError, ConfigError, Failure, SampleError
from mmerg.experiment.launch import launch
from mmerg.experiment.plan import plan_run
from mmerg.runs import events
from mmerg.runs.folder import read_results
from mmerg.runs.manifest import read_manifest
from mmerg.runs.result import RunOutcome
from tests.compared_runs import edit_run
from tests.configs import parse_settings
from tests.run_folders import read_contents
from tests.systems.played import Played, Script

SAMPLING = Sampling(seed=7, temperature=0.7)
SEEDS = [SAMPLING.derive_seed("d1/4", "answer", n, n).seed for n in range(5)]
Given = tuple[str, float] | ScriptItem | None


def number(asked: Request) -> int:
    """The number of the candidate that asks."""
    return SEEDS.index(asked.sampling.seed)


def scripted(*candidates: Given) -> Script:
    """Completions by candidate. Each is an emotion with the log-probability of each word, a whole completion, or None:
    no JSON."""

    def answer(stage: str, asked: Request) -> ScriptItem:
        candidate = candidates[number(asked)]
        if isinstance(candidate, tuple):
            text = json.dumps({"emotion": candidate[0], "response": f"Draft {number(asked)}."})
            return build_completion(asked, text, "here", candidate[1])
        return candidate or "no JSON"

    return answer


def played(*candidates: Given) -> Played:
    return Played("best_of_n", f"system.n={len(candidates)}", script=scripted(*candidates))


def selected(run: Played) -> events.Selected:
    [event] = [event for event in run.events if isinstance(event, events.Selected)]
    return event


@pytest.mark.parametrize(
    ("candidates", "winner"),
    [
        ([("joy", -2.0)], 0),
        ([("joy", -2.0), ("joy", -1.0), ("joy", -3.0)], 1),
        ([("joy", -1.0), ("joy", -1.0)], 0),
        ([("joy", -0.1), ("sadness", -2.0), ("sadness", -1.0)], 2),  # the likeliest has an emotion of its own
        ([("sadness", -3.0), ("joy", -1.0), ("joy", -2.0), ("sadness", -0.5)], 3),  # as many votes: the likelier
    ],
)
def test_the_likeliest_candidate_with_the_most_frequent_emotion_is_selected(
    candidates: Sequence[tuple[str, float]], winner: int
) -> None:
    run = played(*candidates)
    state = run.outcome.selected.state
    assert (state.get_path("A.response"), state.get_path("A.emotion")) == (f"Draft {winner}.", candidates[winner][0])
    assert (run.outcome.ended, len(run.outcome.passes), selected(run).t) == (
        "all candidates",
        len(candidates),
        winner,
    )


def test_candidates_differ_only_in_their_seed() -> None:
    candidates = [("joy", -2.0), ("sadness", -1.0), ("joy", -1.5)]
    run = played(*candidates)
    assert [call.t for call in run.calls] == [0, 1, 2]
    assert [call.sampling["seed"] for call in run.calls] == SEEDS[:3]
    assert len({call.digest for call in run.calls}) == 3
    assert len({call.messages for call in run.calls}) == 1
    assert [event.t for event in run.events if isinstance(event, events.Produced)] == [0, 1, 2]
    assert selected(run).ranks == {0: (2, -2.0, 0), 1: (1, -1.0, -1), 2: (2, -1.5, -2)}
    assert run.calls[0].messages == Played("one_pass").calls[0].messages


def test_the_likelihood_is_that_of_the_completion_before_cleaning() -> None:
    def answer(stage: str, asked: Request) -> ScriptItem:
        said = "Oh no. (sighs) Sit down." if number(asked) else "Oh no. Sit down."
        text = json.dumps({"emotion": "joy", "response": said})
        return build_completion(asked, text, "here", -1.0 if number(asked) else -2.0)

    run = Played("best_of_n", "system.n=2", script=answer)
    assert selected(run).ranks == {0: (2, -2.0, 0), 1: (2, -1.0, -1)}
    assert run.outcome.selected.state.get_path("A.response") == "Oh no. Sit down."
    assert [event.t for event in run.events if isinstance(event, events.Cleaned)] == [1]


@pytest.mark.parametrize(
    ("candidates", "lost", "winner"),
    [([None, ("joy", -1.0)], [0], 1), ([("joy", -1.0), None, None, ("joy", -2.0)], [1, 2], 0)],
)
def test_an_invalid_candidate_does_not_affect_others(candidates: Sequence[Given], lost: list[int], winner: int) -> None:
    run = played(*candidates)
    assert [event.t for event in run.events if isinstance(event, events.PassLost)] == lost
    assert (selected(run).t, run.outcome.ended) == (winner, "candidates lost")
    assert len(run.outcome.passes) == len(candidates) - len(lost)
    attempts = run.system.max_repairs + 1
    assert len(run.calls) == len(candidates) - len(lost) + attempts * len(lost)


def test_a_failed_call_fails_the_sample_and_a_refused_prompt_its_candidate() -> None:
    with pytest.raises(CallError, match="late"):
        played(("joy", -1.0), CallError(Failure.TIMEOUT, "late"))
    run = played(("joy", -1.0), CallError(Failure.CONTEXT_OVERFLOW, "too long"))
    assert (selected(run).t, run.outcome.ended) == (0, "candidates lost")


def test_a_sample_fails_if_every_candidate_is_invalid() -> None:
    with pytest.raises(SampleError, match="none of 3 candidates can be used; the last: ") as caught:
        played(None, None, " ")
    assert caught.value.failure is Failure.EMPTY
    assert caught.value.where == "answer, pass 2"


def test_a_backend_without_log_probabilities_ends_the_run() -> None:
    script = scripted(*[("joy", -1.0)] * 3)
    asked: list[Request] = []

    def bare(stage: str, request: Request) -> ScriptItem:
        asked.append(request)
        completion = script(stage, request)
        assert not isinstance(completion, str | Exception)
        return completion.model_copy(update={"logprobs": ()})

    with pytest.raises(ConfigError, match="the server gives no log-probabilities, which loop=candidates needs"):
        Played("best_of_n", "system.n=3", script=bare)
    assert len(asked) == 1


def dry(folder: Path, *more: str) -> RunOutcome:
    given = ("dataset=demo", "backend=dry", "system=best_of_n", "frames=none", f"cache_dir={folder / 'cache'}")
    return launch(parse_settings(*given, *more))


def test_candidates_are_cached_and_replayed(tmp_path: Path) -> None:
    whole = dry(tmp_path, f"runs={tmp_path / 'a'}", "limit=2", "system.n=3")
    assert (whole.calls, whole.made) == (6, 6)
    more = dry(tmp_path, f"runs={tmp_path / 'a'}", "limit=2", "system.n=5")
    assert (more.calls, more.made, more.run != whole.run) == (10, 4, True)  # three come from the cache
    replayed = dry(tmp_path, f"runs={tmp_path / 'b'}", "limit=2", "system.n=3", "cache=read")
    files = [read_contents(Path(one.run)) for one in (whole, replayed)]
    for each in files:
        each.pop("manifest.json")
    assert files[0] == files[1]
    assert all(result.passes == 3 for result in read_results(Path(whole.run)).values())


@pytest.mark.slow
def test_equal_tokens_sets_the_number_of_candidates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The number is computed from finished runs in the same folder, and is a part of the run's identity."""
    given = ("dataset=demo", "backend=dry", "limit=2", "memory=none", "frames=none", f"runs={tmp_path}")
    for missing in ("merg", "one_pass"):
        with pytest.raises(ConfigError, match=f"2 of 2 samples have no reply of system={missing}") as caught:
            plan_run(parse_settings(*given, "system=best_of_n_matched"))
        assert f"first run the same command with system={missing}" in caught.value.hint
        launch(parse_settings(*given, f"system={missing}"))
    ended = launch(parse_settings(*given, "system=best_of_n_matched"))
    manifests = {path.name.split("-")[1]: path for path in tmp_path.glob("demo-*")}
    tokens = {
        name: fmean(one.prompt_tokens + one.response_tokens for one in read_results(path).values())
        for name, path in manifests.items()
    }
    candidates = read_manifest(Path(ended.run)).setting("system.n")
    assert candidates == round(tokens["merg"] / tokens["one_pass"]) > 1
    assert f"system.n={candidates}, as merg takes {tokens['merg']:.0f} tokens" in " ".join(
        capsys.readouterr().out.split()
    )
    assert plan_run(parse_settings(*given, "system=best_of_n_matched")).path == Path(ended.run)
    lost = {"status": "failed", "failure": Failure.EMPTY, "prompt_tokens": 0, "response_tokens": 0}
    first, second = read_results(manifests["one_pass"]).values()
    edit_run(manifests["one_pass"], lines=[first.model_copy(update=lost), second])
    told = f"and one_pass {second.prompt_tokens + second.response_tokens} ("  # of the sample that has a reply
    assert told in plan_run(parse_settings(*given, "system=best_of_n_matched")).note
