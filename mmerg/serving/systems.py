"""The systems to serve: each config in `conf/system/` whose inputs come from a conversation or from the settings.

systems, unavailable = build_served_systems(settings, engine, overrides, folders)
systems["mmerg-merg"].experiment; unavailable["mmerg-hef"]    # a ConfigError that says what to set
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
from mmerg.runs.identity import ENGINE
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


def get_title(name: str) -> str:
    """Returns the title of a system or an agent; by default its name."""
    return TITLES.get(name) or name.replace("_", " ").capitalize()


@dataclass(frozen=True)
class ServedSystem:
    """A system as a model that the server offers."""

    settings: ServeSettings
    experiment: Experiment  # shared by all turns
    corpus: Corpus
    plan: SystemPlan

    @property
    def system(self) -> System:
        return self.experiment.prompts.system

    @property
    def id(self) -> str:
        """The name of the model."""
        return f"{PREFIX}{self.system.name}"

    @cached_property
    def manifest(self) -> Manifest:
        """The manifest of a run folder with saved replies."""
        plain = {name: value for name, value in self.settings.plain().items() if name in RunSettings.model_fields}
        engine, corpus = self.experiment.engine, self.corpus
        return Manifest(
            identity={**self.plan.digests(plain, corpus), ENGINE: engine.key()},
            engine=engine,
            corpus=Split(name=corpus.name, split=corpus.split, labels=corpus.labels),
            protocol=ProtocolSection(description="the replies of a chat", samples=0, dialogues=0),
            settings=plain,
            sessions=(new_session(self.settings.plain()),),
        )


def build_served_systems(
    settings: ServeSettings, engine: Engine, overrides: Sequence[str], folders: Sequence[Path]
) -> tuple[dict[str, ServedSystem], dict[str, MmergError]]:
    """Builds all systems that can be served; that of `settings` comes first. Returns the systems by the names of their
    models, and the errors of those that cannot be served. overrides: those of the command line, which apply to all
    systems. folders: the user's folders of configs. Raises MmergError if the system of `settings` cannot be served."""
    first = build_served_system(settings, engine)
    systems, unavailable = {first.id: first}, dict[str, MmergError]()
    shared = [override for override in overrides if override.split("=")[0].split(".")[0] not in ("system", "sources")]
    folder = folders[0] if folders else None
    for name in list_options("system", folder):
        if f"{PREFIX}{name}" in systems:
            continue
        try:
            config = compose("serve", [*shared, f"system={name}"], folder)
            other = build_served_system(parse(config, ServeSettings, folders), engine)
        except MmergError as error:
            unavailable[f"{PREFIX}{name}"] = error
        else:
            systems.setdefault(other.id, other)
    return systems, unavailable


def build_served_system(settings: ServeSettings, engine: Engine) -> ServedSystem:
    """Builds the system of the settings. Raises MmergError if it lacks an input."""
    talk = TalkPlan.from_settings(settings)
    return ServedSystem(settings, talk.experiment(engine), talk.corpus, talk.system)
