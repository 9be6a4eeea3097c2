"""The command `judge` with a scripted server."""

import hashlib
import json
import subprocess
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from mmerg.console.terminal import run_command
from mmerg.errors import RunError
from mmerg.judging.judgement import JUDGEMENT, VERDICTS, Judgement, Match, read_judgements
from mmerg.judging.launch import launch
from mmerg.report import main as report
from mmerg.runs.folder import read_records, read_results
from mmerg.runs.manifest import JudgingManifest, read_any_manifest, read_manifest
from mmerg.runs.result import Verdicts
from mmerg.settings.commands import JudgeSettings
from mmerg.settings.parse import parse
from mmerg.storage.record import read_record
from tests import tiny_text
from tests.compared_runs import edit_run
from tests.configs import compose_config
from tests.engine.parts import to_class_names
from tests.scoring.run_builder import build_run, result
from tests.scripted_ollama import ScriptedOllama, scripted_ollama

SAMPLES = 4
NAME = "qwen2.5vl-7b@likert"
serving = partial(scripted_ollama, digest="e" * 64)  # not the model that wrote the replies of the runs


def answer(body: dict[str, Any]) -> str:
    """A verdict that depends on the request alone."""
    mark = int(hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest(), 16)
    if "better" in to_class_names(body["format"]["properties"]):
        return json.dumps({"reason": f"r{mark % 97}", "better": ("Reply 1", "Reply 2", "tie")[mark % 3]})
    return json.dumps({"reason": f"r{mark % 97}", "score": 1 + mark % 5})


class Judged:
    """Two runs and the folder of their judgings. A call judges the given runs."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url
        samples = [f"d{n}/4" for n in range(SAMPLES)]
        hidden: dict[str, Any] = {"gold": "disgust", "gold_response": "SECRET gold", "plan": {"goal": "SECRET plan"}}
        self.a = build_run(
            folder / "runs" / "SECRET-a (1)=x",
            [*(result(id, f"I hear you, {id[1]}.", "disgust", **hidden) for id in samples), result("d9/4", None)],
            system="SECRET-system",
        )
        self.b = build_run(
            folder / "runs" / "SECRET-b",
            [result(id, f"So what, {id[1]}?", "joy", **hidden) for id in samples],
            config={"auditor": "auditor.json"},
        )
        self.settings = (f"backend.hosts=[{url}]", f"runs={folder}/runs", "backbone=qwen2.5vl-7b")

    def __call__(self, *more: str | Path) -> subprocess.CompletedProcess[str]:
        """Runs the command with these folders and settings, in this process."""
        folders = [argument for argument in more if isinstance(argument, Path)]
        settings = [argument for argument in more if isinstance(argument, str)]

        def job() -> int:
            return launch(parse(compose_config(*self.settings, *settings, name="judge"), JudgeSettings), folders)

        with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
            code = run_command(job)
        return subprocess.CompletedProcess(more, code, " ".join(out.getvalue().split()), err.getvalue())

    def judging(self, kind: str = "likert") -> Path:
        [path] = [path for path in (self.folder / "runs").iterdir() if path.name.startswith(f"judge-{kind}-")]
        return path

    def verdicts(self, kind: str = "likert") -> list[Verdicts]:
        return list(read_records(self.judging(kind), Verdicts, VERDICTS).values())

    def judgement(self) -> bytes:
        return (self.a / f"judgement-{NAME}.json").read_bytes()

    def rated(self) -> Judgement:
        return Judgement.model_validate_json(self.judgement())

    def match(self) -> Match:
        return read_record(self.judging("pairwise") / JUDGEMENT, Match)


@pytest.fixture
def server() -> Iterator[ScriptedOllama]:
    with serving(answer=answer) as made:
        yield made


@pytest.fixture
def judged(tmp_path: Path, server: ScriptedOllama) -> Judged:
    return Judged(tmp_path, server.url)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judged]:
    """Two runs, of which the first is rated and both are compared. Tests must not change them."""
    with serving(answer=answer) as server:
        judged = Judged(tmp_path_factory.mktemp("whole"), server.url)
        done = judged(judged.a)
        assert done.returncode == 0, done.stderr
        assert done.stdout.endswith(f"judging: {judged.judging()}")
        assert "1 samples failed in a run" in done.stdout
        compared = judged(judged.a, judged.b, "judge=pairwise")
        assert compared.returncode == 0
        assert "inputs differ: SECRET-system: the dialogue; merg: the dialogue, a calibration" in compared.stdout
        assert server.calls == (3 + 10) * SAMPLES
        yield judged


def test_ratings_are_written_to_the_run_and_to_the_folder_of_the_judging(whole: Judged) -> None:
    judgement = whole.rated()
    assert (whole.judging() / "judgement.json").read_bytes() == whole.judgement()
    assert (judgement.n, judgement.no_reply, judgement.failed, judgement.unjudged) == (SAMPLES + 1, 1, 0, 0)
    assert (judgement.verdicts, judgement.unusable) == (3 * SAMPLES, 0)
    given = [v.score for sample in whole.verdicts() for v in sample.verdicts if v.aspect == "empathy"]
    judged_sum = sum(score or 0 for score in given)
    assert judgement.scores["empathy"].value == (judged_sum + 1) / (SAMPLES + 1)  # a failed sample gets the lowest
    assert list(judgement.scores) == ["empathy", "coherence", "fluency"]
    assert judgement.scores["fluency"].why == "no interval: fewer than 10 dialogues"
    manifest = read_any_manifest(whole.judging())
    assert isinstance(manifest, JudgingManifest)
    assert manifest.judged[0].identity == read_manifest(whole.a).identity


def test_a_report_shows_the_ratings(whole: Judged, tmp_path: Path) -> None:
    assert report([str(whole.a), "--out", str(tmp_path / "report")]) == 0
    page = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    tile = page[page.index(f"<dt>judge <bdi>{NAME}</bdi>, 1 to 5</dt>") :].partition("</div>")[0]
    for name, score in whole.rated().scores.items():
        assert f"{score.value:.2f}<small>{name}</small>" in tile


def test_a_judge_that_wrote_the_replies_is_refused_unless_own_replies_is_set(
    judged: Judged, server: ScriptedOllama
) -> None:
    """The server's model has the digest of the run's model, but another name."""
    edit_run(judged.a, lambda manifest: manifest["engine"].update(digest="e" * 64))
    pair = (judged.b, judged.a, "judge=pairwise")
    refused = judged(*pair)
    assert refused.returncode == 2
    assert f"wrote the replies of {judged.a.name}, and models favour their own" in refused.stderr
    assert server.calls == 0
    done = judged(*pair, "own_replies=true")
    assert (done.returncode, done.stdout.count("judged by itself")) == (0, 1)
    assert judged.match().self_judged == (judged.a.name,)
    assert "judged by itself" in judged(judged.a, "own_replies=true").stdout
    assert judged.rated().self_judged


def test_unusable_verdicts_are_counted(tmp_path: Path) -> None:
    def sometimes(body: dict[str, Any]) -> str:
        prompt = body["messages"][1]["content"]
        return "a 4, I'd say" if "fluency" in prompt and "you, 2" in prompt else answer(body)

    with serving(answer=sometimes) as server:
        judged = Judged(tmp_path, server.url)
        done = judged(judged.a)
    assert done.returncode == 0
    assert "12 verdicts, 1 of them unusable (8.3 %)" in done.stdout
    judgement = judged.rated()
    assert (judgement.n, judgement.verdicts, judgement.unusable) == (SAMPLES + 1, 12, 1)
    assert [judgement.scores[aspect].n for aspect in ("empathy", "fluency")] == [SAMPLES + 1, SAMPLES]


def test_the_same_command_resumes(judged: Judged, server: ScriptedOllama) -> None:
    judged(judged.a, "limit=2")
    assert (judged.rated().unjudged, server.calls) == (SAMPLES - 1, 2 * 3)
    assert judged(judged.a).returncode == 0
    before = (judged.judgement(), (judged.judging() / "verdicts.jsonl").read_bytes())
    done = judged(judged.a)
    assert f"{SAMPLES + 1} samples are already finished" in done.stdout
    assert (judged.judgement(), (judged.judging() / "verdicts.jsonl").read_bytes()) == before
    assert server.calls == SAMPLES * 3


def test_a_judgement_of_other_replies_or_another_version_is_refused(judged: Judged) -> None:
    assert judged(judged.a).returncode == 0
    assert read_judgements(judged.a)[NAME].n == SAMPLES + 1
    first, *others = read_results(judged.a).values()
    edit_run(judged.a, lines=[first.model_copy(update={"response": "Me, too."}), *others])
    with pytest.raises(RunError, match=r"these ratings are stale[^$]*mmerg judge"):
        read_judgements(judged.a)
    assert judged(judged.a, "judge.sample=2").returncode == 0
    judgement = read_judgements(judged.a)[NAME]
    assert (judgement.n, judgement.skipped) == (2, {"not sampled": SAMPLES - 1})
    (judged.a / f"judgement-{NAME}.json").write_text('{"scores": {}}', encoding="utf-8")
    with pytest.raises(RunError, match="of another version"):
        read_judgements(judged.a)


def test_a_judge_without_a_config_has_the_name_of_its_model(judged: Judged) -> None:
    assert judged(judged.a, "backbone.name=hf.co/a/b:Q4_K_M").returncode == 0
    assert list(read_judgements(judged.a)) == ["hf.co/a/b:Q4_K_M@likert"]


def test_a_judgement_of_fewer_samples_does_not_replace_a_larger_one(judged: Judged) -> None:
    assert judged(judged.a, "limit=3").returncode == 0
    before = judged.judgement()
    done = judged(judged.a, "seed=5", "limit=2")
    assert "is unchanged: its judgement has 3 samples, this one 2. To replace it," in done.stdout
    assert judged.judgement() == before
    assert judged(judged.a, "seed=5", "limit=3").returncode == 0
    assert judged.judgement() != before


def test_a_failed_call_fails_one_sample_and_can_be_retried(tmp_path: Path) -> None:
    ill = [True]

    def breaking_off(body: dict[str, Any]) -> str:
        if ill[0] and "you, 2" in body["messages"][1]["content"]:
            raise ConnectionAbortedError
        return answer(body)

    with serving(answer=breaking_off) as server:
        judged = Judged(tmp_path, server.url)
        done = judged(judged.a, "backend.attempts=1", "cache=off")
        assert done.returncode == 1, done.stdout + done.stderr
        judgement = judged.rated()
        assert (judgement.n, judgement.failed, judgement.scores["empathy"].n) == (SAMPLES, 1, SAMPLES)
        ill[0] = False
        assert judged(judged.a).returncode == 0
        assert judged.rated().n == SAMPLES + 1


def test_repeats_use_other_seeds_and_settings_are_in_the_signature(judged: Judged, server: ScriptedOllama) -> None:
    more = ("judge.repeats=2", "judge.temperature=0.8", "seed=5", "limit=1")
    assert judged(judged.a, judged.b, "judge=pairwise", *more).returncode == 0
    assert server.calls == 20
    assert {v.seed for sample in judged.verdicts("pairwise") for v in sample.verdicts} == {5, 6}
    match = judged.match()
    assert match.overall["agree_repeats"].value is not None
    assert "temperature:0.8|repeats:2|seed:5|settings:" in match.overall["win"].signature


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "this judge needs one run folder or more, not 0"),
        (("a", "judge=pairwise"), "this judge needs exactly two run folders, not 1"),
        (("a", "a", "judge=pairwise"), "compared with itself"),
        (("other", "a", "judge=pairwise"), "the files of demo test differ"),
        (("a", "judge.repeats=3"), "at temperature 0 all repeats are the same"),
        (("a", "+judge.aspects.empathy.sampling.heat=1"), "heat"),
        (("a", "backbone=gemma3-12b"), "ollama pull gemma3:12b"),
    ],
)
def test_wrong_arguments_are_refused(whole: Judged, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    other = build_run(tmp_path / "other", [result("d0/4")], identity="other")
    known = {"a": whole.a, "other": other, "nowhere": tmp_path / "nowhere"}
    done = whole(*(known.get(argument, argument) for argument in arguments))
    assert done.returncode == 2
    assert message in done.stderr


def test_a_small_model_judges(tmp_path: Path) -> None:
    if find_spec("xllamacpp") is None:
        pytest.skip("needs the extra embedded")
    tiny = f"backbone.gguf={tiny_text.write(tmp_path / 'tiny.gguf')}"
    run = build_run(tmp_path / "run", [result("d0/4", "Oh no, again?")])
    settings = ("backend=embedded", tiny, f"runs={tmp_path}/runs", f"cache_dir={tmp_path}/cache")
    assert launch(parse(compose_config(*settings, name="judge"), JudgeSettings), [run]) == 0
    judgement = read_judgements(run)["smollm2-135m@likert"]
    assert (judgement.n, judgement.verdicts) == (1, 3)
    assert sum(score.n for score in judgement.scores.values()) == judgement.verdicts - judgement.unusable
    assert all(1 <= score.value <= 5 for score in judgement.scores.values() if score.value is not None)
