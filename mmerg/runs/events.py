"""The events of a sample: typed records, each one line in the sample's file. They name images by their hash."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, TypeAdapter

from mmerg.backends.protocol import Completion
from mmerg.errors import Failure
from mmerg.frames.store import Frame
from mmerg.settings.model import Selection
from mmerg.storage.record import Record
from mmerg.systems.audit import Audit

Form = Literal["images", "montage", "descriptions", "none"]
Choice = Literal["first", "second", "tie"]
Became = Literal["unusable", "as before", "failed", "passed"]
LoopEnd = str  # a key of LOOP_ENDS, or a text of a custom loop
BEST_OF_N = {"all candidates": "every candidate could be used", "candidates lost": "not every candidate could be used"}
LOOP_ENDS = {
    "passed": "all checks passed",
    "good enough": "the critic found nothing to improve",
    "max_iterations": "no refinement was left",
    "idle": "the faulty agent had nothing else to say",
    "unaudited": "an audit could not be read",
    "unusable": "a later pass could not be finished",
    "no auditor": "the system has no auditor",
    **BEST_OF_N,
}
# The bounds are far above real values, and only reject damaged files.
Count = Annotated[int, Field(ge=0, le=2**53)]
Pass = Annotated[int, Field(ge=0, le=10_000)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Likelihood = Annotated[float, Field(allow_inf_nan=False)]
OVER_BUDGET = "over_budget"  # later turns have used up the frames of the sample


class _Event(Record):
    sample: str
    at: datetime = Field(default_factory=lambda: datetime.now(UTC))


class _OfPass(_Event):
    kind: str  # declared here, so that it is written before t
    t: Pass


class _OfStage(_OfPass):
    stage: str


class SampleStarted(_Event):
    kind: Literal["sample_started"] = "sample_started"
    dialogue: str
    history: tuple[tuple[str, str], ...]  # (speaker, text)
    responder: str
    labels: tuple[str, ...]


class TurnFrames(Record):
    """The keyframes of one history turn, each with a description for a model without vision."""

    turn: int
    frames: tuple[Frame, ...] = ()
    descriptions: tuple[str, ...] = ()
    problem: str = ""  # why there are no frames (missing, unreadable, …), if known


class FramesTaken(_Event):
    kind: Literal["frames_taken"] = "frames_taken"
    form: Form
    turns: tuple[TurnFrames, ...]


class TracedMessage(Record):
    role: str
    text: str
    images: tuple[str, ...] = ()  # by hash


class Called(_OfStage):
    """A call with its whole prompt and completion. `attempt` is 0 for the first call, then counts repairs."""

    kind: Literal["called"] = "called"
    attempt: int
    digest: str
    messages: tuple[TracedMessage, ...]
    answer_schema: str
    sampling: dict[str, float | int | tuple[str, ...]]
    logprobs: bool
    completion: Completion


class Refused(_OfStage):
    """An invalid completion. The prompt of the next attempt shows the complaint."""

    kind: Literal["refused"] = "refused"
    attempt: int
    failure: Failure
    complaint: str


class Cleaned(_OfStage):
    """What was removed from a completion, such as text around its JSON or a speaker's name. `Called` has all of it."""

    kind: Literal["cleaned"] = "cleaned"
    attempt: int
    removed: tuple[str, ...]


class Excluded(Record):
    """An exemplar withheld by a leak guard."""

    id: str
    guard: str
    similarity: float
    reply: str


class Supplied(_OfStage):
    """The content that a source added to a prompt, such as the exemplars M."""

    kind: Literal["supplied"] = "supplied"
    symbol: str
    content: tuple[dict[str, object], ...]
    excluded: tuple[Excluded, ...] = ()
    problem: str = ""  # why the source added nothing


class Produced(_OfStage):
    kind: Literal["produced"] = "produced"
    symbol: str
    output: Any

    @classmethod
    def from_output(cls, sample: str, t: int, stage: str, symbol: str, output: BaseModel | str) -> Self:
        content = output if isinstance(output, str) else output.model_dump(mode="json")
        return cls(sample=sample, t=t, stage=stage, symbol=symbol, output=content)


class Audited(_OfPass):
    kind: Literal["audited"] = "audited"
    audit: Audit
    checks: tuple[int, ...]  # c1, … in the order of the stages: 1 passed, 0 failed
    fault: str | None  # the earliest stage that failed


class Unaudited(_OfPass):
    """The audit of pass t could not be read. The loop ends, and every audited pass ranks before this one."""

    kind: Literal["unaudited"] = "unaudited"
    failure: Failure
    what: str
    hint: str = ""


class PassLost(_OfPass):
    """A pass after the first, or a candidate, failed. The other candidates continue; any other loop ends."""

    kind: Literal["pass_lost"] = "pass_lost"
    failure: Failure
    what: str


class Rerun(_OfStage):
    """Pass t starts again from `stage`. Its prompt shows reason and correction, unless it runs in other views."""

    kind: Literal["rerun"] = "rerun"
    reason: str
    correction: str


class LabelsRead(_OfStage):
    """The log-probability of each emotion, averaged over several orders of the labels, before calibration."""

    kind: Literal["labels_read"] = "labels_read"
    logprobs: dict[str, Likelihood]
    calibrated: bool


class Viewed(_OfStage):
    """A stage ran again in another view, with this result of its check."""

    kind: Literal["viewed"] = "viewed"
    view: str
    became: Became
    score: float | None = Field(default=None, exclude_if=lambda score: score is None)


class Selected(_OfPass):
    """The pass whose response is final."""

    kind: Literal["selected"] = "selected"
    ranks: Mapping[Pass, tuple[int | Likelihood, ...]]
    ended: LoopEnd
    by: Selection = "lexicographic"


class Verdict(Record):
    """A judge's verdict on one aspect: the `score` of a reply, the `choice` between two, or the call's `failure`."""

    aspect: str
    round: int  # from 0, over orders and repeats
    order: tuple[int, ...]  # the judged runs by number, in the order in which their replies were shown
    repeat: int
    seed: int
    score: int | None = None
    choice: Choice | None = None
    reason: str = ""
    failure: Failure | None = None

    @property
    def usable(self) -> bool:
        return self.failure is None

    @property
    def preferred(self) -> int | None:
        """The number of the run whose reply was chosen; None for a tie."""
        return None if self.choice in (None, "tie") else self.order[0 if self.choice == "first" else 1]


class Judged(_OfPass):
    kind: Literal["judged"] = "judged"
    verdict: Verdict


class SampleDone(_Event):
    kind: Literal["sample_done"] = "sample_done"
    before: str = ""  # a digest of the lines above, which reveals later changes


class SampleFailed(_Event):
    kind: Literal["sample_failed"] = "sample_failed"
    failure: Failure
    what: str
    where: str = ""
    hint: str = ""
    before: str = ""  # as in SampleDone


_Samples = SampleStarted | FramesTaken | SampleDone | SampleFailed
_Stages = Called | Refused | Cleaned | Supplied | LabelsRead | Produced | Rerun | Viewed
_Passes = Audited | Unaudited | PassLost | Selected | Judged
Event = Annotated[_Samples | _Stages | _Passes, Field(discriminator="kind")]
EVENT: TypeAdapter[Event] = TypeAdapter(Event)
Emit = Callable[[Event], None]
