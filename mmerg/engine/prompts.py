"""Renders a stage's prompt: what agents have in common first, byte-identical, the agent's own part last.

Every stage gets one system message (`system.j2`, the same for all) and one user message: images, then `shared.j2`
(frames, dialogue, outputs so far in stage order, each only if the agent sees it), then `<stage>.j2`. A server's prefix
cache works by position, so this order is what makes a second agent cheap. Templates get the inputs that the stage sees
under their symbols and nothing else; a name that is not there is an error, never an empty string.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from jinja2 import (
    DictLoader,
    Environment,
    FileSystemLoader,
    StrictUndefined,
    Template,
    TemplateError,
    TemplateNotFound,
)

from mmerg.backends.protocol import Image, Message
from mmerg.engine.state import Again, State
from mmerg.errors import ConfigError
from mmerg.runs.events import Form
from mmerg.systems.system import Stage, System


@dataclass(frozen=True)
class TurnView:
    """A history turn as prompts may show it: number from 1, speaker, text. No label, no clip."""

    number: int
    speaker: str
    text: str


@dataclass(frozen=True)
class FrameView:
    """A keyframe as prompts may show it: number from 1, its turn and who speaks it, seconds in its video, and for a
    model without eyes the measured description."""

    number: int
    turn: int
    speaker: str
    time: float
    description: str


@dataclass(frozen=True)
class FramesView:
    """V: the frames, and whether they come as images, one montage, or descriptions."""

    form: str
    frames: tuple[FrameView, ...]


class Prompts:
    """The templates of one system, as its files were when this was made: a run keeps the prompts that it began with."""

    def __init__(self, system: System) -> None:
        """Raises ConfigError where a stage has no template, and where a file or a check cannot be read."""
        self.system = system
        self._sources = _read(system)
        checks = {_check(stage): stage.check for stage in system.stages}
        self._env = Environment(
            loader=DictLoader(self._sources | checks),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            autoescape=False,
        )
        for name in ("system.j2", "shared.j2", "repair.j2", *(f"{stage.name}.j2" for stage in system.agents), *checks):
            self._template(name)

    def messages(
        self, stage: Stage, state: State, supplied: Mapping[str, Any], outline: str, again: Again | None
    ) -> tuple[Message, ...]:
        """The messages that open a call of `stage`. `supplied` holds inputs from sources other than stages (M)."""
        seen = visible(self.system, stage, state) | {k: v for k, v in supplied.items() if k in stage.sees}
        scope = {"responder": _line(state.scene.responder), **seen}
        shared = self._render("shared.j2", scope)
        auditor = self.system.auditor
        audits = auditor is not None and stage.name == auditor.name
        checks = [(s.name, self._render(_check(s), scope)) for s in self.system.stages] if audits else []
        own = self._render(f"{stage.name}.j2", {**scope, "outline": outline, "again": again, "checks": checks})
        images: tuple[Image, ...] = state.images if "V" in seen else ()
        return (Message("system", self._render("system.j2", {})), Message("user", f"{shared}\n\n{own}", images))

    def complaint(self, what: str, outline: str) -> Message:
        """What the model is told of a reply that cannot be used."""
        return Message("user", self._render("repair.j2", {"complaint": what, "outline": outline}))

    def digest(self) -> str:
        """SHA-256 (hex) over every template that this system can render, and over the schemas of its outputs."""
        parts = [json.dumps(stage.output.model_json_schema()) for stage in self.system.agents if stage.output]
        parts += [f"{name}\0{source}\0" for name, source in self._sources.items()]
        return sha256("".join(parts).encode()).hexdigest()

    def _template(self, name: str) -> Template:
        try:
            return self._env.get_template(name)
        except TemplateNotFound as error:
            folders = ", ".join(map(str, self.system.prompts))
            hint = "every stage needs a template <stage>.j2 beside system.j2 and shared.j2"
            raise ConfigError(f"the system {self.system.name} has no {error}", where=folders, hint=hint) from error
        except TemplateError as error:
            raise ConfigError(f"the prompt {name} is no Jinja template: {error}", where=name) from error

    def _render(self, name: str, scope: Mapping[str, Any]) -> str:
        try:
            return self._template(name).render(scope).strip()
        except TemplateError as error:
            raise ConfigError(
                f"the prompt {name} cannot be rendered: {error}",
                where=", ".join(map(str, self.system.prompts)),
                hint="a template may use only the inputs that its stage sees (system.stages.<name>.sees)",
            ) from error


def _check(stage: Stage) -> str:
    """The name of the template of what the auditor asks of a stage: a text of the system's YAML, and no file."""
    return f"stages.{stage.name}.check"


def _read(system: System) -> dict[str, str]:
    """The source of every template of a system by name, in the names' order; of one name the first folder's counts."""
    files = FileSystemLoader(system.prompts)
    reader = Environment(autoescape=False)
    sources: dict[str, str] = {}
    for name in files.list_templates():
        try:
            sources[name], _, _ = files.get_source(reader, name)
        except (OSError, UnicodeDecodeError) as error:  # TemplateNotFound, of a link to nothing, is an OSError
            where = ", ".join(map(str, system.prompts))
            hint = "a template is a text file in UTF-8; move what is none elsewhere"
            raise ConfigError(f"the prompt {name} cannot be read: {error}", where=where, hint=hint) from error
    return sources


def visible(system: System, stage: Stage, state: State) -> dict[str, Any]:
    """The inputs of `state` that `stage` sees, by symbol, as templates get them; what is absent leaves no trace."""
    seen: dict[str, Any] = {}
    if "V" in stage.sees and state.keyframes:
        speakers = [turn.speaker for turn in state.scene.history]
        views = tuple(
            FrameView(number, k.turn, _line(speakers[k.turn - 1]), k.frame.time, k.description)
            for number, k in enumerate(state.keyframes, start=1)
        )
        seen["V"] = FramesView(form(state), views)
    if "D" in stage.sees:
        seen["D"] = tuple(
            TurnView(n, _line(turn.speaker), _line(turn.text)) for n, turn in enumerate(state.scene.history, start=1)
        )
    for maker in system.stages:
        output = state.get(maker.gives)
        if maker.gives in stage.sees and output is not None:
            seen[maker.gives] = output
    return seen


def form(state: State) -> Form:
    """How V travels: images, one montage of all, descriptions, or none."""
    if not state.keyframes:
        return "none"
    if not state.images:
        return "descriptions"
    return "montage" if len(state.images) < len(state.keyframes) else "images"


def _line(text: str) -> str:
    """White space as single blanks: a line feed in a transcript must not read as another turn."""
    return " ".join(text.split())
