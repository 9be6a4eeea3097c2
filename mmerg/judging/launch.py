"""The judging of finished runs, from a composed config to an exit code; `mmerg/judge.py` is its command.

Reads top to bottom: runs and their replies, hosts and engine, the judging folder, items in flight, figures and tables.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from mmerg.backends.pool import Pool
from mmerg.backends.protocol import Engine
from mmerg.console.run_tables import failures
from mmerg.console.terminal import console, escape, printable
from mmerg.engine.prompts import Prompts
from mmerg.errors import ConfigError
from mmerg.experiment.wiring import answering, sampling_of, session_of
from mmerg.experiment.work import DRY_RUN, carry_out, pending
from mmerg.judging.figures import ratings
from mmerg.judging.items import Lot, pairs, singles
from mmerg.judging.judge import Judge, judge_system
from mmerg.judging.judgement import (
    JUDGEMENT,
    VERDICTS,
    Judgement,
    Match,
    keep,
    replies_digest,
    same_model,
)
from mmerg.judging.preferences import preferences, signs
from mmerg.judging.tables import compared, rated
from mmerg.runs.folder import Folder
from mmerg.runs.manifest import DRY, Judged, JudgingManifest
from mmerg.runs.result import Verdicts
from mmerg.runs.samples import SAMPLES
from mmerg.scoring.answers import ScoredRun, read_run
from mmerg.settings.identity import identity_hash
from mmerg.settings.model import JudgeSettings, RubricSettings


@dataclass(frozen=True)
class Judging:
    """What the judgings of one command share."""

    settings: JudgeSettings
    judge: Judge
    engine: Engine

    @property
    def aspects(self) -> list[str]:
        return [stage.name for stage in self.judge.prompts.system.stages]

    @property
    def backbone(self) -> str:
        """The judge's name in files and tables; without a model it is none of the backbone's."""
        return DRY if self.settings.backend.name == DRY else self.settings.backbone.name

    def identity(self, lot: Lot) -> dict[str, str]:
        """What decides the verdicts on `lot`."""
        return {
            "config": identity_hash(self.settings.plain()),
            "engine": json.dumps(self.engine.model_dump(mode="json"), sort_keys=True),
            "prompts": self.judge.prompts.digest(),
            "judged": lot.digest(),
        }

    def name(self, identity: dict[str, str]) -> str:
        """The folder's name, another for every config, prompt and reply that is judged."""
        mark = hashlib.sha256("".join(identity[part] for part in ("config", "prompts", "judged")).encode()).hexdigest()[
            :8
        ]
        return f"judge-{self.settings.judge.name}-{self.backbone}-{mark}"


def launch(settings: JudgeSettings, folders: Sequence[Path]) -> int:
    """Judges the runs in `folders`: 0 all fine, 1 calls failed for some samples. Raises MmergError where nothing could
    be judged, or the judge would judge replies of its own unasked."""
    _check(settings.judge)
    out = console()
    node = settings.judge
    lots = [lot.drawn(node.sample, settings.seed) for lot in _lots(folders, node.replies)]
    sampling = replace(sampling_of(settings), temperature=node.temperature)
    judge = Judge(Prompts(judge_system(node)), sampling, node.replies, node.repeats)
    pool, engine = answering(settings)
    with closing(pool):
        if not settings.own_replies:
            _refuse_own(engine, lots)
        judging = Judging(settings, judge, engine)
        _announce(out, judging)
        for host, why in pool.down().items():
            out.print(escape(f"host {host} is left out for now: {why}"))
        codes = [_judged(out, judging, lot, pool) for lot in lots]
    if settings.backend.name == DRY:
        out.print(DRY_RUN.format("verdicts"))
    elif settings.backbone.note:
        out.print(escape(settings.backbone.note))
    return max(codes)


def _check(node: RubricSettings) -> None:
    if node.repeats > 1 and not node.temperature:
        raise ConfigError(
            f"judge.repeats is {node.repeats}, and at temperature 0 each would say the same",
            where="configuration",
            hint="judge.temperature=0.7, or judge.repeats=1",
        )


def _lots(folders: Sequence[Path], replies: int) -> list[Lot]:
    """What is to be judged: run by run, or two runs against each other."""
    if replies == 1 and folders:
        return [singles(read_run(folder)) for folder in dict.fromkeys(folders)]
    if replies == 2 and len(folders) == 2:
        return [pairs(*map(read_run, folders))]
    need = "at least one run folder" if replies == 1 else "exactly two run folders"
    raise ConfigError(
        f"{len(folders)} run folders are given, and this judge takes {need}",
        where="command line",
        hint="python -m mmerg.judge runs/… judge=likert, or two of them and judge=pairwise; folders come first",
    )


def _own(engine: Engine, lot: Lot) -> list[ScoredRun]:
    """The runs whose replies the judge's model wrote; a dry judge is none."""
    return [run for run in lot.runs if engine.backend != DRY and same_model(engine, run.manifest.engine)]


def _refuse_own(engine: Engine, lots: Sequence[Lot]) -> None:
    if own := [run.name for lot in lots for run in _own(engine, lot)]:
        raise ConfigError(
            f"the judge, {engine.model}, wrote the replies of {', '.join(own)}, and models favour their own",
            where="backbone",
            hint="choose another model as judge, backbone=…, or own_replies=true, which tables then say",
        )


def _judged(out: Console, judging: Judging, lot: Lot, pool: Pool) -> int:
    settings = judging.settings
    identity = judging.identity(lot)
    path = Path(settings.runs) / judging.name(identity)
    with Folder(path, _manifest(judging, lot, identity), Verdicts, VERDICTS, folders=(SAMPLES,)) as folder:
        wanted = lot.items[: settings.limit]
        todo = pending(wanted, folder.results, settings.only_failed)
        carry_out(folder, wanted, todo, judging.judge.item, pool, out)
        folder.seal([item.id for item in lot.items])
        found = list(folder.results.only(item.id for item in lot.items).values())
    _conclude(out, judging, lot, identity, path, found)
    if failed := failures(found):
        out.print(failed)
    print(f"judging: {printable(str(path))}")  # noqa: T201 - for programs to read: no wrapping
    return 1 if failed else 0


def _conclude(
    out: Console, judging: Judging, lot: Lot, identity: dict[str, str], path: Path, found: Sequence[Verdicts]
) -> None:
    """The figures of what has been judged so far: written down, and printed."""
    judged = [verdicts for verdicts in found if verdicts.status == "ok"]
    replied = [verdicts for verdicts in judged if not verdicts.no_reply]
    some_failed = len(replied) < len(judged)
    manifest = lot.runs[0].manifest
    common: dict[str, Any] = {
        "judge": judging.backbone,
        "engine": judging.engine.in_words,
        "judging": path.name,
        "corpus": f"{manifest.corpus.name} {manifest.corpus.split}",
        "drawn": len(lot.items),
        "n": len(judged),
        "no_reply": len(judged) - len(replied),
        "failed": len(found) - len(judged),
        "unjudged": len(lot.items) - len(found),
        "left_out": lot.left_out,
        "verdicts": sum(len(verdicts.verdicts) for verdicts in judged),
        "unusable": sum(not verdict.usable for verdicts in judged for verdict in verdicts.verdicts),
        "identity": identity,
    }
    own = _own(judging.engine, lot)
    signature = _signature(judging)
    if len(lot.runs) == 1:
        [run] = lot.runs
        judgement = Judgement(
            run=run.name,
            protocol=run.manifest.protocol.description,
            self_judged=bool(own),
            replies=replies_digest(run.answers),
            scores=ratings(judged, judging.aspects, signature),
            replies_alone=ratings(replied, judging.aspects, signature) if some_failed else {},
            **common,
        )
        judgement.write(path / JUDGEMENT)
        # a dry run's ratings stand in no table
        if judging.settings.backend.name != DRY and (kept := keep(judgement, run.path)):
            file, fuller = kept
            out.print(
                escape(
                    f"{file} stays: it is of {fuller.n} samples of the same replies, and this judgement of "
                    f"{judgement.n}, which is in {path / JUDGEMENT}"
                )
            )
        parts = rated(judgement)
    else:
        a, b = lot.runs
        over = {**{aspect: [aspect] for aspect in judging.aspects}, "all": judging.aspects} if some_failed else {}
        match = Match(
            runs=(a.name, b.name),
            replies=tuple(replies_digest(run.answers) for run in lot.runs),
            self_judged=tuple(run.name for run in own),
            aspects={aspect: preferences(judged, [aspect], signature) for aspect in judging.aspects},
            overall=preferences(judged, judging.aspects, signature),
            replies_alone={name: preferences(replied, aspects, signature) for name, aspects in over.items()},
            signs=signs(judged, judging.aspects),
            **common,
        )
        match.write(path / JUDGEMENT)
        parts = compared(match)
    for part in parts:
        out.print(part)


def _signature(judging: Judging) -> str:
    node, engine = judging.settings.judge, judging.engine
    parts = {
        "judge": engine.model,
        "digest": engine.digest[:12],
        "prompts": judging.judge.prompts.digest()[:12],
        "temperature": node.temperature,
        "repeats": node.repeats,
        "seed": judging.settings.seed,
        "settings": identity_hash(judging.settings.plain())[:8],
        "failed": "worst",
    }
    told = "|".join(f"{key}:{value}" for key, value in parts.items())
    return f"{told}||backend:{engine.backend}-{engine.version}"


def _manifest(judging: Judging, lot: Lot, identity: dict[str, str]) -> JudgingManifest:
    runs = (Judged(run=run.name, identity=run.manifest.identity, engine=run.manifest.engine) for run in lot.runs)
    return JudgingManifest(
        identity=identity,
        engine=judging.engine,
        judged=tuple(runs),
        items=len(lot.items),
        left_out=lot.left_out,
        settings=judging.settings.plain(),
        sessions=(session_of(judging.settings),),
    )


def _announce(out: Console, judging: Judging) -> None:
    node, engine = judging.settings.judge, judging.engine
    calls = len(judging.judge.rounds) * len(judging.aspects)
    out.print(escape(f"judge={node.name}: {', '.join(judging.aspects)}; {calls} calls a sample"))
    seeds = f"seeds {judging.settings.seed} to {judging.settings.seed + node.repeats - 1}"
    out.print(escape(f"{engine.in_words}, temperature {node.temperature}, {seeds}"))
