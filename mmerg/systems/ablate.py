"""Ablations: they change the settings of a system before it is built.

MERG's (arXiv 2604.18988): without one of MPA, CAEF, PSP, GRA, and the independent organisation, in which no stage sees
another's output. An auditor keeps seeing what it audits.
"""

from mmerg.errors import ConfigError, did_you_mean
from mmerg.settings.model import SystemSettings


def ablated(node: SystemSettings, where: str) -> SystemSettings:
    """The settings without the agents in `without`. No other agent sees the outputs of these.

    Raises ConfigError for a name that no agent has, and where no stage, no input or no response would be left.
    """
    without, auditor, place = node.without, node.auditor, f"{where}, system.without"
    agents = [*node.stages, *([auditor.name] if auditor else [])]
    if unknown := [name for name in without if name not in agents]:
        what = f"{', '.join(unknown)} is no agent of this system"
        hint = f"{did_you_mean(unknown[0], agents)} its agents: {', '.join(agents)}"
        raise ConfigError(what, where=place, hint=hint.strip())
    gone = {stage.gives: name for name, stage in node.stages.items() if name in without}
    unseen = {stage.gives for stage in node.stages.values()} if node.organization == "independent" else gone.keys()
    stages = {}
    for name, stage in node.stages.items():
        sees = [symbol for symbol in stage.sees if symbol not in unseen]
        if name not in without and not sees:
            what = f"stage {name} would have no input: it sees only {', '.join(stage.sees)}"
            raise ConfigError(what, where=f"{place} and system.organization")
        if name not in without:
            stages[name] = stage.model_copy(update={"sees": sees})
    if writer := gone.get(node.result.get("response", "").split(".")[0]):
        raise ConfigError(f"without {writer} no stage writes the response", where=place)
    if auditor:
        sees = [symbol for symbol in auditor.sees if symbol not in gone]
        auditor = None if auditor.name in without else auditor.model_copy(update={"sees": sees})
    result = {key: path for key, path in node.result.items() if path.split(".")[0] not in gone}
    return node.model_copy(update={"stages": stages, "auditor": auditor, "result": result})
