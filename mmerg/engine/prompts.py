"""Renders a stage's prompt: `system.j2`, `shared.j2` (the frames, dialogue and outputs that it sees), `<stage>.j2`.

Shared parts come first and are byte-identical, so that a server's prefix cache makes further agents cheap. Templates
get only the inputs that the stage sees; an undefined name is an error. Outputs of other stages that shared.j2 does not
name are in its `outputs`, so that no prompt lacks an output.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import takewhile
from typing import cast

from jinja2 import DictLoader, Environment, StrictUndefined, TemplateError, TemplateNotFound
from jinja2.meta import find_referenced_templates, find_undeclared_variables

from mmerg.backends.protocol import Message
from mmerg.corpora.dialogue import Turn
from mmerg.engine.state import Correction, State
from mmerg.errors import ConfigError
from mmerg.runs.events import Form
from mmerg.runs.identity import OUTPUT, PROMPT, Digests, digest_system
from mmerg.settings.model import EmotionOf
from mmerg.systems.audit import Check
from mmerg.systems.instantiate import unwrap_callable
from mmerg.systems.schema import Bounds
from mmerg.systems.system import Stage, System
from mmerg.systems.wire import as_written

OF_FORMS = {"odds": "odds.j2", "comparison": "compare.j2"}  # templates of the auditor by form of check
BASE = ("system.j2", "shared.j2", "repair.j2")  # every system has these; mmerg provides defaults
LABEL = "label"  # the template that asks for the emotion alone
ANY = "*"  # any name, if a template computes one
Inputs = dict[str, object]


@dataclass(frozen=True)
class TurnView:
    """A turn of the history in prompts: number from 1, speaker, text. No label, no clip."""

    number: int
    speaker: str
    text: str


@dataclass(frozen=True)
class FrameView:
    """A keyframe in prompts: number from 1, turn, speaker, time in seconds, and a description for models without
    vision."""

    number: int
    turn: int
    speaker: str
    time: float
    description: str


@dataclass(frozen=True)
class FramesView:
    """V: the frames, and their form: images, montage or descriptions."""

    form: str
    frames: tuple[FrameView, ...]


class Prompts:
    """The templates of one system. They are read once, so later changes of files do not affect a run."""

    def __init__(self, system: System, emotion_of: EmotionOf = "responder") -> None:
        """emotion_of: whose emotion the dataset's labels name. Raises ConfigError if a stage has no template, or a file
        or check cannot be read."""
        self.system, self.emotion_of = system, emotion_of
        self._folders = ", ".join(map(str, system.prompts))
        self._sources = self._read()
        self._checks = {_check(stage): stage.check for stage in system.stages}
        self._env = Environment(
            loader=DictLoader(self._sources | self._checks),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            autoescape=False,
            auto_reload=False,
        )
        forms = {stage.verdict.form for stage in system.checked_stages}
        agents = system.agents if not system.checked_stages or "finding" in forms else system.stages
        own = [f"{stage.name}.j2" for stage in agents if stage.function is None and not _names_alone(stage)]
        own += [f"{LABEL}.j2"] * any(stage.label for stage in agents)
        own += [name for form, name in OF_FORMS.items() if form in forms]
        self._env.filters["as_written"] = as_written
        for name in (*BASE, *own, *self._checks):
            try:
                self._env.get_template(name)
            except TemplateNotFound as error:
                what = f"the system {system.name} has no {error}"
                hint = "every stage that a model answers needs a template <stage>.j2"
                raise ConfigError(what, where=self._folders, hint=hint) from error
            except TemplateError as error:
                raise ConfigError(f"the prompt {name} is not a Jinja template: {error}", where=name) from error
        self._rendered = sorted(self._reach([*BASE, *own, *self._checks]) & set(self._sources))
        self._shared = self._used_by(["shared.j2"])
        for stage in agents:
            if stage.function is None:
                self._check_uses(stage)
        self._system = Message("system", self._render("system.j2", {}))

    def render_messages(
        self, stage: Stage, state: State, supplied: Mapping[str, object], outline: str, correction: Correction | None
    ) -> tuple[Message, ...]:
        """The first messages of a call of `stage`. supplied: inputs from sources."""
        inputs = select_inputs(stage, state) | {k: v for k, v in supplied.items() if k in stage.sees}
        makers = [maker for maker in self.system.stages if maker.gives in inputs and maker.gives not in self._shared]
        known = {
            "responder": _line(state.scene.responder),
            "labels": state.ordered_labels,
            "emotion_of": self.emotion_of,
        }
        scope = {**known, "vocabulary": self.system.vocabulary, **inputs}
        outputs = [(maker.name, inputs[maker.gives]) for maker in makers]
        shared = self._render("shared.j2", {**scope, "outputs": outputs})
        checks = [self._rendered_check(one, scope) for one in self.system.stages if one.name in stage.audits]
        shown = cast("tuple[TurnView, ...]", inputs.get("D", ()))
        cited = shown[-len(_cited(stage, state)) :]
        scope |= {"outline": outline, "correction": correction, "checks": checks}
        scope["cited"] = cited if len(cited) < len(shown) else ()
        own = self._render(f"{stage.name}.j2", scope)
        return (self._system, Message("user", f"{shared}\n\n{own}", state.images if "V" in inputs else ()))

    def _rendered_check(self, audited: Stage, scope: Inputs) -> tuple[str, str]:
        """The name of a stage and its check, which may use only outputs that the stage saw. The name also lists earlier
        stages whose outputs the auditor sees and the stage did not."""
        before = takewhile(lambda one: one.name != audited.name, self.system.stages)
        unseen = {one.gives: one.name for one in before if one.gives in scope and one.gives not in audited.sees}
        known = {name: value for name, value in scope.items() if name not in unseen}
        without = f" (made without seeing {', '.join(unseen.values())})" if unseen else ""
        return f"{audited.name}{without}", self._render(_check(audited), known)

    def render_complaint(self, what: str, outline: str) -> Message:
        """The message that asks for a valid reply."""
        return Message("user", self._render("repair.j2", {"complaint": what, "outline": outline}))

    def digests(self) -> Digests:
        """The system's parts of a run's identity, with all templates that it can render."""
        return digest_system(self.system, {name: self._sources[name] for name in self._rendered})

    def has_template(self, template: str) -> bool:
        return template in self._sources

    def check_digests(self) -> Digests:
        """The digests that measured checks depend on: templates, outputs, inputs, checks and their code."""
        system = self.system
        auditor = f"{OUTPUT}{system.auditor.name}" if system.auditor else ""
        by_code = replace(system, stages=tuple(replace(one, verdict=Check(form="code")) for one in system.stages))
        known = digest_system(by_code, self._sources)
        for stage in system.stages:
            seen, code = ", ".join(stage.sees), ", ".join(one.__qualname__ for one in map(unwrap_callable, stage.code))
            name = f"stage {stage.name}"
            known[name] = f"{known.get(name, '')}; sees {seen}; {stage.check}; code {code}"
        return {name: digest for name, digest in known.items() if name != auditor}

    def label_digests(self) -> Digests:
        """The digests that calibrated labels depend on: templates and inputs of stages whose labels are read."""
        stages = {f"stage {stage.name}" for stage in self.system.stages if stage.label}
        return {name: one for name, one in self.check_digests().items() if name.startswith(PROMPT) or name in stages}

    def _read(self) -> dict[str, str]:
        """The text of every template by name. Earlier folders take precedence."""
        sources: dict[str, str] = {}
        for folder in reversed(self.system.prompts):
            for path in folder.rglob("*.j2"):
                name = path.relative_to(folder).as_posix()
                try:
                    sources |= {} if path.is_dir() else {name: path.read_text(encoding="utf-8-sig")}
                except (OSError, UnicodeDecodeError) as error:
                    hint = "templates are text files in UTF-8; rename other files"
                    what = f"the prompt {name} cannot be read: {error}"
                    raise ConfigError(what, where=self._folders, hint=hint) from error
        return sources

    def _check_uses(self, stage: Stage) -> None:
        """Raises ConfigError if the stage sees an input that its prompt does not use."""
        checks = [_check(one) for one in self.system.stages if one.name in stage.audits]
        own = f"{LABEL if _names_alone(stage) else stage.name}.j2"
        used = self._shared | self._used_by([own, *checks])
        made = {maker.gives for maker in self.system.stages if "outputs" in self._shared}
        unused = [symbol for symbol in stage.sees if symbol not in used | made]
        if unused and ANY not in used:
            what = f"stage {stage.name} sees {', '.join(unused)}, and its prompt does not use it"
            hint = f"use it in {stage.name}.j2 or shared.j2, or remove it from system.stages.{stage.name}.sees"
            raise ConfigError(what, where=self._folders, hint=hint)

    def _used_by(self, names: Iterable[str]) -> set[str]:
        """The variables of these templates and their includes; ANY if a name is computed."""
        sources = self._sources | self._checks
        return {variable for name in self._reach(names) for variable in _parsed(sources[name])[1]}

    def _reach(self, names: Iterable[str]) -> set[str]:
        """These templates and all that they include."""
        reached: set[str] = set()
        left = list(names)
        while left:
            name = left.pop()
            source = self._sources.get(name, self._checks.get(name))
            if name not in reached and source is not None:
                reached.add(name)
                referenced = _parsed(source)[0]
                left += self._sources if None in referenced else [other for other in referenced if other]
        return reached

    def _render(self, name: str, scope: Mapping[str, object]) -> str:
        try:
            return self._env.get_template(name).render(scope).strip()
        except Exception as error:  # a user's template may raise anything
            why = f"there is no {error}" if isinstance(error, TemplateNotFound) else str(error)
            kind = "" if isinstance(error, TemplateError) else f"{type(error).__name__}: "
            what = f"the prompt {name} cannot be rendered: {kind}{why}"
            hint = "a template may use only the inputs that its stage sees (system.stages.<name>.sees)"
            raise ConfigError(what, where=self._folders, hint=hint) from error


@cache
def _parsed(source: str) -> tuple[frozenset[str | None], frozenset[str]]:
    """The templates that this one includes or extends, and its variables. None and ANY stand for a computed name."""
    environment = Environment()
    environment.filters["as_written"] = as_written
    tree = environment.parse(source)
    referenced = frozenset(find_referenced_templates(tree))
    return referenced, frozenset(find_undeclared_variables(tree) | ({ANY} if None in referenced else set()))


def _names_alone(stage: Stage) -> bool:
    """Whether the stage gives only an emotion, read from label probabilities."""
    return bool(stage.label and stage.output and len(stage.output.model_fields) == 1)


def _check(stage: Stage) -> str:
    """The name of the template of a stage's check, a text in the system's YAML."""
    return f"stages.{stage.name}.check"


def select_inputs(stage: Stage, state: State) -> Inputs:
    """The existing inputs that `stage` sees, by symbol, as templates get them."""
    inputs: Inputs = {}
    turns = [TurnView(n, _line(turn.speaker), _line(turn.text)) for n, turn in enumerate(state.scene.history, start=1)]
    if "V" in stage.sees and state.keyframes:
        views = [
            FrameView(number, k.turn, turns[k.turn - 1].speaker, k.frame.time, k.description)
            for number, k in enumerate(state.keyframes, start=1)
        ]
        inputs["V"] = FramesView(frames_form(state), tuple(views))
    if "D" in stage.sees:
        inputs["D"] = tuple(turns[-state.turns :] if state.turns else turns)
    return inputs | {symbol: output for symbol, output in state.outputs if symbol in stage.sees}


def get_bounds(system: System, stage: Stage, state: State) -> Bounds:
    """The bounds of a reply of `stage`."""
    others = [turn.text for turn in state.scene.history if turn.speaker != state.scene.responder]
    return Bounds(
        inputs=frozenset(select_inputs(stage, state)),
        choices={**system.vocabulary, "emotion": state.ordered_labels},
        counts={
            "turn": range(len(state.scene.history) + 1 - len(_cited(stage, state)), len(state.scene.history) + 1),
            "frame": range(1, len(state.keyframes) + 1),
        },
        quotable=tuple(others or [turn.text for turn in state.scene.history]),
    )


def _cited(stage: Stage, state: State) -> tuple[Turn, ...]:
    """The last turns, which `stage` may cite."""
    shown = min(filter(None, (stage.cite_last, state.turns)), default=len(state.scene.history))
    return state.scene.history[-shown:]


def frames_form(state: State) -> Form:
    """The form of V: images, montage, descriptions or none."""
    if not state.keyframes:
        return "none"
    if not state.images:
        return "descriptions"
    return "montage" if len(state.images) < len(state.keyframes) else "images"


def _line(text: str) -> str:
    """Collapses white space, so that a line feed in a transcript does not look like another turn."""
    return " ".join(text.split())
