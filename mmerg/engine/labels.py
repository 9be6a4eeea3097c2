"""The order in which a model reads the emotion labels.

Small models choose by the place of a word in a list, so one order for all samples is a bias in every figure.
"""

from hashlib import sha256


def shuffled(labels: tuple[str, ...], *seed: str | int) -> tuple[str, ...]:
    """The labels in an order that the seed alone decides, whatever order they come in."""
    start = "\0".join(map(str, seed))
    return tuple(sorted(labels, key=lambda label: sha256(f"{start}\0{label}".encode()).digest()))
