"""The intensity lexicon: both versions of NRC-VAD, the formula, and files that are neither."""

from pathlib import Path

import pytest

from mmerg.errors import ConfigError
from mmerg.sem.lexicon import compute_intensity, read_lexicon

V1 = "Word\tValence\tArousal\tDominance\ngrief\t0.1\t0.8\t0.3\nchair\t0.5\t0.1\t0.4\n"
STRAY = "".join(f"{'w' * (number + 1)}\t0.5\t{-0.1 if number == 7 else 0.5}\t0.5\n" for number in range(40))
V2 = "term\tvalence\tarousal\tdominance\ngrief\t-0.8\t0.6\t-0.4\nchair\t0\t-0.8\t-0.2\n"


def lexicon(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "vad.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_intensity_is_the_distance_from_neutral_and_calm() -> None:
    assert compute_intensity(0.5, 0) == pytest.approx(-0.06467 / 0.607468)
    assert compute_intensity(0.1, 0.6) == pytest.approx((0.5 - 0.06467) / 0.607468)  # 0.4, 0.3: a right triangle


def test_published_values_are_scaled_from_0_to_1() -> None:
    """abduction as NRC-VAD (Mohammad, 2018) has it; 0 and 1 are the least and the greatest of its words."""
    assert compute_intensity(0.062, 0.99) == pytest.approx(0.9816, abs=1e-4)
    assert compute_intensity(0.5, 2 * 0.06467) == pytest.approx(0)
    assert compute_intensity(0.5, 2 * (0.06467 + 0.607468)) == pytest.approx(1)


def test_both_versions_give_the_same_intensities(tmp_path: Path) -> None:
    first = read_lexicon(lexicon(tmp_path, V1))
    second = read_lexicon(lexicon(tmp_path, V2))
    assert first.intensity == pytest.approx(second.intensity)
    assert first.intensity["grief"] == pytest.approx(compute_intensity(0.1, 0.8))
    assert first.digest != second.digest


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        (V1 + "joy\tnan\t0.5\t0.5\n", "no valence and arousal between -1 and 1", "line 4"),
        ("joy\t8.4\t5.5\t6.1\n", "no valence and arousal between -1 and 1", "line 1"),
        ("Word\tValence\tArousal\tDominance\n", "has no words", ""),
        (STRAY, "1 of 80 values are below 0: it is neither version", "vad.txt"),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path: Path, text: str, message: str, line: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        read_lexicon(lexicon(tmp_path, text))
    assert caught.value.where.endswith(line)
    assert "NRC-VAD" in caught.value.hint
