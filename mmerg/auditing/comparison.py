"""MERG's audit loop (arXiv 2604.18988, section 3) with another auditor: it compares an output with decoys.

Small models can choose the better of two outputs where they cannot say whether one is good. A decoy is what the same
stage gave in another dialogue of a finished run. `conf/audit/comparison.yaml` is its page.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Annotated, Literal

from pydantic import Field

from mmerg.auditing.first_passes import DONORS, FirstPasses, finished
from mmerg.backends.protocol import TokenLogprob
from mmerg.engine.loops.audit import audit
from mmerg.engine.loops.loop import Ask, Outcome
from mmerg.engine.state import Correction, Draw, Output, State
from mmerg.errors import ConfigError, Failure, ReplyError, RunError
from mmerg.runs.events import Emit
from mmerg.runs.folder import read_results
from mmerg.runs.manifest import read_manifest
from mmerg.scoring.score import results_digest
from mmerg.storage.record import Record
from mmerg.systems.audit import Finding
from mmerg.systems.fields import AtMost
from mmerg.systems.system import Stage, System

LIKELIEST = 10  # tokens whose log-probabilities a server is asked for at each place
FLOOR = -20.0  # log-probability of a letter that is not among them


class Better(Record):
    """Which of two outputs was made for the scene."""

    better: Annotated[Literal["A", "B"], Field(description="the letter of the one that belongs here")]


class Mend(Record):
    """Why a check failed, and what to do better."""

    reason: Annotated[str, AtMost(30), Field(min_length=1, description="what is wrong with it")]
    correction: Annotated[str, AtMost(30), Field(min_length=1, description="the instruction that mends it")]


class Comparison:
    """run: the finished run that decoys are from. per_check: how many each output is held against, drawn with `seed`.
    Raises RunError where the run is not finished, ConfigError for a wrong argument."""

    templates = ("compare.j2", "mend.j2")

    def __init__(self, run: str | None, per_check: int = 2, seed: int = 0) -> None:
        if not run:
            what, hint = "no run is named that decoys are from", "decoys=runs/…, a finished one"
            raise ConfigError(what, where="decoys", hint=hint)
        if per_check < 1:
            raise ConfigError(f"per_check is {per_check}", where="system.loop.per_check", hint="1 or more")
        self._run, self._per_check, self._seed = Path(run).expanduser(), per_check, seed
        manifest, results = read_manifest(self._run), read_results(self._run)
        self._dialogues = finished(self._run, manifest, results)
        self.digest = f"{results_digest(results.values())} {per_check} {seed} {DONORS}"
        self._passes: FirstPasses | None = None

    def __call__(self, system: System, state: State, ask: Ask, emit: Emit) -> Outcome:
        """As `engine.loops.audit.audit`."""
        return audit(system, state, self.asking(system, ask), emit)

    def asking(self, system: System, ask: Ask) -> Ask:
        """`ask` with an auditor whose findings come from comparisons."""
        auditor = system.auditor
        passes = self._passes = self._passes or FirstPasses(self._run, system, self._dialogues)

        def compared(
            stage: Stage, state: State, t: int, correction: Correction | None = None, draw: Draw | None = None
        ) -> Output:
            if auditor is None or stage.name != auditor.name:
                return ask(stage, state, t, correction, draw)
            assert auditor.output is not None
            findings = {one.name: self._finding(passes, ask, auditor, one, state, t) for one in system.stages}
            return auditor.output(**findings)

        return compared

    def _finding(self, passes: FirstPasses, ask: Ask, auditor: Stage, audited: Stage, state: State, t: int) -> Finding:
        """Passed where the output is preferred to the decoys, by the mean of its log-odds. Raises RunError where there
        is no decoy."""
        donors = islice(passes.donors(state, audited, self._seed), self._per_check)
        decoys = [dict(one.outputs)[audited.gives] for one in donors]
        if not decoys:
            what = f"there is no decoy for {audited.name}: it gave the same in every dialogue"
            raise RunError(what, where=str(passes.run), hint="decoys= a run of more dialogues")
        before, own = state.before(audited.gives), dict(state.outputs)[audited.gives]
        one_check = replace(auditor, audits=(audited.name,), by=None)
        odds = [preferred(ask, one_check, before, own, decoy, t) for decoy in decoys]
        summary = f"preferred to {sum(one > 0 for one in odds)} of {len(odds)} decoys, mean log-odds {fmean(odds):+.2f}"
        if fmean(odds) > 0:
            return Finding(reason=summary, passed=True, correction="")
        mend = ask(replace(one_check, name="mend", output=Mend), before.with_(audited.gives, own), t)
        assert isinstance(mend, Mend)
        return Finding(reason=f"{summary}: {mend.reason}", passed=False, correction=mend.correction)


def preferred(ask: Ask, auditor: Stage, before: State, own: Output, decoy: Output, t: int = 0) -> float:
    """The log-odds that `own` is the better for the scene of `before`, over both orders. auditor: one that sees
    one check. Raises ReplyError where the server does not give the log-probability of the letter."""
    stage = replace(
        auditor,
        name="compare",
        gives="better",
        sees=(*auditor.sees, "A", "B"),
        output=Better,
        logprobs=True,
        alternatives=LIKELIEST,
        sampling={**auditor.sampling, "num_predict": 16},
    )
    total = 0.0
    for first, second, sign in ((own, decoy, 1), (decoy, own, -1)):
        draw = Draw(0)
        ask(stage, before.with_("A", _text(first)).with_("B", _text(second)), t, draw=draw)
        reply, _ = draw.replies["better"]
        letters = letter_logprobs(reply.logprobs)
        if not letters:
            what = "the server does not give the log-probabilities of the letters"
            raise ReplyError(Failure.SERVER_ERROR, what, where=reply.host, hint="leave +audit=comparison out")
        total += sign * (letters.get("A", FLOOR) - letters.get("B", FLOOR))
    return total


def letter_logprobs(logprobs: tuple[TokenLogprob, ...]) -> Mapping[str, float]:
    """The log-probabilities of A and B where the answer has its letter; {} where no token is one."""
    for entry in logprobs:
        tokens = sorted((*entry.top_logprobs, entry), key=lambda one: one.logprob)
        letters = {letter: one.logprob for one in tokens if (letter := one.token.strip(' "}')) in ("A", "B")}
        if entry.token.strip(' "}') in letters:
            return letters
    return {}


def _text(output: Output) -> str:
    """How an output is written in a prompt: both sides alike, whatever template a stage's output has."""
    if isinstance(output, str):
        return output
    return json.dumps(output.model_dump(mode="json", exclude_unset=True), ensure_ascii=False)
