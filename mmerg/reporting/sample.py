"""A sample's trace as its page shows it: what each stage gave in each pass, and what changed since the pass before.

The stages are those of the settings and the events, so that any system can be shown.

    page = SamplePage(SampleTrace(read_events(run, "d1/4")), Agents(manifest))
    [cell.state for cell in page.cells("mpa")]    # ['made', 'kept']
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from mmerg.frames.store import Keyframe
from mmerg.reporting.changes import Field, fields
from mmerg.runs import events
from mmerg.runs.manifest import BaseManifest
from mmerg.runs.trace import Pass, SampleTrace, Step

FORMS = {  # sentences without their full stop
    "images": "The keyframes were sent as images",
    "montage": "The keyframes were sent as one numbered grid",
    "descriptions": "The model takes no images, so descriptions measured from the keyframes were sent in their place",
    "none": "No keyframes were sent",
}


class Agents:
    """The agents of a run by its settings, without those that an ablation removes.

    titles: what each stage gives, by the stage's name in order. auditor: its name, "" for a system without one.
    emotion: the symbol that holds the forecast label, then the field.
    """

    def __init__(self, manifest: BaseManifest) -> None:
        system, auditor = manifest.setting("system", {}), manifest.setting("system.auditor", {})
        without, stages = set(system.get("without") or ()), system.get("stages") or {}
        self.titles = {name: _get_title(stage) for name, stage in stages.items() if name not in without}
        self.auditor = "" if auditor.get("name") in without else str(auditor.get("name") or "")
        self.emotion = str(manifest.setting("system.result.emotion", "")).split(".")


def _get_title(stage: Any) -> str:
    kind = str(stage.get("output") or "").rpartition(".")[2]
    return "Response" if kind == "text" else kind or str(stage.get("gives") or "")


class Cell(NamedTuple):
    """A stage in a pass.

    state: made if it gave an output, kept if its output of pass `since` stands, none if it gave nothing usable. since:
    the pass whose output `fields` are compared with, or this pass if there is none.
    """

    within: Pass
    step: Step
    state: Literal["made", "kept", "none"]
    since: int
    fields: tuple[Field, ...]


class SamplePage:
    """What a sample's page shows.

    has_frame: whether the run's folder has a frame with this hash. passes: those that began, or an empty one. order:
    stages as in the settings, then any others in the events. blamed: agents that audits blame. problems: why turns
    have no frames, by turn.
    """

    def __init__(self, trace: SampleTrace, agents: Agents, has_frame: Callable[[str], bool] = lambda _: True) -> None:
        self.trace, self.agents, self.has_frame = trace, agents, has_frame
        self.history = trace.started.history if trace.started else ()
        self.form = trace.frames.form if trace.frames else "none"
        turns = trace.frames.turns if trace.frames else ()
        self.problems = {turn.turn: turn.problem for turn in turns if turn.problem}
        self.keyframes = trace.keyframes
        self.passes = list(trace.passes.values()) or [Pass(0)]
        active = (stage for this in self.passes for stage in this.steps)
        self.order = list(dict.fromkeys([*agents.titles, *active]))
        faults = [this.audited.fault for this in self.passes if this.audited]
        self.blamed = tuple(dict.fromkeys(filter(None, faults)))
        auditor = agents.auditor
        self.audited = [this for this in self.passes if this.audited or this.unaudited or auditor in this.steps]

    def list_keyframes(self, turn: int) -> list[tuple[int, Keyframe]]:
        """The keyframes of a turn, each with its number in the prompts."""
        return [(number, frame) for number, frame in enumerate(self.keyframes, start=1) if frame.turn == turn]

    @property
    def first_label(self) -> str | None:
        """The label that the first pass forecast."""
        symbol, *field = self.agents.emotion
        made = self.passes[0].outputs.get(symbol)
        label = made.output.get(*field) if made and field and isinstance(made.output, Mapping) else None
        return label if isinstance(label, str) else None

    def title(self, stage: str) -> str:
        """What a stage gives, in words."""
        outputs = [output for this in self.passes for output in this.outputs.values()]
        symbol = next((output.symbol for output in outputs if output.stage == stage), "")
        return self.agents.titles.get(stage) or symbol or stage

    def cells(self, stage: str) -> Iterator[Cell]:
        """A stage in each pass."""
        before: events.Produced | None = None
        for this in self.passes:
            step = this.steps.get(stage, Step())
            made = step.output
            kept = before in this.outputs.values()
            output = fields(made.output, before.output if before else None) if made else ()
            state: Literal["made", "kept", "none"] = "made" if made else "kept" if kept else "none"
            yield Cell(this, step, state, before.t if before else this.t, output)
            before = made or before
