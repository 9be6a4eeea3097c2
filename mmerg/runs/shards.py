"""Shards of a run. A shard is a run folder with the samples of some dialogues, which a hash chooses.

runs/meld-merg-qwen3.5-27b-1a2b3c4d/
  shards/00003-of-00064/   like any run folder, and
    order.jsonl            its samples, with their places in the corpus from 0: [17, "test_dia0/3"]
    completions.sqlite     its completion cache

Shard.parse("3/64").contains("test_dia0"), Shard.parse("3/64").folder(run)
"""

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from mmerg.errors import ConfigError, RunError, preview
from mmerg.storage.files import write_atomically

SHARDS, ORDER = "shards", "order.jsonl"


@dataclass(frozen=True, order=True, slots=True)
class Shard:
    """The shard with this `number` (from 1) of a run that is split into `total` shards."""

    number: int
    total: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parses `shard=3/64`."""
        number, _, total = text.partition("/")
        return cls(int(number), int(total))

    def __str__(self) -> str:
        return f"{self.number}/{self.total}"

    def contains(self, dialogue: str) -> bool:
        """Returns True if the shard has the samples of a dialogue. They stay together for the server's prefix cache."""
        digest = hashlib.sha256(dialogue.encode()).digest()
        return int.from_bytes(digest[:8], "big") % self.total + 1 == self.number

    def folder(self, run: Path) -> Path:
        return run / SHARDS / f"{self.number:05}-of-{self.total:05}"


def list_shards(run: Path) -> dict[Shard, Path]:
    folders = sorted((run / SHARDS).glob("*-of-*"))
    matches = ((re.fullmatch(r"(\d{5})-of-(\d{5})", folder.name), folder) for folder in folders)
    return {Shard(int(match[1]), int(match[2])): folder for match, folder in matches if match}


def check_shard_count(run: Path, total: int) -> None:
    """Raises ConfigError if the run was split into another number of shards."""
    if others := {shard.total for shard in list_shards(run)} - {total}:
        what = f"the run was started with {preview(sorted(map(str, others)))} shards, not {total}"
        hint = f"continue with {min(others)} shards, or remove the folder to start again"
        raise ConfigError(what, where=str(run / SHARDS), hint=hint)


def write_order(shard: Path, samples: Iterable[tuple[int, str]]) -> None:
    write_atomically(shard / ORDER, (f"{json.dumps(place_and_id)}\n".encode() for place_and_id in samples))


def read_order(shard: Path) -> dict[int, str]:
    """Reads the shard's samples by their place in the corpus. Raises RunError if the list cannot be read."""
    try:
        with (shard / ORDER).open("rb") as file:
            return {int(place): str(sample) for place, sample in map(json.loads, file)}
    except (OSError, ValueError, TypeError) as error:
        what = f"the list of this shard's samples cannot be read: {error}"
        raise RunError(what, where=str(shard / ORDER), hint="run the shard again to write the list") from error
