"""The results of samples: lines of `results.jsonl`, with all that tables and metrics need."""

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Generic, Literal, Self, TypeVar

from pydantic import Field

from mmerg.errors import Failure, RunError, preview
from mmerg.runs.events import Count, Form, LoopEnd, Seconds, Verdict
from mmerg.storage.files import describe_error
from mmerg.storage.record import Record


class SampleLine(Record):
    """A line of a file of records. The server counts tokens."""

    id: str
    status: Literal["ok", "failed"]
    dialogue: str = ""
    digest: str = ""  # of all other fields and the run's identity; reveals changed records
    calls: Count = 0
    cached_calls: Count = 0
    prompt_tokens: Count = 0
    response_tokens: Count = 0
    seconds: Seconds = 0.0  # from the sample's start to its end
    failure: Failure | None = None
    failure_text: str | None = None

    def with_digest(self, identity: Mapping[str, str]) -> Self:
        """Returns the record with its digest in a run of this identity. Fields with their default value are not
        digested, so that a version with more fields computes the same digest."""
        fields = self.model_dump(mode="json", exclude_defaults=True, exclude={"digest"})
        text = json.dumps([dict(identity), fields], sort_keys=True, ensure_ascii=False)
        return self.model_copy(update={"digest": hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]})

    def line(self) -> str:
        return json.dumps(self.model_dump(mode="json"), ensure_ascii=False) + "\n"


class Timing(Record):
    """The speed of calls that were not cached."""

    calls: Count = 0
    prompt_tokens: Count = 0  # without those from the server's prefix cache
    prompt_seconds: Seconds = 0.0  # their evaluation
    completion_rates: tuple[Seconds, ...] = ()  # tokens per second of each call whose server reports it


class Result(SampleLine):
    """The result of a sample's last attempt. Passes are numbered from 0."""

    response: str | None = None
    emotion: str | None = None
    plan: Mapping[str, object] | str | None = None
    audit: dict[str, int] | None = None
    selected_pass: Count | None = None
    passes: Count = 0
    repeated_passes: Count = 0  # passes with the same outputs as the pass before
    forecasts: tuple[str | None, ...] = ()  # by pass, if a stage ran again
    handed_on: dict[str, tuple[Count, Count]] = Field(default_factory=dict)  # by stage: 4-grams copied, and in all
    copied: dict[str, Count] = Field(default_factory=dict)  # by source: copied 4-grams of the reply, see `copying`
    label_logprobs: dict[str, float] = Field(default_factory=dict)  # of the first pass, if it reads labels
    cleaned: dict[str, Count] = Field(default_factory=dict)  # by kind of removal: the number of completions
    ended: LoopEnd | None = None  # why the loop stopped
    gold_response: str | None = None
    gold_emotion: str | None = None
    turns_searched: Count = 0  # history turns whose clips were requested
    frames: Count = 0
    frames_form: Form | None = None
    clip_problems: Count = 0  # turns without frames
    exemplars: Count = 0  # different exemplars in prompts
    excluded: dict[str, Count] = Field(default_factory=dict)  # withheld exemplars by guard
    exemplars_problem: str | None = None
    logprob: Annotated[float, Field(le=1e4)] | None = None  # the sum over the response's tokens, natural logarithm
    logprob_tokens: Count = 0
    timing: Timing = Timing()
    responder: str = ""
    history: tuple[tuple[str, str], ...] = ()  # (speaker, text) as the agents saw it

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    @property
    def copies(self) -> int:
        """The number of four-word sequences that the reply copies."""
        return self.copied.get("any", 0)

    @property
    def repeats(self) -> str:
        """The source of a reply that is copied nearly whole, at least four fifths of its four-word sequences: "last
        turn", "history", "exemplars" or "instructions"; else ""."""
        sources = ("last turn", "history", "exemplars", "instructions") if self.copied else ()
        return next((name for name in sources if 5 * self.copied.get(name, 0) >= 4 * self.copied["all"]), "")

    @property
    def unaudited(self) -> bool:
        """True if an audit could not be read, which ended the loop."""
        return self.ended == "unaudited"


class Verdicts(SampleLine):
    """A line of `verdicts.jsonl`. If one call fails, the sample fails, and none of its verdicts counts."""

    verdicts: tuple[Verdict, ...] = ()
    no_reply: tuple[int, ...] = ()  # the numbers of the judged runs without a reply


class RunOutcome(Record):
    """The outcome of one start of a run, over all requested samples."""

    run: str  # the folder
    samples: int
    failed: int
    unaudited: int = 0  # ended with an audit that could not be read
    kept: int  # already finished before
    calls: int  # including cached ones
    made: int  # calls by this start

    @classmethod
    def from_results(cls, path: Path, results: Collection[Result], kept: int, made: int) -> Self:
        return cls(
            run=str(path),
            samples=len(results),
            failed=sum(not result.ok for result in results),
            unaudited=sum(result.unaudited for result in results),
            kept=kept,
            calls=sum(result.calls for result in results),
            made=made,
        )

    @property
    def code(self) -> int:
        """The exit code: 1 if samples failed, else 0."""
        return 1 if self.failed else 0


Line = TypeVar("Line", bound=SampleLine)


class Results(Mapping[str, Line], Generic[Line]):
    """Records by sample id, in order of first appearance, stored as bytes to save memory and parsed on access."""

    def __init__(self, record: type[Line], lines: dict[str, bytes] | None = None) -> None:
        self.record = record
        self.lines = lines or {}
        self.matches_file = True  # the file has exactly these lines in this order
        self.without_events: set[str] = set()  # samples whose events are missing

    def put(self, sample: str, line: bytes) -> None:
        """Stores a line; it replaces an earlier one of its sample."""
        self.matches_file &= sample not in self.lines
        self.lines[sample] = line

    def select(self, samples: Iterable[str]) -> "Results[Line]":
        """Returns the records of `samples`, in their order. Omits samples without a record."""
        selected = Results(self.record, {sample: self.lines[sample] for sample in samples if sample in self.lines})
        selected.without_events = self.without_events
        return selected

    def reorder(self, samples: Iterable[str]) -> "Results[Line]":
        """Returns all records: those of `samples` in their order, then the others by id."""
        ordered = dict.fromkeys(samples)
        return self.select([*ordered, *sorted(self.keys() - ordered.keys())])

    @property
    def finished(self) -> set[str]:
        """The samples that have a record and events."""
        return self.keys() - self.without_events

    def __getitem__(self, sample: str) -> Line:
        return self.record.model_validate_json(self.lines[sample])

    def __iter__(self) -> Iterator[str]:
        return iter(self.lines)

    def __len__(self) -> int:
        return len(self.lines)

    def __contains__(self, sample: object) -> bool:  # without parsing
        return sample in self.lines


def read_lines(path: Path, record: type[Line], identity: Mapping[str, str]) -> Results[Line]:
    """Reads the records of a file; none if the file is missing. A later line of a sample replaces earlier ones, and an
    incomplete last line is ignored. Raises RunError if the file cannot be read, if a line is not valid, or if its
    digest is not that of a record in a run of this identity."""
    results, foreign = Results(record), []
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                try:
                    parsed = record.model_validate_json(line)
                    results.put(parsed.id, line.rstrip(b"\n") + b"\n")
                    if parsed.with_digest(identity).digest != parsed.digest:
                        foreign.append(parsed.id)
                except ValueError as error:
                    if line.endswith(b"\n"):
                        what = f"line {number} is not a valid record: {describe_error(error)}"
                        hint = "remove the line, then run the same command again"
                        raise RunError(what, where=str(path), hint=hint) from error
                results.matches_file &= line.endswith(b"\n")
    except FileNotFoundError:
        pass
    except OSError as error:
        raise RunError(f"the results cannot be read: {describe_error(error)}", where=str(path)) from error
    if foreign:
        what = f"{len(foreign)} of {len(results)} records were changed, or are of another run: {preview(foreign)}"
        hint = "remove their lines, then run the same command again (finished calls are cached) or import replies again"
        raise RunError(what, where=str(path), hint=hint)
    return results
