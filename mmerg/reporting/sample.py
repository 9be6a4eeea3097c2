"""A sample's trace as its page shows it: the output of each stage in each pass, and its changes.

The stages come from the settings and the events, so that any system can be shown.

    page = SamplePage(SampleTrace(read_events(run, "d1/4")), Agents(manifest))
    [cell.state for cell in page.list_cells("mpa")]    # ['made', 'kept']
"""

from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

from mmerg.frames.store import Keyframe
from mmerg.reporting.changes import OutputField, compare_fields
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
    """The agents of a run by its settings, without those that an ablation removes."""

    def __init__(self, manifest: BaseManifest) -> None:
        system, auditor = manifest.setting("system", {}), manifest.setting("system.auditor", {})
        without, stages = set(system.get("without") or ()), system.get("stages") or {}
        self.titles = {name: _get_title(stage) for name, stage in stages.items() if name not in without}
        self.auditor = "" if auditor.get("name") in without else str(auditor.get("name") or "")
        self.emotion = str(manifest.setting("system.result.emotion", ""))  # symbol, and field if any


def _get_title(stage: Any) -> str:
    kind = str(stage.get("output") or "").rpartition(".")[2]
    return "Response" if kind == "text" else kind or str(stage.get("gives") or "")


class Cell(NamedTuple):
    """A stage in a pass."""

    sample_pass: Pass
    step: Step
    state: Literal["made", "kept", "none"]  # by this pass, kept from pass `since`, or without an output
    since: int  # the pass with the previous output, which `fields` are compared with; this pass if there is none
    fields: tuple[OutputField, ...]


class SamplePage:
    """The content of a sample's page. has_frame: returns True if the run's folder has the frame with a hash."""

    def __init__(self, trace: SampleTrace, agents: Agents, has_frame: Callable[[str], bool] = lambda _: True) -> None:
        self.trace, self.agents, self.has_frame = trace, agents, has_frame
        self.history = trace.started.history if trace.started else ()
        self.form = trace.frames.form if trace.frames else "none"  # a key of FORMS
        turns = trace.frames.turns if trace.frames else ()
        self.problems = {turn.turn: turn.problem for turn in turns if turn.problem}  # why turns have no frames
        self.keyframes = trace.keyframes
        self.passes = list(trace.passes.values()) or [Pass(0)]  # that started
        stages = (stage for sample_pass in self.passes for stage in sample_pass.steps)
        self.order = list(dict.fromkeys([*agents.titles, *stages]))  # as in the settings, then others of the events
        faults = [sample_pass.audited.fault for sample_pass in self.passes if sample_pass.audited]
        self.blamed = tuple(dict.fromkeys(filter(None, faults)))
        auditor = agents.auditor
        self.audited = [
            sample_pass
            for sample_pass in self.passes
            if sample_pass.audited or sample_pass.unaudited or auditor in sample_pass.steps
        ]

    def list_keyframes(self, turn: int) -> list[tuple[int, Keyframe]]:
        """Returns the keyframes of a turn, each with its number in the prompts."""
        return [(number, frame) for number, frame in enumerate(self.keyframes, start=1) if frame.turn == turn]

    @property
    def first_label(self) -> str | None:
        label = self.passes[0].at(self.agents.emotion)
        return label if isinstance(label, str) else None

    def get_title(self, stage: str) -> str:
        """Returns the title of a stage's output; by default its symbol."""
        outputs = [output for sample_pass in self.passes for output in sample_pass.outputs.values()]
        symbol = next((output.symbol for output in outputs if output.stage == stage), "")
        return self.agents.titles.get(stage) or symbol or stage

    def list_cells(self, stage: str) -> Iterator[Cell]:
        """Yields the cell of a stage in each pass."""
        previous: events.Produced | None = None
        for sample_pass in self.passes:
            step = sample_pass.steps.get(stage, Step())
            since = previous.t if previous else sample_pass.t
            if step.output:
                output = compare_fields(step.output.output, previous.output if previous else None)
                yield Cell(sample_pass, step, "made", since, output)
                previous = step.output
            else:
                yield Cell(sample_pass, step, "kept" if previous in sample_pass.outputs.values() else "none", since, ())
