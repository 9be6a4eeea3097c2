"""Trains HEF's small empathetic model: `mmerg train dataset=empathetic dataset.root=… out=sem.json`.

Fits scikit-learn's logistic regression of emotions on the training split, over the tf-idf of words, prints its scores
on the validation split, and writes one JSON file for `mmerg run system=hef sem=…`. Needs the extra `hef`. The same data
give the same file.
Exit code 0 trained, 2 configuration or input wrong, 130 interrupted.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from mmerg.console.terminal import STARTS_OVER, start
from mmerg.errors import ConfigError
from mmerg.experiment.program import run_program

if TYPE_CHECKING:
    from mmerg.corpora.dialogue import Corpus
    from mmerg.settings.commands import TrainSettings


def job(settings: TrainSettings) -> int:
    if find_spec("sklearn") is None:
        raise ConfigError("scikit-learn is not installed", where="mmerg train", hint="pip install 'mmerg[hef]'")
    from mmerg.experiment.build import load_corpus  # only once there is something to train: --help stays quick
    from mmerg.sem.training import train

    dataset = settings.dataset
    if "split" not in dataset.reader.plain():
        what = f"dataset={dataset.name} has no splits, and the model is fitted to one and validated on another"
        raise ConfigError(what, where="dataset.reader", hint="dataset=empathetic, dataset=meld, or a reader with split")

    def read(split: str) -> Corpus:
        return load_corpus(dataset, split=split)

    return train(settings, read)


def main() -> int:
    return run_program("train", job, __doc__, interrupted=STARTS_OVER)


if __name__ == "__main__":
    start(main)
