"""The systems to serve: each config in `conf/system/` whose inputs come from a conversation or from the settings.

offered, missing = offer(settings, engine, line)
offered["mmerg-merg"].experiment; missing["mmerg-hef"]    # a ConfigError that says what to set
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from mmerg.backends.protocol import Engine
from mmerg.corpora.dialogue import Corpus
from mmerg.engine.sample import Experiment
from mmerg.errors import MmergError
from mmerg.experiment.plan import SystemPlan
from mmerg.experiment.session import new_session
from mmerg.experiment.talk import TalkPlan
from mmerg.runs.identity import ENGINE, serialize_engine
from mmerg.runs.manifest import Corpus as Split
from mmerg.runs.manifest import Manifest, ProtocolSection
from mmerg.settings.commands import ServeSettings
from mmerg.settings.compose import compose
from mmerg.settings.groups import list_options
from mmerg.settings.model import RunSettings
from mmerg.settings.parse import parse
from mmerg.systems.system import System

PREFIX = "mmerg-"
TITLES = {  # readable names of systems and agents
    "merg": "MERG: perception, forecast, plan, reply, audit",
    "merg_small": "MERG for small models",
    "one_pass": "One pass: a single call",
    "direct_audit": "One pass with an audit",
    "self_refine": "Self-Refine",
    "few_shot": "Few-shot",
    "trace": "TRACE",
    "trace_code": "TRACE as in its authors' code",
    "hef": "HEF",
    "multi_agent_esc": "MultiAgentESC",
    "mpa": "Perception",
    "caef": "Emotion forecast",
    "psp": "Plan",
    "sgrg": "Reply",
    "gra": "Audit",
    "asi": "Emotion",
    "cae": "Cause",
    "srp": "Strategy",
    "ers": "Reply",
}


def titled(name: str) -> str:
    """The title of a system or an agent; by default its name."""
    return TITLES.get(name) or name.replace("_", " ").capitalize()


@dataclass(frozen=True)
class ServedSystem:
    """A system as a model of the server. experiment: shared by all turns."""

    settings: ServeSettings
    experiment: Experiment
    corpus: Corpus
    plan: SystemPlan

    @property
    def system(self) -> System:
        return self.experiment.prompts.system

    @property
    def id(self) -> str:
        return f"{PREFIX}{self.system.name}"

    @cached_property
    def manifest(self) -> Manifest:
        plain = {name: value for name, value in self.settings.plain().items() if name in RunSettings.model_fields}
        engine, corpus = self.experiment.engine, self.corpus
        return Manifest(
            identity={**self.plan.digests(plain, corpus), ENGINE: serialize_engine(engine)},
            engine=engine,
            corpus=Split(name=corpus.name, split=corpus.split, labels=corpus.labels),
            protocol=ProtocolSection(description="the replies of a chat", samples=0, dialogues=0),
            settings=plain,
            sessions=(new_session(self.settings.plain()),),
        )


def offer(
    settings: ServeSettings, engine: Engine, overrides: Sequence[str], own: Sequence[Path]
) -> tuple[dict[str, ServedSystem], dict[str, MmergError]]:
    """The systems to serve by the name of their model, that of `settings` first; and the errors of the others.
    overrides: of the command line, for all systems. own: the user's folders of configs. Raises MmergError if the system
    of `settings` cannot be served."""
    first = build_served(settings, engine)
    offered, missing = {first.id: first}, dict[str, MmergError]()
    shared = [override for override in overrides if override.split("=")[0].split(".")[0] not in ("system", "sources")]
    folder = own[0] if own else None
    for name in list_options("system", folder):
        if f"{PREFIX}{name}" in offered:
            continue
        try:
            config = compose("serve", [*shared, f"system={name}"], folder)
            other = build_served(parse(config, ServeSettings, own), engine)
        except MmergError as error:
            missing[f"{PREFIX}{name}"] = error
        else:
            offered.setdefault(other.id, other)
    return offered, missing


def build_served(settings: ServeSettings, engine: Engine) -> ServedSystem:
    """The system of the settings. Raises MmergError if it lacks something."""
    talk = TalkPlan.from_settings(settings)
    return ServedSystem(settings, talk.experiment(engine), talk.corpus, talk.system)
