"""The agents of a run as its settings have them, without those that an ablation leaves out."""

from typing import Any

from mmerg.runs.manifest import Started


class Agents:
    """titles: what each stage gives, in words, by the stage's name in order. auditor: its name, "" for a system without
    one. emotion: the symbol that has the forecast label, then the field."""

    def __init__(self, manifest: Started) -> None:
        system, auditor = manifest.setting("system", {}), manifest.setting("system.auditor", {})
        without, stages = set(system.get("without") or ()), system.get("stages") or {}
        self.titles = {name: _title(stage) for name, stage in stages.items() if name not in without}
        self.auditor = "" if auditor.get("name") in without else str(auditor.get("name") or "")
        self.emotion = str(manifest.setting("system.result.emotion", "")).split(".")


def _title(stage: Any) -> str:
    kind = str(stage.get("output") or "").rpartition(".")[2]
    return "Response" if kind == "text" else kind or str(stage.get("gives") or "")
