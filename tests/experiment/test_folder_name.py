"""What the name of a run's folder stands for."""

from pathlib import Path

from mmerg.experiment.launch import Task
from tests.composed import settings_of


def test_two_models_of_one_name_are_two_runs(tmp_path: Path) -> None:
    names = []
    for folder, data in (("a", b"one"), ("b", b"another"), ("c", b"one")):
        file = tmp_path / folder / "model.gguf"
        file.parent.mkdir()
        file.write_bytes(data)
        names.append(Task.of(settings_of("dataset=demo", "memory=none", f"backbone.gguf={file}")).path.name)
    assert names[0] == names[2] != names[1]
