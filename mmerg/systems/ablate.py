"""Ablations of a system, on its description: what is taken out is gone before anything is built from it.

MERG's ablations (arXiv 2604.18988): without one of MPA, CAEF, PSP, GRA, and the independent organisation, in which no
stage sees another's output. An auditor keeps seeing what it audits. Knows nothing of prompts or the engine.

    ablated(node.model_copy(update={"without": ["caef"]}), "system=merg").result    # no "emotion" any more
"""

from __future__ import annotations

from collections.abc import Sequence

from mmerg.errors import ConfigError
from mmerg.settings.model import StageSettings, SystemSettings


def ablated(node: SystemSettings, where: str) -> SystemSettings:
    """The settings without the agents that `without` names, and with nobody seeing what they would have given.

    Raises ConfigError for a name that no agent has, and where no stage, no input or no response would be left.
    """
    without = node.without
    _refuse_unknown(node, without, where)
    gone = {stage.gives for name, stage in node.stages.items() if name in without}
    made = {stage.gives for stage in node.stages.values()}
    unseen = made if node.organization == "independent" else gone
    stages = {name: _seeing(name, stage, unseen, where) for name, stage in node.stages.items() if name not in without}
    left = {key: path for key, path in node.result.items() if path.split(".")[0] not in gone}
    if "response" in node.result and "response" not in left:
        symbol = node.result["response"].split(".")[0]
        maker = next(name for name, stage in node.stages.items() if stage.gives == symbol)
        raise ConfigError(f"without {maker} nobody writes the response", where=f"{where}, system.without")
    auditor = node.auditor
    if auditor and auditor.name in without:
        auditor = None
    if auditor:
        auditor = auditor.model_copy(update={"sees": [symbol for symbol in auditor.sees if symbol not in gone]})
    return node.model_copy(update={"stages": stages, "auditor": auditor, "result": left})


def _refuse_unknown(node: SystemSettings, without: Sequence[str], where: str) -> None:
    agents = [*node.stages, *([node.auditor.name] if node.auditor else [])]
    if unknown := [name for name in without if name not in agents]:
        raise ConfigError(
            f"{', '.join(unknown)} is no agent of this system",
            where=f"{where}, system.without",
            hint=f"its agents: {', '.join(agents)}",
        )


def _seeing(name: str, stage: StageSettings, unseen: set[str], where: str) -> StageSettings:
    sees = [symbol for symbol in stage.sees if symbol not in unseen]
    if not sees:
        raise ConfigError(
            f"stage {name} would see nothing: it is given {', '.join(stage.sees)} alone",
            where=f"{where}, system.without and system.organization",
        )
    return stage.model_copy(update={"sees": sees})
