"""The judging of finished runs; `mmerg/judge.py` is the command."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from mmerg.backends.pool import Pool
from mmerg.backends.protocol import Engine
from mmerg.console.run_tables import tabulate_failures
from mmerg.console.terminal import console, escape, printable
from mmerg.engine.prompts import Prompts
from mmerg.errors import ConfigError
from mmerg.experiment.backbone import BackbonePlan
from mmerg.experiment.session import new_session
from mmerg.experiment.work import DRY_RUN, run_items, select_pending
from mmerg.judging.items import JudgingSet, select_items
from mmerg.judging.judge import Judge, build_judge_system
from mmerg.judging.judgement import JUDGEMENT, VERDICTS, Judgement, Match, digest_replies, write_beside
from mmerg.judging.metrics import run_sign_tests, score_preferences, score_ratings
from mmerg.judging.tables import tabulate_match, tabulate_ratings
from mmerg.runs.folder import Folder
from mmerg.runs.identity import CONFIG, ENGINE, combine_digests, digest_settings
from mmerg.runs.inputs import describe_unequal_inputs, list_inputs
from mmerg.runs.manifest import JudgedRun, JudgingManifest
from mmerg.runs.result import Verdicts
from mmerg.scoring.run_results import read_run
from mmerg.settings.commands import JudgeSettings, RubricSettings
from mmerg.settings.kinds import folder_name
from mmerg.storage.record import write_record


def launch(settings: JudgeSettings, folders: Sequence[Path]) -> int:
    """Judges the runs in `folders`. Returns the exit code: 0 for success, 1 if calls failed for some samples. Raises
    MmergError for wrong settings or runs, and if the judge wrote the replies and own_replies is false."""
    out, rubric = console(), settings.judge
    if rubric.repeats > 1 and not rubric.temperature:
        what = f"judge.repeats is {rubric.repeats}, but at temperature 0 all repeats are the same"
        raise ConfigError(what, where="configuration", hint="judge.temperature=0.7, or judge.repeats=1")
    sets = _select_sets(rubric, settings.seed, folders)
    backbone = BackbonePlan.from_settings(settings)
    sampling = replace(backbone.sampling(settings.seed), temperature=rubric.temperature)
    judge = Judge(Prompts(build_judge_system(rubric)), sampling, rubric.replies, rubric.repeats)
    pool, engine = backbone.open()
    judging = Judging(settings, backbone, judge, engine, out)
    with closing(pool):
        self_judged = [run for judging_set in sets for run in judging.find_self_judged(judging_set)]
        if self_judged and not settings.own_replies:
            runs = ", ".join(self_judged)
            raise ConfigError(
                f"the judge, {engine.model}, wrote the replies of {runs}, and models favour their own",
                where="backbone",
                hint="choose another judge with backbone=…, or set own_replies=true; tables then mark the scores",
            )
        calls, last = len(judge.rounds) * len(judging.aspects), settings.seed + rubric.repeats - 1
        how = f"{engine.description}, temperature {rubric.temperature}, seeds {settings.seed} to {last}"
        out.print(escape(f"judge={rubric.name}: {', '.join(judging.aspects)}; {calls} calls a sample\n{how}"))
        for host, why in pool.list_down().items():
            out.print(escape(f"host {host} is skipped for now: {why}"))
        codes = [judging.judge_set(judging_set, pool) for judging_set in sets]
    if backbone.dry:
        out.print(DRY_RUN.format("verdicts"))
    elif backbone.model.note:
        out.print(escape(backbone.model.note))
    return max(codes)


def _select_sets(rubric: RubricSettings, seed: int, folders: Sequence[Path]) -> list[JudgingSet]:
    """Selects one set for each run, or one of two runs for a pairwise rubric."""
    pairwise = rubric.replies == 2
    if not folders or (pairwise and len(folders) != 2):
        need = "exactly two run folders" if pairwise else "one run folder or more"
        what = f"this judge needs {need}, not {len(folders)}"
        hint = "mmerg judge runs/… judge=likert, or two folders and judge=pairwise; folders come first"
        raise ConfigError(what, where="command line", hint=hint)
    groups = [tuple(folders)] if pairwise else [(folder,) for folder in dict.fromkeys(folders)]
    return [select_items(*map(read_run, group), count=rubric.sample, seed=seed) for group in groups]


@dataclass(frozen=True)
class Judging:
    """The judging of sets of items by one judge."""

    settings: JudgeSettings
    backbone: BackbonePlan
    judge: Judge
    engine: Engine
    out: Console

    @property
    def aspects(self) -> list[str]:
        return [stage.name for stage in self.judge.prompts.system.stages]

    @property
    def signature(self) -> str:
        """Everything that decides the scores, as in the signatures of metrics."""
        rubric, engine = self.settings.judge, self.engine
        parts = {
            "judge": engine.model,
            "digest": engine.digest[:12],
            "prompts": combine_digests(self.judge.prompts.compute_digests())[:12],
            "temperature": rubric.temperature,
            "repeats": rubric.repeats,
            "seed": self.settings.seed,
            "settings": digest_settings(self.settings.plain())[:8],
            "failed": "worst",
        }
        joined = "|".join(f"{key}:{value}" for key, value in parts.items())
        return f"{joined}||backend:{engine.backend}-{engine.version}"

    def find_self_judged(self, judging_set: JudgingSet) -> tuple[str, ...]:
        """Finds the names of the runs whose replies the judge's model wrote; none for a dry judge."""
        if self.backbone.dry:
            return ()
        return tuple(run.run for run in judging_set.runs if same_model(self.engine, run.manifest.engine))

    def judge_set(self, judging_set: JudgingSet, pool: Pool) -> int:
        """Judges the remaining items of a set, and writes and prints the scores. Returns the exit code."""
        out, runs = self.out, judging_set.runs
        settings = self.settings.plain()
        digests = {
            CONFIG: digest_settings(settings),
            **self.judge.prompts.compute_digests(),
            "judged": judging_set.digest(),
        }
        manifest = JudgingManifest(
            identity={**digests, ENGINE: self.engine.key()},
            engine=self.engine,
            judged=tuple(
                JudgedRun(run=run.run, identity=run.manifest.identity, engine=run.manifest.engine) for run in runs
            ),
            items=len(judging_set.items),
            skipped=judging_set.skipped,
            settings=settings,
            sessions=(new_session(settings),),
        )
        # The folder's name has a hash of settings, prompts and replies; other pairs of runs may have the same replies.
        pair = {"pair": "".join(run.run for run in runs)} if len(runs) > 1 else {}
        mark = combine_digests(digests | pair)[:8]
        path = Path(self.settings.runs) / f"judge-{self.settings.judge.name}-{folder_name(self.backbone.name)}-{mark}"
        with Folder(path, manifest, Verdicts, VERDICTS) as folder:
            items = judging_set.items[: self.settings.limit]
            remaining = select_pending(items, folder.results)
            run_items(folder, items, remaining, self.judge.judge_item, pool, out)
            folder.seal([item.id for item in judging_set.items])
            verdicts = list(folder.results.select(item.id for item in judging_set.items).values())
        scores = self._score(judging_set, verdicts, path.name)
        write_record(path / JUDGEMENT, scores)
        for part in tabulate_match(scores) if isinstance(scores, Match) else tabulate_ratings(scores):
            out.print(part)
        if isinstance(scores, Judgement) and not self.backbone.dry and (note := write_beside(runs[0].path, scores)):
            out.print(escape(note), soft_wrap=True)
        if failed := tabulate_failures(verdicts):
            out.print(failed)
        print(f"judging: {printable(str(path))}")  # noqa: T201 - for programs to read: no wrapping
        return 1 if failed else 0

    def _score(self, judging_set: JudgingSet, samples: Sequence[Verdicts], judging: str) -> Judgement | Match:
        """Scores all items judged so far. judging: the name of the folder."""
        judged = [sample for sample in samples if sample.status == "ok"]
        verdicts = [verdict for sample in judged for verdict in sample.verdicts]
        aspects, signature = self.aspects, self.signature
        first, self_judged = judging_set.runs[0], self.find_self_judged(judging_set)
        replies = tuple(digest_replies(run.results) for run in judging_set.runs)
        fields = {
            "judge": self.backbone.name,
            "rubric": self.settings.judge.name,
            "judging": judging,
            "engine": self.engine.description,
            "corpus": f"{first.manifest.corpus.name} {first.manifest.corpus.split}",
            "drawn": len(judging_set.items),
            "n": len(judged),
            "no_reply": sum(bool(sample.no_reply) for sample in judged),
            "failed": len(samples) - len(judged),
            "unjudged": len(judging_set.items) - len(samples),
            "skipped": judging_set.skipped,
            "verdicts": len(verdicts),
            "unusable": sum(not verdict.usable for verdict in verdicts),
        }
        if len(judging_set.runs) == 1:
            fields |= {
                "run": first.run,
                "self_judged": bool(self_judged),
                "replies": replies[0],
                "scores": score_ratings(judged, aspects, signature),
            }
            return Judgement.model_validate(fields)
        fields |= {
            "runs": (first.run, judging_set.runs[1].run),
            "replies": replies,
            "self_judged": self_judged,
            "aspects": {aspect: score_preferences(judged, [aspect], signature) for aspect in aspects},
            "overall": score_preferences(judged, aspects, signature),
            "signs": run_sign_tests(judged, aspects),
            "unequal": describe_unequal_inputs(
                judging_set.runs, [list_inputs(run.manifest, run.results) for run in judging_set.runs]
            ),
        }
        return Match.model_validate(fields)


def same_model(engine: Engine, other: Engine) -> bool:
    """Returns True if two engines run the same model: the same name, or the same weights."""
    return engine.model == other.model or bool(engine.digest and engine.digest == other.digest)
