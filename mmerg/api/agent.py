"""Replies from Python: `mmerg.respond` for one, `mmerg.open` for a model that stays open between them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeAlias, cast

from mmerg.errors import ConfigError, RunError

if TYPE_CHECKING:
    from mmerg.backends.pool import Pool
    from mmerg.backends.protocol import Engine
    from mmerg.engine.uploads import Upload
    from mmerg.experiment.talk import TalkPlan
    from mmerg.runs.events import Event
    from mmerg.runs.result import Result
    from mmerg.runs.trace import Pass, SampleTrace
    from mmerg.systems.audit import Audit

File: TypeAlias = "str | PathLike[str] | bytes"
Files: TypeAlias = "File | Sequence[File]"  # pictures and clips
Turns: TypeAlias = "Iterable[tuple[str, str] | tuple[str, str, Files]]"  # speaker, text, files
Talk: TypeAlias = "list[tuple[str, str, list[Upload]]]"  # turns with their files as uploads
EXAMPLE = '[("Ana", "I got the job!")]'  # turns, for the hints of errors


@dataclass(frozen=True)
class Reply:
    """The reply of a system."""

    result: Result  # as in the results of a run
    trace: SampleTrace  # the inputs and outputs of the agents

    @property
    def text(self) -> str:
        return self.result.response or ""

    @property
    def emotion(self) -> str | None:
        """The forecast emotion; None for a system that forecasts none."""
        return self.result.emotion

    @property
    def plan(self) -> object:
        """The plan of the reply, by field; None for a system that makes none."""
        return self.result.plan

    @property
    def passes(self) -> list[Pass]:
        """The passes, from 0: the output of each stage, the audit, and why a stage was rerun."""
        return list(self.trace.passes.values())

    @property
    def audits(self) -> list[Audit | None]:
        """The audit of each pass; None if there is none, or if it could not be read."""
        return [pass_.audited.audit if pass_.audited else None for pass_ in self.passes]

    def __repr__(self) -> str:
        return f"Reply({self.text!r}, emotion={self.emotion!r}, passes={len(self.passes)})"


class Agent:
    """A system with its model. Close it after use, or use it in a `with` block. Several threads may use it at the same
    time; backbone.concurrency limits the simultaneous calls to the model."""

    def __init__(self, plan: TalkPlan, pool: Pool, engine: Engine) -> None:
        self._plan, self._pool, self._experiment = plan, pool, plan.experiment(engine)
        self.engine = engine

    @property
    def labels(self) -> tuple[str, ...]:
        """The emotions from which the system chooses."""
        return self._plan.corpus.labels

    def respond(
        self,
        turns: Turns,
        speaker: str = "",
        frames: Files = (),
        *,
        seed: int | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> Reply:
        """Returns the reply of `speaker` to the last turn.

        Args:
            turns: speaker, text and optionally pictures or clips of each turn, as paths or bytes.
            speaker: who replies; may be somebody who has not spoken yet.
            frames: further pictures or clips of the last turn.
            seed: for sampling; None: the seed of the settings.
            on_event: called with each event as it happens, in this thread.

        Raises:
            ConfigError: there is no turn, a file cannot be used, or `speaker` differs from a name only in its case.
            RunError: the system gives no reply.
        """
        from mmerg.experiment.talk import turns_and_uploads, with_uploads
        from mmerg.runs.trace import SampleTrace

        talk = _read_talk(turns, frames)
        _check_speaker(speaker, list(dict.fromkeys(name for name, *_ in talk)))
        spoken, uploads = turns_and_uploads(talk)
        sample = self._plan.sample("talk", spoken, speaker)
        experiment = with_uploads(self._experiment, uploads, seed)
        trace = SampleTrace()

        def emit(event: Event) -> None:
            trace.add(event)
            if event is trace.frames and uploads.problems:
                place, problem = next(iter(uploads.problems.items()))
                raise ConfigError(f"a file cannot be shown to the model: {problem}", where=place)
            if on_event:
                on_event(event)

        with self._pool.lease() as backend:
            result = experiment.run_sample(sample, backend, emit, lambda *_: None)
        if trace.failed:
            raise RunError(trace.failed.what, where=trace.failed.where, hint=trace.failed.hint)
        return Reply(result, trace)

    async def arespond(self, turns: Turns, speaker: str = "", frames: Files = (), *, seed: int | None = None) -> Reply:
        """Does what `respond` does, for asyncio: it runs in a thread."""
        return await asyncio.to_thread(self.respond, turns, speaker, frames, seed=seed)

    def close(self) -> None:
        """Cancels running calls, and unloads the model if it runs in this process."""
        self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_agent(*overrides: str, config_dir: str | PathLike[str] | None = None, **settings: object) -> Agent:
    """Opens a system with its model, and returns it as an agent that replies.

    The settings are those of `mmerg serve`: without a dataset the labels are Ekman's six and neutral, and there are no
    exemplars. Raises MmergError if the system or its model cannot be opened.
    """
    from mmerg.api.overrides import compose_settings
    from mmerg.experiment.talk import TalkPlan
    from mmerg.settings.commands import ServeSettings

    plan = TalkPlan.from_settings(compose_settings("serve", ServeSettings, overrides, settings, config_dir))
    return Agent(plan, *plan.backbone.open())


def respond(
    turns: Turns,
    *overrides: str,
    speaker: str = "",
    frames: Files = (),
    config_dir: str | PathLike[str] | None = None,
    **settings: object,
) -> Reply:
    """Opens a system, returns one reply, and closes the system. See `open` and `Agent.respond`."""
    with open_agent(*overrides, config_dir=config_dir, **settings) as agent:
        return agent.respond(turns, speaker, frames)


def _read_talk(turns: Turns, frames: Files) -> Talk:
    talk = [_read_turn(turn) for turn in turns]
    if not talk:
        raise ConfigError("there is no turn to reply to", where="turns", hint=EXAMPLE)
    talk[-1][2].extend(map(_read_upload, _as_list(frames)))
    return talk


def _read_turn(turn: object) -> tuple[str, str, list[Upload]]:
    match turn:
        case (str(name), str(text), *rest):
            files = [file for files in cast("list[Files]", rest) for file in _as_list(files)]
            return name, text, [_read_upload(file) for file in files]
    raise ConfigError(f"a turn is a speaker and a text, not {turn!r:.80}", where="turns", hint=EXAMPLE)


def _as_list(files: Files) -> Iterable[File]:
    return [files] if isinstance(files, str | bytes | PathLike) else files


def _check_speaker(speaker: str, speakers: Collection[str]) -> None:
    """Raises ConfigError if the name differs from a speaker of the turns only in its case. A new speaker may reply."""
    alike = [name for name in speakers if name.casefold() == speaker.casefold()]
    if alike and speaker not in speakers:
        hint = f"did you mean {alike[0]}? the speakers are {', '.join(speakers)}"
        raise ConfigError(f"no turn has the speaker {speaker!r}", where="speaker", hint=hint)


def _read_upload(file: File) -> Upload:
    from mmerg.engine.uploads import Upload

    try:
        return Upload.detect(file if isinstance(file, bytes) else Path(file).expanduser().read_bytes())
    except (ValueError, OSError) as error:
        hint = "give the path of a picture or clip, or its bytes"
        raise ConfigError(f"a file cannot be read: {error}", where=f"{file!s:.300}", hint=hint) from error
