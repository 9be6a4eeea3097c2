"""Options of the user's own folder, and where Ollama's server is."""

from pathlib import Path

import pytest

from mmerg.errors import ConfigError
from mmerg.settings.compose import compose
from mmerg.settings.groups import ollama_host


@pytest.mark.parametrize("page", ["name: [", "name: a\nname: b\n", "a\tb: c", "*x", "!!python/object:os.x []"])
def test_a_file_that_is_no_yaml_is_told_with_its_line(page: str, tmp_path: Path) -> None:
    file = tmp_path / "frames" / "mine.yaml"
    file.parent.mkdir()
    file.write_text(page, encoding="utf-8")
    with pytest.raises(ConfigError, match="a config is not valid YAML") as caught:
        compose("config", ["dataset=demo", "frames=mine"], tmp_path)
    assert f'in "{file}", line ' in caught.value.what


@pytest.mark.parametrize(
    ("included", "message"),
    [
        ("[papr]", "frames/mine includes frames/papr, which is not there"),
        ("[{/memory: minlm}]", "frames/mine includes memory/minlm, which is not there"),
    ],
)
def test_an_option_that_includes_one_that_is_not_there_is_named(included: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "frames" / "mine.yaml"
    file.parent.mkdir()
    file.write_text(f"defaults: {included}\n", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        compose("config", ["dataset=demo", "frames=mine"], tmp_path)
    assert caught.value.what == message
    assert caught.value.hint.startswith("did you mean ")


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        (":8080", "http://127.0.0.1:8080"),
        ("gpu1:8080", "http://gpu1:8080"),
        ("http://gpu1", "http://gpu1:80"),
        ("https://gpu1/ollama/", "https://gpu1:443/ollama"),
        ("[::]:8080", "http://[::1]:8080"),
    ],
)
def test_the_server_is_where_ollama_looks_for_it(given: str, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", given)
    assert ollama_host() == address
    config = compose("config", ["dataset=meld", "memory=ollama"])
    assert (config.backend.hosts, config.memory.embedder.hosts) == ([address], [address])
