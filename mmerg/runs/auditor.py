"""`auditor.json`: the checks of each stage, as `mmerg audit RUN --calibrate auditor.json` measured them on one model.

A run with `auditor=auditor.json` uses them, and refuses them for another model, other prompts or other stages.
"""

from collections.abc import Mapping, Set
from pathlib import Path

from pydantic import Field

from mmerg.backends.protocol import Engine
from mmerg.errors import ConfigError
from mmerg.storage.record import Record, read_record, write_record
from mmerg.systems.audit import Check, LabelPrior

AGAIN = "measure it again: mmerg audit RUN --calibrate auditor.json, or --labels for label probabilities"


class Auditor(Record):
    """The measured checks of a model."""

    run: str = ""  # the folder of the measured run
    dialogues: int = 0  # drawn with `seed`; the checks were fitted on half of them
    seed: int = 0
    model: str
    digest: str  # of the model
    think: bool = False
    fingerprint: str = ""  # of the corpus that the checks were fitted on
    prompts: dict[str, str]  # digests of templates, schemas, checks and inputs, named as in a run's identity
    checks: dict[str, Check] = Field(default_factory=dict)  # by stage
    labels: LabelPrior | None = None

    @property
    def checked(self) -> list[str]:
        """The stages that have a check."""
        return [name for name, check in self.checks.items() if check.form]

    def describe(self) -> str:
        """Describes the check of each stage, and says if there is no audit loop."""
        lines = [
            f"{name}: {check.form} from {check.threshold:.3g}" if check.form else f"{name}: no check, as {check.why}"
            for name, check in self.checks.items()
        ]
        if self.checks and not self.checked:
            lines.append("no stage has a check, so runs have no audit loop")
        return "\n".join(lines)

    def check_prompts(self, prompts: Mapping[str, str], where: str) -> None:
        """Raises ConfigError if the prompts differ from the measured ones."""
        changed = sorted(name for name, digest in prompts.items() if self.prompts.get(name) != digest)
        if changed:
            what = f"the auditor is of another system, or was measured with other prompts: {', '.join(changed)}"
            raise ConfigError(what, where=where, hint=AGAIN)

    def check_corpus(self, fingerprint: str, where: str) -> None:
        """Raises ConfigError if the auditor was fitted on gold labels of this corpus."""
        fitted_on = {
            "the label frequencies": self.labels.fingerprint if self.labels else "",
            "checks fitted on the labels": self.fingerprint,
        }
        if leaks := [name for name, corpus in fitted_on.items() if corpus and corpus == fingerprint]:
            what = f"the auditor has {' and '.join(leaks)} of the evaluated split"
            raise ConfigError(what, where=where, hint="calibrate on another split, for example that of the exemplars")

    def check_engine(self, engine: Engine, where: str) -> None:
        """Raises ConfigError if the auditor was measured on another model, or with another value of `think`."""
        if engine.digest != self.digest:
            what = f"the auditor was measured on another model: {self.model} {self.digest[:12]}, not {engine.model}"
            raise ConfigError(f"{what} {engine.digest[:12]}", where=where, hint=AGAIN)
        if engine.think != self.think:
            what = f"the auditor was measured with backbone.think={str(self.think).lower()}"
            raise ConfigError(what, where=where, hint=AGAIN)


def update_auditor(path: Path, engine: Engine, prompts: Mapping[str, str], **measured: object) -> Auditor:
    """Writes measurements to the file, and keeps other ones of the same model. Raises ConfigError and RunError as
    `read_kept` does, and RunError if the file cannot be written."""
    fields = {"model": engine.model, "digest": engine.digest, "think": engine.think, "prompts": dict(prompts)}
    if kept := read_kept(path, engine, prompts, measured.keys()):
        fields = {**dict(kept), "prompts": {**kept.prompts, **prompts}}
    auditor = Auditor.model_validate(fields | measured)
    write_record(path, auditor)
    return auditor


def read_kept(path: Path, engine: Engine, prompts: Mapping[str, str], replaced: Set[str]) -> Auditor | None:
    """Reads the auditor in a file that gets new checks or labels (`replaced`); None if nothing in it is kept. Raises
    ConfigError if what is kept is of another system, and RunError if the file is no auditor."""
    if not path.exists():
        return None
    before = read_record(path, Auditor, "delete it, or write to another file")
    kept = [name for name in ("checks", "labels") if name not in replaced and getattr(before, name)]
    if not kept or (before.digest, before.think) != (engine.digest, engine.think):
        return None
    if changed := sorted(name for name in prompts if before.prompts.get(name, prompts[name]) != prompts[name]):
        what = f"the file has {kept[0]} of another system, or with other prompts: {', '.join(changed)}"
        raise ConfigError(what, where=str(path), hint="write to another file")
    return before


def read_auditor(path: Path) -> Auditor:
    """Reads an auditor. Raises ConfigError if the file is missing, and RunError if it is no auditor."""
    try:
        return read_record(path, Auditor, AGAIN)
    except FileNotFoundError as error:
        hint = "correct the path, or write the file: mmerg audit RUN --calibrate FILE, or --labels FILE"
        raise ConfigError("there is no such file", where=f"auditor={path}", hint=hint) from error
