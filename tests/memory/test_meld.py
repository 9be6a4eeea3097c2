"""MELD's dev split as the memory of its test split: its entries, and what each guard excludes."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mmerg.corpora.dialogue import Corpus
from mmerg.corpora.meld import Meld
from mmerg.corpora.protocols import select
from mmerg.sources.exemplars import Exemplars
from tests.configs import build_protocol
from tests.memory.parts import Letters, ignore_progress, wanted

ROOT = Path(__file__).parents[2]
MELD = ROOT.parent / "shared" / "data" / "meld"
GOLDEN = Path(__file__).parent / "golden" / "meld.json"


def count_hits(exemplars: Exemplars, corpus: Corpus, top_k: int) -> dict[str, Any]:
    """Over the last turns of the test split: samples with an exclusion, exclusions by guard, exemplars given."""
    guards: Counter[str] = Counter()
    samples = with_exclusions = hits = 0
    for sample in select(corpus, build_protocol()).samples:
        retrieved = exemplars.memory.nearest(exemplars.query(sample), wanted(top_k=top_k))
        guards.update(hit.guard for hit in retrieved.excluded)
        samples, with_exclusions, hits = (
            samples + 1,
            with_exclusions + bool(retrieved.excluded),
            hits + len(retrieved.hits),
        )
        assert not any(hit.entry.id.startswith("test_") for hit in retrieved.hits)
    return {
        "samples": samples,
        "with_exclusions": with_exclusions,
        "guards": dict(sorted(guards.items())),
        "exemplars": hits,
    }


@pytest.mark.skipif(not MELD.is_dir(), reason="the real MELD csv files are not beside this checkout")
def test_the_entries_and_exclusions_of_meld(tmp_path: Path) -> None:
    test, dev = (Meld(MELD, split, clips=False).load() for split in ("test", "dev"))
    exemplars = Exemplars(wanted(), Letters(), dev, test, tmp_path)
    exemplars.open(ignore_progress)
    measured = {name: exemplars.section()[name] for name in ("entries", "skipped")}
    measured["top_5"] = count_hits(exemplars, test, top_k=5)
    if os.environ.get("MMERG_WRITE_GOLDEN"):
        GOLDEN.write_text(json.dumps(measured, indent=2) + "\n", encoding="utf-8")
    assert measured == json.loads(GOLDEN.read_text(encoding="utf-8"))
