"""A sample's story as its page in a report needs it: which stage gave what in which pass, and what changed since. The
stages are those of the settings and the events, of any system.

    page = SamplePage(Story(read_events(run, "d1/4")), Agents(manifest))
    [cell.state for cell in page.cells("mpa")]    # ['made', 'kept']
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Literal, NamedTuple

from mmerg.frames.store import Keyframe
from mmerg.reporting.agents import Agents
from mmerg.reporting.changes import Field, fields
from mmerg.runs import events
from mmerg.runs.story import Pass, Step, Story

FORMS = {  # sentences without their full stop
    "images": "The keyframes were sent as images",
    "montage": "The keyframes were sent as one numbered grid",
    "descriptions": "The model takes no images, so descriptions measured from the keyframes were sent in their place",
    "none": "No keyframes were sent",
}


class Cell(NamedTuple):
    """A stage in a pass. made: it gave an output; kept: its output of pass `since` stands; none: it gave nothing that
    could be used. since: the last pass before with an output, which `fields` are compared with; else the pass."""

    within: Pass
    step: Step
    state: Literal["made", "kept", "none"]
    since: int
    fields: tuple[Field, ...]


class SamplePage:
    """has_frame: whether the run's folder has a frame of this hash. passes: those that began, else an empty one. order:
    stages as the settings have them, then what else the events name. blamed: agents that audits blame."""

    def __init__(self, story: Story, agents: Agents, has_frame: Callable[[str], bool] = lambda _: True) -> None:
        self.story, self.agents, self.has_frame = story, agents, has_frame
        self.history = story.started.history if story.started else ()
        self.form = story.frames.form if story.frames else "none"
        turns = story.frames.turns if story.frames else ()
        self.problems = {turn.turn: turn.problem for turn in turns if turn.problem}
        self.keyframes = story.keyframes
        self.passes = list(story.passes.values()) or [Pass(0)]
        active = (stage for this in self.passes for stage in this.steps)
        self.order = list(dict.fromkeys([*agents.titles, *active]))
        faults = [this.audited.fault for this in self.passes if this.audited]
        self.blamed = tuple(dict.fromkeys(filter(None, faults)))

    def shots(self, turn: int) -> list[tuple[int, Keyframe]]:
        """The keyframes of a turn, each with its number in the prompts."""
        return [(number, one) for number, one in enumerate(self.keyframes, start=1) if one.turn == turn]

    @property
    def audited(self) -> list[Pass]:
        """The passes that came to their audit, one that could be read or not."""
        auditor = self.agents.auditor
        return [this for this in self.passes if this.audited or this.unaudited or auditor in this.steps]

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
