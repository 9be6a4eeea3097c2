"""What the guards of the memory kept back in a run, and where it could not be searched, added up over the results and
put in words.

tally(results)     # {"samples": 3, "guards": {"same reply": {"samples": 2, "exemplars": 5}, …}}
problems(results)  # {"there is no situation to search the memory by": 1}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from mmerg.console.terminal import plural
from mmerg.runs.manifest import MemorySection
from mmerg.runs.result import Result


def tally(results: Iterable[Result]) -> dict[str, Any]:
    """How many samples met an exclusion, and by guard how many samples and how many exemplars."""
    touched = [result.excluded for result in results if result.excluded]
    samples = Counter(guard for excluded in touched for guard in excluded)
    exemplars: Counter[str] = Counter()
    for excluded in touched:
        exemplars.update(excluded)
    guards = {guard: {"samples": samples[guard], "exemplars": exemplars[guard]} for guard in sorted(samples)}
    return {"samples": len(touched), "guards": guards}


def problems(results: Iterable[Result]) -> dict[str, int]:
    """How many samples the memory could not be searched for, by the reason."""
    return dict(sorted(Counter(result.exemplars_problem for result in results if result.exemplars_problem).items()))


def describe_memory(memory: MemorySection) -> str:
    """The memory of a run in one line."""
    without = "".join(f", {count} {reason} left out" for reason, count in memory.left_out.items())
    corpus = f"{memory.corpus.name} {memory.corpus.split}"
    return f"memory: {corpus}, {memory.entries} entries, top {memory.top_k}{without}"


def describe_kept_back(results: Iterable[Result]) -> str:
    """What guards kept back, in one line; empty where they had nothing to do."""
    found = tally(results)
    parts = [
        f"{guard}: {count['exemplars']} in {plural(count['samples'], 'sample')}"
        for guard, count in found["guards"].items()
    ]
    return f"exemplars kept back in {plural(found['samples'], 'sample')} ({'; '.join(parts)})" if parts else ""


def describe_problems(results: Iterable[Result]) -> str:
    """Where the memory could not be searched, in one line; empty where it always could."""
    found = problems(results)
    parts = [f"{problem}: {count}" for problem, count in found.items()]
    return f"samples without exemplars: {sum(found.values())} ({'; '.join(parts)})" if parts else ""
