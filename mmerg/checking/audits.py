"""Which of the two auditors a backbone can do: it audits scenes whose next line is known.

By findings, as MERG's GRA gives them (arXiv 2604.18988, section 3), a scene's own line is to pass and another scene's
to fail; by comparison the own line is to be preferred, over both orders. Chance is right in half the cases of either.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace
from importlib.resources import files

from mmerg.auditing.comparison import preferred
from mmerg.backends.protocol import Backend, Sampling
from mmerg.checking.probes import Finding
from mmerg.corpora.dialogue import Scene, Turn
from mmerg.engine.ask import Asker
from mmerg.engine.loops.loop import Ask
from mmerg.engine.state import State
from mmerg.errors import ReplyError
from mmerg.experiment.wiring import prompts_of
from mmerg.scoring.intervals import wilson
from mmerg.settings.compose import compose
from mmerg.settings.kinds import Plain
from mmerg.settings.model import RunSettings
from mmerg.settings.parse import parse
from mmerg.systems.audit import audit_of
from mmerg.systems.system import Stage

LABELS = ("anger", "disgust", "fear", "joy", "neutral", "sadness", "surprise")
WRITER_ALONE = ("system=merg", "system.without=[mpa,caef,psp]", "dataset=demo", "backend=dry")
RUNS = {"findings": "a run's auditor as it is", "comparison": "+audit=comparison decoys=RUN"}


def scenes() -> list[tuple[Scene, str]]:
    """Scenes with their next lines."""
    pairs = []
    for block in files("mmerg.checking").joinpath("scenes.txt").read_text(encoding="utf-8").strip().split("\n\n"):
        *turns, (responder, line) = (text.split(": ", 1) for text in block.splitlines())
        history = tuple(Turn(speaker, words) for speaker, words in turns)
        pairs.append((Scene(history[0].text, history, responder, LABELS), line))
    return pairs


def audits(backend: Backend, samplers: Plain, kinds: Collection[str]) -> Iterator[tuple[str, Finding]]:
    """A finding for each auditor of `kinds`. samplers: the backbone's, as its page has them. Raises CallError."""
    prompts, lines = prompts_of(parse(compose("config", WRITER_ALONE).config, RunSettings)), scenes()
    auditor, [writer] = prompts.system.auditor, prompts.system.stages
    assert auditor is not None
    comparing = replace(auditor, audits=(writer.name,))
    right: dict[str, list[bool]] = {kind: [] for kind in kinds}
    for (scene, own), (_, other) in zip(lines, [*lines[1:], lines[0]], strict=True):
        ask = Asker(prompts, backend, Sampling().changed(samplers), lambda _: None)  # no trace
        right["findings"] += [_passes(ask, auditor, scene, own) is True, _passes(ask, auditor, scene, other) is False]
        if "comparison" in right:
            right["comparison"].append(preferred(ask, comparing, State(scene), own, other) > 0)
    for name, cases in right.items():
        low, high = (100 * bound for bound in wilson(sum(cases) / len(cases), len(cases)))
        text = f"right in {sum(cases)} of {len(cases)} cases ({low:.0f} to {high:.0f} %, chance is 50)"
        if low > 50:
            yield f"audit by {name}", ("ok", f"{text}; {RUNS[name]}")
        else:
            yield f"audit by {name}", ("open", f"{text}: not shown to be better than chance")


def _passes(ask: Ask, auditor: Stage, scene: Scene, line: str) -> bool | None:
    """Whether the audit passes the line; None where it cannot be read, which is a wrong answer for any line."""
    try:
        reply = ask(auditor, State(scene).with_("R", line), 0)
    except ReplyError:
        return None
    assert not isinstance(reply, str)
    return audit_of(reply).fault is None
