"""Judges finished runs; `mmerg/judge.py` is the command."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from mmerg.backends.pool import Pool
from mmerg.backends.protocol import Engine
from mmerg.console.run_tables import failures
from mmerg.console.terminal import console, escape, printable
from mmerg.engine.prompts import Prompts
from mmerg.errors import ConfigError
from mmerg.experiment.backbone import BackbonePlan
from mmerg.experiment.session import new_session
from mmerg.experiment.work import DRY_RUN, pending, run_items
from mmerg.judging.items import JudgingSet, select_items
from mmerg.judging.judge import Judge, judge_system
from mmerg.judging.judgement import JUDGEMENT, VERDICTS, Judgement, Match, judgement_file, replies_digest
from mmerg.judging.metrics import preferences, ratings, signs
from mmerg.judging.tables import tabulate_match, tabulate_ratings
from mmerg.runs.folder import Folder
from mmerg.runs.identity import CONFIG, ENGINE, combined, engine_text, settings_digest
from mmerg.runs.manifest import Judged, JudgingManifest
from mmerg.runs.result import Verdicts
from mmerg.runs.samples import SAMPLES
from mmerg.scoring.answers import read_run
from mmerg.settings.commands import JudgeSettings, RubricSettings
from mmerg.settings.kinds import folder_name
from mmerg.storage.record import write_record


def launch(settings: JudgeSettings, folders: Sequence[Path]) -> int:
    """Judges the runs in `folders` and returns the exit code: 0 all fine, 1 calls failed for some samples. Raises
    MmergError for wrong settings or runs, and if the judge wrote the replies and own_replies is false."""
    out, rubric = console(), settings.judge
    if rubric.repeats > 1 and not rubric.temperature:
        what = f"judge.repeats is {rubric.repeats}, but at temperature 0 all repeats are the same"
        raise ConfigError(what, where="configuration", hint="judge.temperature=0.7, or judge.repeats=1")
    sets = _sets(rubric, settings.seed, folders)
    backbone = BackbonePlan.of(settings)
    sampling = replace(backbone.sampling(settings.seed), temperature=rubric.temperature)
    judge = Judge(Prompts(judge_system(rubric)), sampling, rubric.replies, rubric.repeats)
    pool, engine = backbone.open()
    judging = Judging(settings, backbone, judge, engine, out)
    with closing(pool):
        own = [name for selected in sets for name in judging.own(selected)]
        if own and not settings.own_replies:
            raise ConfigError(
                f"the judge, {engine.model}, wrote the replies of {', '.join(own)}, and models favour their own",
                where="backbone",
                hint="choose another judge with backbone=…, or set own_replies=true; tables then mark the scores",
            )
        calls, last = len(judge.rounds) * len(judging.aspects), settings.seed + rubric.repeats - 1
        how = f"{engine.in_words}, temperature {rubric.temperature}, seeds {settings.seed} to {last}"
        out.print(escape(f"judge={rubric.name}: {', '.join(judging.aspects)}; {calls} calls a sample\n{how}"))
        for host, why in pool.down().items():
            out.print(escape(f"host {host} is skipped for now: {why}"))
        codes = [judging.run(selected, pool) for selected in sets]
    if backbone.dry:
        out.print(DRY_RUN.format("verdicts"))
    elif backbone.model.note:
        out.print(escape(backbone.model.note))
    return max(codes)


def _sets(rubric: RubricSettings, seed: int, folders: Sequence[Path]) -> list[JudgingSet]:
    """A set per run, or one of two runs."""
    pairs = rubric.replies == 2
    if not folders or (pairs and len(folders) != 2):
        need = "exactly two run folders" if pairs else "one run folder or more"
        what = f"this judge needs {need}, not {len(folders)}"
        hint = "mmerg judge runs/… judge=likert, or two folders and judge=pairwise; folders come first"
        raise ConfigError(what, where="command line", hint=hint)
    together = [tuple(folders)] if pairs else [(folder,) for folder in dict.fromkeys(folders)]
    return [select_items(*map(read_run, one), count=rubric.sample, seed=seed) for one in together]


@dataclass(frozen=True)
class Judging:
    """Judges sets of items with one judge."""

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
        rubric, engine = self.settings.judge, self.engine
        parts = {
            "judge": engine.model,
            "digest": engine.digest[:12],
            "prompts": combined(self.judge.prompts.digests())[:12],
            "temperature": rubric.temperature,
            "repeats": rubric.repeats,
            "seed": self.settings.seed,
            "settings": settings_digest(self.settings.plain())[:8],
            "failed": "worst",
        }
        decides = "|".join(f"{key}:{value}" for key, value in parts.items())
        return f"{decides}||backend:{engine.backend}-{engine.version}"

    def own(self, selected: JudgingSet) -> tuple[str, ...]:
        """The runs whose replies the judge's model wrote; none for a dry judge."""
        return tuple(
            run.run for run in selected.runs if not self.backbone.dry and same_model(self.engine, run.manifest.engine)
        )

    def run(self, selected: JudgingSet, pool: Pool) -> int:
        """Judges the remaining items of `selected` and returns the exit code. The folder's name has a hash of settings,
        prompts and replies."""
        out = self.out
        plain = self.settings.plain()
        known = {CONFIG: settings_digest(plain), **self.judge.prompts.digests(), "judged": selected.digest()}
        manifest = JudgingManifest(
            identity={**known, ENGINE: engine_text(self.engine)},
            engine=self.engine,
            judged=tuple(
                Judged(run=run.run, identity=run.manifest.identity, engine=run.manifest.engine) for run in selected.runs
            ),
            items=len(selected.items),
            left_out=selected.left_out,
            settings=plain,
            sessions=(new_session(plain),),
        )
        # Other pairs of runs may have the same replies.
        pair = {"pair": "".join(run.run for run in selected.runs)} if len(selected.runs) > 1 else {}
        mark = combined(known | pair)[:8]
        path = Path(self.settings.runs) / f"judge-{self.settings.judge.name}-{folder_name(self.backbone.name)}-{mark}"
        with Folder(path, manifest, Verdicts, VERDICTS, folders=(SAMPLES,)) as folder:
            wanted = selected.items[: self.settings.limit]
            todo = pending(wanted, folder.results, self.settings.only_failed)
            run_items(folder, wanted, todo, self.judge.item, pool, out)
            folder.seal([item.id for item in selected.items])
            verdicts = list(folder.results.only(item.id for item in selected.items).values())
        about = {"judge": self.backbone.name, "judging": path.name, "identity": manifest.identity}
        made = self._judgement(selected, verdicts, about)
        write_record(path / JUDGEMENT, made)
        if isinstance(made, Judgement) and not self.backbone.dry:
            write_record(selected.runs[0].path / judgement_file(made.name), made)
        for part in tabulate_ratings(made) if isinstance(made, Judgement) else tabulate_match(made):
            out.print(part)
        if failed := failures(verdicts):
            out.print(failed)
        print(f"judging: {printable(str(path))}")  # noqa: T201 - for programs to read: no wrapping
        return 1 if failed else 0

    def _judgement(
        self, selected: JudgingSet, samples: Sequence[Verdicts], about: Mapping[str, object]
    ) -> Judgement | Match:
        """The scores of all items judged so far. about: the fields that name the judging."""
        judged = [one for one in samples if one.status == "ok"]
        verdicts = [verdict for one in judged for verdict in one.verdicts]
        aspects, signature = self.aspects, self.signature
        first, own = selected.runs[0], self.own(selected)
        replies = [replies_digest(run.answers) for run in selected.runs]
        fields = {
            **about,
            "engine": self.engine.in_words,
            "corpus": f"{first.manifest.corpus.name} {first.manifest.corpus.split}",
            "drawn": len(selected.items),
            "n": len(judged),
            "no_reply": sum(bool(one.no_reply) for one in judged),
            "failed": len(samples) - len(judged),
            "unjudged": len(selected.items) - len(samples),
            "left_out": selected.left_out,
            "verdicts": len(verdicts),
            "unusable": sum(not verdict.usable for verdict in verdicts),
        }
        if len(selected.runs) == 1:
            fields |= {
                "run": first.run,
                "protocol": first.manifest.protocol.description,
                "self_judged": bool(own),
                "replies": replies[0],
                "scores": ratings(judged, aspects, signature),
            }
            return Judgement.model_validate(fields)
        fields |= {
            "runs": (first.run, selected.runs[1].run),
            "replies": tuple(replies),
            "self_judged": own,
            "aspects": {aspect: preferences(judged, [aspect], signature) for aspect in aspects},
            "overall": preferences(judged, aspects, signature),
            "signs": signs(judged, aspects),
        }
        return Match.model_validate(fields)


def same_model(engine: Engine, other: Engine) -> bool:
    """Whether two engines run the same model: the same name, or the same weights."""
    return engine.model == other.model or bool(engine.digest and engine.digest == other.digest)
