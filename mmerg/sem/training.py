"""The training of a small empathetic model, for the command in `mmerg/train.py`."""

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from mmerg.console.tables import NONE, Table, format_interval, format_number
from mmerg.console.terminal import console, escape, printable
from mmerg.corpora.dialogue import Corpus
from mmerg.errors import ConfigError
from mmerg.sem.artefact import Causes, Sem, write_sem
from mmerg.sem.fit import build_vectorizer, extract_weights, fit_causes, fit_classifier
from mmerg.sem.lexicon import Lexicon, read_lexicon
from mmerg.sem.metrics import evaluate
from mmerg.sem.split import Split, build_data, build_split, check_splits
from mmerg.settings.commands import TrainSettings
from mmerg.storage.files import make_private_folder, wrap_os_errors


def train(settings: TrainSettings, read: Callable[[str], Corpus]) -> int:
    """Fits, validates and writes the model. Returns 0. read: reads a split. After a MmergError nothing is written."""
    out, file = console(), Path(settings.out)
    if settings.split == settings.validation:
        what = f"split and validation are both {settings.split}"
        raise ConfigError(what, where="configuration", hint="set validation=… to another split (for MELD: dev)")
    if os.path.lexists(file):
        hint = "set out=… to a new file; nothing was changed"
        raise ConfigError("the output file already exists and is not overwritten", where=str(file), hint=hint)
    with wrap_os_errors(file):
        make_private_folder(file.parent)
    lexicon = read_lexicon(Path(settings.lexicon)) if settings.lexicon else None
    names = (settings.split, settings.validation, settings.causes_split or settings.split)
    splits = {name: build_split(read(name), settings.protocol) for name in dict.fromkeys(names)}
    for split in splits.values():
        out.print(escape(str(split)))
    fitted_to, validated_on, over = (splits[name] for name in names)
    check_splits(settings, fitted_to, validated_on)
    words = build_vectorizer(min_df=2)
    model = fit_classifier(words.fit_transform(fitted_to.histories), fitted_to.golds, settings.C, settings.max_iter)
    out.print(f"{len(words.idf_)} words, {model.n_iter_[0]} iterations")
    causes = fit_causes(words, model, over.histories, build_data(over.corpus, over.histories), settings.k1, lexicon)
    weights, bias = extract_weights(model)
    sem = Sem(
        labels=model.classes_.tolist(),
        trained_on=fitted_to.samples,
        validated_on=validated_on.samples,
        causes=causes,
        conversations=(*fitted_to.ngrams, *validated_on.ngrams),
        words=words.get_feature_names_out().tolist(),
        idf=words.idf_.tolist(),
        weights=weights.tolist(),
        bias=bias.tolist(),
    )
    sem = _validate(sem, validated_on)
    write_sem(file, sem)
    rows = []
    for score in sem.scores.values():
        interval = format_interval(*score.interval) if score.interval else NONE
        rows.append((score.name, format_number(score.value), interval, str(score.n)))
    title = f"{validated_on.corpus.name} {validated_on.corpus.split}"
    out.print(Table(title, ("metric", "percent", "95 % interval", "n"), rows))
    out.print(escape(_describe_causes(causes, lexicon, sem.transductive)))
    print(f"sem: {printable(str(file))}")  # noqa: T201 - the last line is for programs to read: no wrapping
    return 0


def _validate(sem: Sem, split: Split) -> Sem:
    chances = [sem.predict(history) for history in split.histories]
    predictions = [next(iter(labels)) for labels in chances]
    counts = Counter(zip(split.golds, predictions, strict=True))
    confusion = tuple(tuple(counts[gold, predicted] for predicted in sem.labels) for gold in sem.labels)
    return sem.model_copy(update={"scores": evaluate(chances, split.golds, split.dialogues), "confusion": confusion})


def _describe_causes(causes: Causes, lexicon: Lexicon | None, transductive: bool) -> str:
    over = f" of {causes.over.corpus} {causes.over.split} (transductive)" if transductive else ""
    if not lexicon or causes.high is None:
        return f"{len(causes.words)} words in S{over}, cause words are off without a lexicon"
    known = sum(word in lexicon.intensity for word in causes.words)
    return f"{len(causes.words)} words in S{over}, {known} of them in the lexicon, {len(causes.high)} high"
