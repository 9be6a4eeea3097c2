"""The prompt of a stage, rendered from three templates: `system.j2`, `shared.j2` and `<stage>.j2`.

`shared.j2` shows the frames, the dialogue and the outputs that the stage sees. It comes first and gives the same bytes
for every agent with the same inputs, so that a server's prefix cache makes further agents cheap. Templates get only the
inputs that the stage sees; an undefined name is an error. Outputs that shared.j2 does not name are in its variable
`outputs`, so that no prompt lacks an output.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import takewhile
from typing import cast

from jinja2 import DictLoader, Environment, StrictUndefined, TemplateError
from jinja2.meta import find_referenced_templates, find_undeclared_variables

from mmerg.backends.protocol import Message
from mmerg.corpora.dialogue import Turn
from mmerg.engine.labels import order_words
from mmerg.engine.state import Correction, State
from mmerg.errors import ConfigError, format_exception
from mmerg.runs.events import Form
from mmerg.runs.identity import OUTPUT, PROMPT, Digests, digest_system
from mmerg.settings.model import EmotionOf
from mmerg.systems.audit import Check
from mmerg.systems.instantiate import unwrap_callable
from mmerg.systems.schema import Bounds
from mmerg.systems.system import Stage, System
from mmerg.systems.wire import as_written

TEMPLATES = {"odds": "odds.j2", "comparison": "compare.j2"}  # of the auditor, by form of check
BASE = ("system.j2", "shared.j2", "repair.j2")  # needed by every system; mmerg provides defaults
LABEL = "label"  # the template that asks for the emotion alone
Inputs = dict[str, object]


@dataclass(frozen=True)
class TurnView:
    """A turn of the history as prompts show it: its number from 1, speaker and text, without label and clip."""

    number: int
    speaker: str
    text: str


@dataclass(frozen=True)
class FrameView:
    """A keyframe as prompts show it."""

    number: int  # from 1
    turn: int  # its number, from 1
    speaker: str
    time: float  # in seconds from the start of the clip
    description: str  # for models without vision; empty for others


@dataclass(frozen=True)
class FramesView:
    """The input V: the frames, and their form."""

    form: str  # images, montage or descriptions
    frames: tuple[FrameView, ...]


class Prompts:
    """The templates of one system, read and checked once, so that later changes of files have no effect. emotion_of:
    whose emotion the labels name. Raises ConfigError if a template or check is missing or cannot be read."""

    def __init__(self, system: System, emotion_of: EmotionOf = "responder") -> None:
        self.system, self.emotion_of = system, emotion_of
        self._folders = ", ".join(map(str, system.prompts))
        self._sources = self._read()
        self._checks = {_check_name(stage): stage.check for stage in system.stages}
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
        prompted = [stage for stage in agents if stage.function is None]
        needed = [*BASE, *(f"{stage.name}.j2" for stage in prompted if not _gives_label_alone(stage))]
        if any(stage.label for stage in agents):
            needed.append(f"{LABEL}.j2")
        needed += [name for form, name in TEMPLATES.items() if form in forms]
        needed += self._checks
        self._env.filters["as_written"] = as_written
        for name in needed:
            try:
                self._env.get_template(name)
            except TemplateError as error:
                what = f"the prompt {name} cannot be read: {format_exception(error)}"
                hint = "every stage that a model answers needs a template <stage>.j2"
                raise ConfigError(what, where=self._folders, hint=hint) from error
        self._rendered = sorted(self._with_includes(needed) & set(self._sources))
        self._shared_names = self._variables(["shared.j2"])
        for stage in prompted:
            self._require_use(stage)
        self._system = Message("system", self._render("system.j2", {}))

    def render_messages(
        self, stage: Stage, state: State, supplied: Mapping[str, object], outline: str, correction: Correction | None
    ) -> tuple[Message, ...]:
        """Returns the first messages of a call of `stage`. supplied: inputs from sources, by symbol. outline: describes
        the fields of the completion; "" for plain text. correction: what a rerun sees of the last output."""
        stages = self.system.stages
        inputs = select_inputs(stage, state) | {k: v for k, v in supplied.items() if k in stage.sees}
        scope: Inputs = {
            "responder": _join_lines(state.scene.responder),
            "labels": state.ordered_labels,
            "emotion_of": self.emotion_of,
            "vocabulary": order_words(self.system, state.scene),
            **inputs,
        }
        unnamed = [maker for maker in stages if maker.gives in inputs and maker.gives not in self._shared_names]
        outputs = [(maker.name, inputs[maker.gives]) for maker in unnamed]
        shared = self._render("shared.j2", {**scope, "outputs": outputs})
        checks = [self._render_check(audited, scope) for audited in stages if audited.name in stage.audits]
        turns = cast("tuple[TurnView, ...]", inputs.get("D", ()))
        citable = turns[-len(_citable_turns(stage, state)) :]
        scope |= {"outline": outline, "correction": correction, "checks": checks}
        scope["cited"] = citable if len(citable) < len(turns) else ()
        task = self._render(f"{stage.name}.j2", scope)
        return (self._system, Message("user", f"{shared}\n\n{task}", state.images if "V" in inputs else ()))

    def _render_check(self, audited: Stage, scope: Inputs) -> tuple[str, str]:
        """Returns the name of a stage and its check, which may use only the outputs that the stage saw. The name also
        lists earlier stages whose outputs the auditor sees and the stage did not see."""
        earlier = takewhile(lambda stage: stage.name != audited.name, self.system.stages)
        shown = scope.keys() - set(audited.sees)
        unseen = {stage.gives: stage.name for stage in earlier if stage.gives in shown}
        seen = {name: value for name, value in scope.items() if name not in unseen}
        without = f" (made without seeing {', '.join(unseen.values())})" if unseen else ""
        return f"{audited.name}{without}", self._render(_check_name(audited), seen)

    def render_complaint(self, what: str, outline: str) -> Message:
        """Returns the message that asks for a valid completion. what: the complaint."""
        return Message("user", self._render("repair.j2", {"complaint": what, "outline": outline}))

    def compute_digests(self) -> Digests:
        """Returns the system's parts of a run's identity, with all templates that it can render."""
        return digest_system(self.system, {name: self._sources[name] for name in self._rendered})

    def has_template(self, name: str) -> bool:
        return name in self._sources

    def compute_check_digests(self) -> Digests:
        """Returns the digests on which measured checks depend: templates, outputs, inputs, choices, checks and code."""
        system = self.system
        auditor = f"{OUTPUT}{system.auditor.name}" if system.auditor else ""
        by_code = replace(system, stages=tuple(replace(stage, verdict=Check(form="code")) for stage in system.stages))
        digests = digest_system(by_code, self._sources)
        auditor_sees = system.auditor.sees if system.auditor else ()
        for stage in system.stages:
            seen = f"{', '.join(stage.sees)}; auditor sees {', '.join(auditor_sees)}; of {self.emotion_of}"
            code = ", ".join(unwrap_callable(check).__qualname__ for check in stage.code)
            choices = f"cites {stage.cite_last}; {stage.orders} orders, {system.label_order}; {dict(system.vocabulary)}"
            name = f"stage {stage.name}"
            digests[name] = f"{digests.get(name, '')}; sees {seen}; {choices}; {stage.check}; code {code}"
        return {name: digest for name, digest in digests.items() if name != auditor}

    def compute_label_digests(self) -> Digests:
        """Returns the digests on which calibrated labels depend: all templates, and the inputs of stages whose labels
        are read."""
        stages = {f"stage {stage.name}" for stage in self.system.stages if stage.label}
        digests = self.compute_check_digests()
        return {name: digest for name, digest in digests.items() if name.startswith(PROMPT) or name in stages}

    def _read(self) -> dict[str, str]:
        """Returns the text of every template by name. Earlier folders take precedence."""
        sources: dict[str, str] = {}
        for folder in reversed(self.system.prompts):
            for path in folder.rglob("*.j2"):
                sources[path.relative_to(folder).as_posix()] = path.read_text(encoding="utf-8-sig")
        return sources

    def _require_use(self, stage: Stage) -> None:
        """Raises ConfigError if the stage sees an input that its prompt does not use."""
        checks = [_check_name(audited) for audited in self.system.stages if audited.name in stage.audits]
        task = f"{LABEL if _gives_label_alone(stage) else stage.name}.j2"
        used = self._shared_names | self._variables([task, *checks])
        if "outputs" in self._shared_names:
            used |= {maker.gives for maker in self.system.stages}
        unused = [symbol for symbol in stage.sees if symbol not in used]
        if unused:
            what = f"stage {stage.name} sees {', '.join(unused)}, and its prompt does not use it"
            hint = f"use it in {stage.name}.j2 or shared.j2, or remove it from system.stages.{stage.name}.sees"
            raise ConfigError(what, where=self._folders, hint=hint)

    def _variables(self, names: Iterable[str]) -> set[str]:
        """Returns the variables of templates and their includes."""
        sources = self._sources | self._checks
        return {variable for name in self._with_includes(names) for variable in _analyse(sources[name])[1]}

    def _with_includes(self, names: Iterable[str]) -> set[str]:
        """Returns these templates and all that they include, directly or indirectly."""
        reached: set[str] = set()
        pending = list(names)
        while pending:
            name = pending.pop()
            source = self._sources.get(name, self._checks.get(name))
            if name not in reached and source is not None:
                reached.add(name)
                referenced = _analyse(source)[0]
                pending += self._sources if None in referenced else [other for other in referenced if other]
        return reached

    def _render(self, name: str, scope: Mapping[str, object]) -> str:
        try:
            return self._env.get_template(name).render(scope).strip()
        except Exception as error:  # a user's template may raise anything
            what = f"the prompt {name} cannot be rendered: {format_exception(error)}"
            hint = "a template may use only the inputs that its stage sees (system.stages.<name>.sees)"
            raise ConfigError(what, where=self._folders, hint=hint) from error


@cache
def _analyse(source: str) -> tuple[frozenset[str | None], frozenset[str]]:
    """Returns the templates that this one includes or extends, None for a computed name; and its variables."""
    environment = Environment()
    environment.filters["as_written"] = as_written
    tree = environment.parse(source)
    return frozenset(find_referenced_templates(tree)), frozenset(find_undeclared_variables(tree))


def _gives_label_alone(stage: Stage) -> bool:
    return bool(stage.label and stage.output and len(stage.output.model_fields) == 1)


def _check_name(stage: Stage) -> str:
    """Returns the template name of a stage's check, whose text is in the system's YAML."""
    return f"stages.{stage.name}.check"


def select_inputs(stage: Stage, state: State) -> Inputs:
    """Returns the existing inputs that `stage` sees, by symbol, as templates get them."""
    inputs: Inputs = {}
    turns = [
        TurnView(number, _join_lines(turn.speaker), _join_lines(turn.text))
        for number, turn in enumerate(state.scene.history, start=1)
    ]
    if "V" in stage.sees and state.keyframes:
        views = [
            FrameView(number, k.turn, turns[k.turn - 1].speaker, k.frame.time, k.description)
            for number, k in enumerate(state.keyframes, start=1)
        ]
        inputs["V"] = FramesView(get_frames_form(state), tuple(views))
    if "D" in stage.sees:
        inputs["D"] = tuple(turns[-state.turns :] if state.turns else turns)
    return inputs | {symbol: output for symbol, output in state.outputs if symbol in stage.sees}


def get_bounds(system: System, stage: Stage, state: State) -> Bounds:
    """Returns the bounds of a completion of `stage`: what it may choose, cite and quote in this state."""
    history = state.scene.history
    others = [turn.text for turn in history if turn.speaker != state.scene.responder]
    first_citable = len(history) + 1 - len(_citable_turns(stage, state))
    return Bounds(
        inputs=frozenset(select_inputs(stage, state)),
        choices={**order_words(system, state.scene), "emotion": state.ordered_labels},
        counts={"turn": range(first_citable, len(history) + 1), "frame": range(1, len(state.keyframes) + 1)},
        quotable=tuple(others or [turn.text for turn in history]),
    )


def _citable_turns(stage: Stage, state: State) -> tuple[Turn, ...]:
    """Returns the last turns, which `stage` may cite."""
    count = min(filter(None, (stage.cite_last, state.turns)), default=len(state.scene.history))
    return state.scene.history[-count:]


def get_frames_form(state: State) -> Form:
    """Returns the form of V: images, montage, descriptions or none."""
    if not state.keyframes:
        return "none"
    if not state.images:
        return "descriptions"
    return "montage" if len(state.images) < len(state.keyframes) else "images"


def _join_lines(text: str) -> str:
    """Collapses white space, so that a line feed in a transcript does not look like another turn."""
    return " ".join(text.split())
