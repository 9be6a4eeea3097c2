"""`auditor.json`: how each stage is checked, as `mmerg audit RUN --calibrate auditor.json` measured it on one model.

    auditor = read_auditor(Path("auditor.json"))
    auditor.checks["caef"].form, auditor.checks["caef"].threshold

A run with `auditor=auditor.json` uses it, and refuses it for another model, other prompts or other stages.
"""

from collections.abc import Mapping
from pathlib import Path

from pydantic import Field

from mmerg.errors import ConfigError
from mmerg.storage.files import why
from mmerg.storage.record import Record, read_record, write_record
from mmerg.systems.audit import Check
from mmerg.systems.labels import LabelPrior

AGAIN = "measure it anew: mmerg audit RUN --calibrate auditor.json"


class Auditor(Record):
    """run: the folder's name. dialogues: how many were drawn, by `seed`; half of them fitted. model, digest: of the
    weights. fingerprint: of the corpus. prompts: the digests of templates, schemas, checks and inputs of stages, by the
    names of a run's identity. labels: calibrates emotions that are read from label probabilities."""

    system: str
    run: str
    dialogues: int
    seed: int
    model: str
    digest: str
    fingerprint: str = ""
    prompts: dict[str, str]
    checks: dict[str, Check] = Field(default_factory=dict)
    labels: LabelPrior | None = None

    @property
    def checked(self) -> list[str]:
        """The stages that have a check."""
        return [name for name, check in self.checks.items() if check.form]

    def describe(self) -> str:
        """How each stage is checked, and that there is no loop where none is."""
        lines = [
            f"{name}: {check.form} from {check.threshold:.3g}" if check.form else f"{name}: no check, as {check.why}"
            for name, check in self.checks.items()
        ]
        return "\n".join([*lines, *(["no stage has a check: a run has no loop"] if not self.checked else [])])

    def check_prompts(self, prompts: Mapping[str, str], where: str) -> None:
        """Raises ConfigError where a run's prompts are not those that were measured."""
        changed = sorted(name for name, digest in prompts.items() if self.prompts.get(name) != digest)
        if changed:
            what = f"the auditor was measured with other prompts: {', '.join(changed)}"
            raise ConfigError(what, where=where, hint=AGAIN)

    def check_corpus(self, fingerprint: str, where: str) -> None:
        """Raises ConfigError where something was fitted on the gold labels of what is evaluated."""
        of_labels = self.labels.fingerprint if self.labels else ""
        fitted = {"the label frequencies": of_labels, "checks that were fitted on the labels": self.fingerprint}
        if own := [name for name, other in fitted.items() if other and other == fingerprint]:
            what = f"it has {' and '.join(own)} of what is evaluated"
            raise ConfigError(what, where=where, hint="calibrate on another split, as that of the exemplars")

    def check_model(self, model: str, digest: str, where: str) -> None:
        """Raises ConfigError where a run's model is not the one that was measured."""
        if digest != self.digest:
            what = f"the auditor was measured on another model: {self.model} {self.digest[:12]}, not {model}"
            raise ConfigError(f"{what} {digest[:12]}", where=where, hint=AGAIN)


def write_auditor(path: Path, auditor: Auditor) -> None:
    """Keeps the label calibration of the file that is there, if it is of the same model. Raises RunError where it
    cannot be written."""
    before = read_auditor(path) if path.exists() else None
    if before and before.labels and before.digest == auditor.digest:
        kept = {"labels": before.labels, "prompts": before.prompts | auditor.prompts}
        auditor = auditor.model_copy(update=kept)
    write_record(path, auditor)


def read_auditor(path: Path) -> Auditor:
    """Raises ConfigError where the file is none."""
    try:
        return read_record(path, Auditor)
    except FileNotFoundError as error:
        raise ConfigError("there is no such file", where=f"auditor={path}", hint=AGAIN) from error
    except (OSError, ValueError) as error:
        what = f"the auditor cannot be read, or is of another version: {why(error)}"
        raise ConfigError(what, where=str(path), hint=AGAIN) from error
