"""Replies from Python: `mmerg.respond` for one, `mmerg.open` for a model that stays open between them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from mmerg.errors import ConfigError, RunError

if TYPE_CHECKING:
    from mmerg.backends.pool import Pool
    from mmerg.backends.protocol import Engine
    from mmerg.engine.uploads import Upload
    from mmerg.experiment.talk import TalkPlan
    from mmerg.runs.events import Event
    from mmerg.runs.result import Result
    from mmerg.runs.story import Pass, Story
    from mmerg.systems.audit import Audit

File: TypeAlias = "str | PathLike[str] | bytes"
Said: TypeAlias = "tuple[str, str] | tuple[str, str, Sequence[File]]"  # speaker, text, pictures and clips
Turns: TypeAlias = "Iterable[Said]"
Talk: TypeAlias = "list[tuple[str, str, list[Upload]]]"  # the same with its files read
TURNS = '[("Ana", "I got the job!")]'  # how turns are given


@dataclass(frozen=True)
class Reply:
    """What a system says next. story: what its agents were asked and gave. result: the line that a run would have."""

    result: Result
    story: Story

    @property
    def text(self) -> str:
        return self.result.response or ""

    @property
    def emotion(self) -> str | None:
        """The emotion that was forecast; None for a system that forecasts none."""
        return self.result.emotion

    @property
    def plan(self) -> object:
        """The plan of the reply, by field; None for a system without one."""
        return self.result.plan

    @property
    def passes(self) -> list[Pass]:
        """From 0: what each stage gave, what the audit found, and why a pass began again."""
        return list(self.story.passes.values())

    @property
    def audits(self) -> list[Audit | None]:
        """The audit of each pass; None where there is none, or it cannot be read."""
        return [this.audited.audit if this.audited else None for this in self.passes]

    def __repr__(self) -> str:
        return f"Reply({self.text!r}, emotion={self.emotion!r}, passes={len(self.passes)})"


class Agent:
    """A system with its model. Close it, or use it in a `with` block. Several threads may ask at once; how many calls
    the model takes at once says backbone.concurrency."""

    def __init__(self, plan: TalkPlan, pool: Pool, engine: Engine) -> None:
        self._plan, self._pool, self._experiment = plan, pool, plan.experiment(engine)
        self.engine = engine

    @property
    def labels(self) -> tuple[str, ...]:
        return self._plan.corpus.labels

    def respond(
        self,
        turns: Turns,
        speaker: str = "",
        frames: Sequence[File] = (),
        *,
        seed: int | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> Reply:
        """The reply of `speaker` after the last turn.

        turns: speaker, text and, if there are any, pictures or clips of the turn, as paths or bytes. frames: those of
        the last turn. on_event: called with each event as it happens, in this thread. Raises ConfigError for turns that
        are none, and RunError where there is no reply.
        """
        return self._reply(_read_talk(turns, frames), speaker, seed, on_event)

    def _reply(
        self, talk: Talk, speaker: str, seed: int | None = None, on_event: Callable[[Event], None] | None = None
    ) -> Reply:
        from mmerg.experiment.talk import turns_and_uploads, with_uploads
        from mmerg.runs.story import Story

        _check_speaker(speaker, list(dict.fromkeys(name for name, *_ in talk)))
        spoken, uploads = turns_and_uploads(talk)
        sample = self._plan.sample("talk", spoken, speaker)
        experiment = with_uploads(self._experiment, uploads, seed)
        story = Story()

        def emit(event: Event) -> None:
            story.add(event)
            if event is story.frames and uploads.problems:
                place, problem = next(iter(uploads.problems.items()))
                raise ConfigError(f"a file cannot be shown to the model: {problem}", where=place)
            if on_event:
                on_event(event)

        with self._pool.lease() as backend:
            result = experiment.sample(sample, backend, emit, lambda *_: None)
        if story.failed:
            raise RunError(story.failed.what, where=story.failed.where, hint=story.failed.hint)
        return Reply(result, story)

    async def arespond(
        self, turns: Turns, speaker: str = "", frames: Sequence[File] = (), *, seed: int | None = None
    ) -> Reply:
        """The same for asyncio: a thread asks the model, and the event loop goes on."""
        return await asyncio.to_thread(self.respond, turns, speaker, frames, seed=seed)

    def close(self) -> None:
        """Ends calls under way, and a model in this process."""
        self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_agent(*overrides: str, config_dir: str | PathLike[str] | None = None, **settings: object) -> Agent:
    """A system with its model, which stays open until it is closed. Settings are those of `mmerg serve`: without a
    dataset the labels are Ekman's six and neutral, and there are no exemplars. Raises MmergError where it cannot be
    opened."""
    from mmerg.api.overrides import compose_settings
    from mmerg.experiment.talk import TalkPlan
    from mmerg.settings.commands import ServeSettings

    plan = TalkPlan.of(compose_settings("serve", ServeSettings, overrides, settings, config_dir))
    return Agent(plan, *plan.backbone.open())


def respond(
    turns: Turns,
    *overrides: str,
    speaker: str = "",
    frames: Sequence[File] = (),
    config_dir: str | PathLike[str] | None = None,
    **settings: object,
) -> Reply:
    """One reply: opens the model, asks it, and closes it. See `open` and `Agent.respond`."""
    talk = _read_talk(turns, frames)  # its errors come before those of a model
    with open_agent(*overrides, config_dir=config_dir, **settings) as agent:
        return agent._reply(talk, speaker)


def _read_talk(turns: object, frames: object) -> Talk:
    talk = [_turn(turn) for turn in _many(turns)]
    if not talk:
        raise ConfigError("there is no turn to reply to", where="turns", hint=TURNS)
    talk[-1][2].extend(map(_upload, _files(frames)))
    return talk


def _check_speaker(speaker: str, known: Sequence[str]) -> None:
    """Raises ConfigError for a name that is nearly one of the turns'. Somebody new may reply, as Guest 3 to Guest 2."""
    alike = [name for name in known if name.casefold() == speaker.casefold()]
    if len(known) > 1:
        alike += [name for name in get_close_matches(speaker, known, cutoff=0.75) if name[:-1] != speaker[:-1]]
    if speaker not in known and alike:
        hint = f"did you mean {alike[0]}? the speakers are {', '.join(known)}"
        raise ConfigError(f"no turn has the speaker {speaker!r}", where="speaker", hint=hint)


def _many(turns: object) -> list[Any]:
    if isinstance(turns, Iterable) and not isinstance(turns, str | bytes):
        return list(turns)
    raise ConfigError(f"turns must be a list of turns, not {turns!r:.80}", where="turns", hint=TURNS)


def _turn(turn: Said) -> tuple[str, str, list[Upload]]:
    match turn:
        case (str(name), str(text), *shown) if name.strip() and len(shown) < 2:
            return name, text, [_upload(file) for files in shown for file in _files(files)]
    what = f"a turn must be a speaker and a text, not {turn!r:.80}"
    raise ConfigError(what, where="turns", hint=TURNS)


def _files(given: object) -> list[Any]:
    if isinstance(given, str | bytes | PathLike):
        return [given]
    if isinstance(given, Iterable):
        return list(given)
    raise ConfigError(f"not a file: {given!r:.80}", where="frames", hint='frames=["ana.jpg"]')


def _upload(file: File) -> Upload:
    from mmerg.engine.uploads import Upload

    try:
        return Upload.of(file if isinstance(file, bytes) else Path(file).expanduser().read_bytes())
    except (TypeError, ValueError, OSError) as error:
        reason = getattr(error, "strerror", None) or error
        hint = "give the path of a picture or clip, or its bytes"
        raise ConfigError(f"a file cannot be read: {reason}", where=str(file), hint=hint) from error
