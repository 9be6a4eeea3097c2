"""Options of the user's own folder, and where Ollama's server is."""

from pathlib import Path

import pytest

from mmerg.errors import ConfigError
from mmerg.settings.compose import compose
from mmerg.settings.groups import read_ollama_host


@pytest.mark.parametrize("page", ["name: [", "*x", "!!python/object:os.x []"])
def test_a_config_that_is_not_yaml_is_named_with_its_line(page: str, tmp_path: Path) -> None:
    file = tmp_path / "frames" / "mine.yaml"
    file.parent.mkdir()
    file.write_text(page, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"mine\.yaml") as caught:
        compose("config", ["dataset=demo", "frames=mine"], tmp_path)
    assert f'in "{file}", line ' in caught.value.what


def test_a_config_that_includes_a_missing_option_is_named(tmp_path: Path) -> None:
    file = tmp_path / "frames" / "mine.yaml"
    file.parent.mkdir()
    file.write_text("defaults: [papr]\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="In 'frames/mine': Could not load 'frames/papr'"):
        compose("config", ["dataset=demo", "frames=mine"], tmp_path)


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("", "http://127.0.0.1:11434"),
        ("gpu1:8080", "http://gpu1:8080"),
        ("http://gpu1", "http://gpu1:80"),
        ("https://gpu1/ollama/", "https://gpu1:443/ollama"),
        ("http://me:secret@gpu1:8080", "http://gpu1:8080"),
    ],
)
def test_the_server_is_that_of_ollama_host(given: str, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", given)
    assert read_ollama_host() == address
    config = compose("config", ["dataset=meld", "memory=ollama"])
    assert (config.backend.hosts, config.memory.embedder.hosts) == ([address], [address])
