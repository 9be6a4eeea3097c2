"""Draws a study by seed: which samples, in which order, on which side, and where checks and repeats stand.

Likert: every candidate's reply to a sample is an item. Pairwise: every pair of candidates is one. The same raters get
all items of a sample, so that candidates are compared within raters. In an order the items of one conversation stand as
far from each other as can be.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from random import Random

from mmerg.errors import ConfigError
from mmerg.judging.items import Item as Judged
from mmerg.judging.items import lot_of
from mmerg.judging.judgement import replies_digest
from mmerg.rating.form import Form, Practice
from mmerg.rating.study import HUMAN, Candidate, Item, Key, KeyItem, Shown, Study, Turn
from mmerg.scoring.answers import ScoredRun
from mmerg.settings.commands import RateSettings

ENOUGH = 6  # words that a reply needs to be nonsense once they are scrambled


@dataclass
class Draw:
    """The samples of a study, before their media are known. samples: those that are rated, then those of checks.
    replies: by sample, one a candidate."""

    settings: RateSettings
    form: Form
    runs: Sequence[ScoredRun]
    random: Random = field(init=False)
    items: dict[str, Item] = field(default_factory=dict)
    key: dict[str, KeyItem] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raises ConfigError where there are too few samples or candidates, RunError for runs of other tasks."""
        settings, runs = self.settings, self.runs
        self.random = Random(settings.seed)
        lot, first = lot_of(*runs), {answer.id: answer for answer in runs[0].answers}
        self.candidates = [
            Candidate(name=run.run, path=str(run.path.resolve()), replies=replies_digest(run.answers)) for run in runs
        ]
        self.candidates += [Candidate(name=HUMAN)] * settings.human
        if settings.human and HUMAN in [run.run for run in runs]:
            raise ConfigError(f"a run has the name {HUMAN}", where="human=true", hint="rename its folder")
        if len(self.candidates) < self.form.replies:
            what = "one candidate alone cannot be compared"
            raise ConfigError(what, where="arguments", hint="give two runs or more, or human=true")
        self.sides = list(combinations(range(len(self.candidates)), self.form.replies))  # the items of a sample
        self.people = max(settings.people or 0, settings.raters)
        share = settings.gold * settings.items * settings.raters * len(self.sides) / self.people
        self._checks = max(round(share), share > 0)  # of each rater
        self.left_out = dict(lot.left_out)
        self.emotions = {id: answer.gold_emotion or "" for id, answer in first.items()}
        gold = {id: " ".join((one.gold_response or "").split()) for id, one in first.items()}
        self.replies = {one.id: (*one.replies, *[gold[one.id]] * settings.human) for one in lot.items}
        usable = [item for item in lot.items if all(self.replies[item.id])]
        if len(usable) < settings.items:
            why = "have a reply of every run" + " and of the corpus" * settings.human
            what = f"{settings.items} items are asked for, and {len(usable)} of {len(lot.items)} common samples {why}"
            raise ConfigError(what, where="items", hint=f"items={len(usable)}, or finish the runs (only_failed=true)")
        if len(usable) < len(lot.items):
            self.left_out["without a reply of every candidate"] = len(lot.items) - len(usable)
        self.samples = {one.id: one for one in self._sampled(usable)}
        rest = [one for one in usable if one.id not in self.samples]
        self.sampled = f"{len(self.samples)} of {len(usable)} samples that all candidates replied to"
        self.checked = self.random.sample(rest, min(len(rest), self._checks)) or list(self.samples.values())

    def _sampled(self, usable: Sequence[Judged]) -> list[Judged]:
        """One sample of each dialogue, then a second one, until there are enough. Of a round that has more than are
        needed: drawn with equal chances, or in systematic steps through the gold emotions (Cochran 1977, chapter 8)."""
        by_dialogue: dict[str, list[Judged]] = {}
        for item in self.random.sample(usable, len(usable)):
            by_dialogue.setdefault(item.dialogue, []).append(item)
        drawn: list[Judged] = []
        while (missing := self.settings.items - len(drawn)) > 0:
            this = [left.pop() for left in by_dialogue.values() if left]
            if self.settings.stratify:
                this.sort(key=lambda item: self.emotions[item.id])
                start = self.random.random()
                steps = {int((start + step) * len(this) / missing) for step in range(missing)}
                this = [this[step] for step in sorted(steps)] if missing < len(this) else this
            drawn += this[:missing]
        return drawn

    def finish(self, media: Mapping[str, Mapping[int, tuple[str, ...]]]) -> tuple[Study, Key]:
        """The study and its key. media: the files of each sample, by turn from 1."""
        units = {id: [self._add(one, media[id], of) for of in self.sides] for id, one in self.samples.items()}
        checks = list(self._gold(media)) if self.settings.gold else []
        practice = [self._code(_practice(one)) for one in self.form.training]
        orders = {
            rater: (*(Shown(item=code) for code in practice), *self._order(own, checks))
            for rater, own in self._shared_out(units).items()
        }
        parts = {"settings": self.settings.model_dump(mode="json", include=set(NEW)), "form": self.form}
        parts |= {"sampled": self.sampled, "practice": len(practice), "items": self.items, "orders": orders}
        return Study.model_validate(parts), Key(candidates=tuple(self.candidates), items=self.key)

    def _code(self, item: Item) -> str:
        code = f"{self.random.getrandbits(48):012x}"
        self.items[code] = item
        return code

    def _add(self, sample: Judged, media: Mapping[int, tuple[str, ...]], of: tuple[int, ...]) -> str:
        """An item of a sample: the replies of these candidates."""
        replies = tuple(self.replies[sample.id][number] or "" for number in of)
        code = self._code(Item(history=_turns(sample, media), responder=sample.responder, replies=replies))
        self.key[code] = KeyItem(sample=sample.id, dialogue=sample.dialogue, candidates=of)
        return code

    def _gold(self, media: Mapping[str, Mapping[int, tuple[str, ...]]]) -> Iterator[str]:
        """Checks: a bad reply, in pairs beside a real one. Every other one is loud."""
        gold, random = self.form.gold, self.random
        for number in range(self._checks):
            sample = self.checked[number % len(self.checked)]
            real = random.choice(self.replies[sample.id]) or ""
            words = real.split()
            if gold.scrambled and len(words) >= ENOUGH and (number // 2 % 2 == 0 or not gold.written):
                bad, fails = " ".join(random.sample(words, len(words))), gold.scrambled
            elif gold.written:
                written = gold.written[number % len(gold.written)]
                bad, fails = written.text, written.fails
            else:
                continue
            expect, loud = {name: self.form.bad(name) for name in fails}, number % 2 == 0
            replies = (bad,) if self.form.replies == 1 else (real, bad)
            turns = _turns(sample, media[sample.id])
            item = Item(history=turns, responder=sample.responder, replies=replies)
            code = self._code(item.model_copy(update={"expect": expect, "why": gold.note} if loud else {}))
            self.key[code] = KeyItem(sample=sample.id, dialogue=sample.dialogue, expect=expect, loud=loud)
            yield code

    def _shared_out(self, units: Mapping[str, Sequence[str]]) -> dict[str, list[Shown]]:
        """The items of each rater. A sample goes to those who have the fewest so far; of each item as many raters see
        the one side first as the other, and so it is over a rater's items with the same candidates."""
        raters = [f"r{number}" for number in range(1, self.people + 1)]
        own: dict[str, list[Shown]] = {rater: [] for rater in raters}
        swaps: Counter[tuple[str, tuple[int, ...]]] = Counter()
        for turn, codes in enumerate(units.values()):
            order = sorted(self.random.sample(raters, len(raters)), key=lambda rater: len(own[rater]))
            chosen = order[: self.settings.raters]
            for code in self.random.sample(codes, len(codes)):
                of = self.key[code].candidates
                swapped = sorted(self.random.sample(chosen, len(chosen)), key=lambda rater: swaps[rater, of])
                half = (len(chosen) + turn % 2) // 2 if self.form.replies == 2 else 0
                for place, rater in enumerate(swapped):
                    swaps[rater, of] += 1 if place < half else -1
                    own[rater].append(Shown(item=code, swap=place < half))
        return own

    def _order(self, own: Sequence[Shown], checks: Sequence[str]) -> list[Shown]:
        """A rater's items: round by round one of each sample, repeats in the second half (pairs with their sides
        swapped), checks anywhere."""
        random, rounds = self.random, len(self.sides)
        samples = [random.sample(own[start : start + rounds], rounds) for start in range(0, len(own), rounds)]
        samples = random.sample(samples, len(samples))
        order = [shown[number] for number in range(rounds) for shown in samples]
        count, half = round(self.settings.repeats * len(order)), len(order) // 2
        for shown in random.sample(order[:half], min(count, half)):
            again = Shown(item=shown.item, swap=(not shown.swap) if self.form.replies == 2 else False, again=True)
            order.insert(random.randint(half + len(order) // 10, len(order)), again)
        for code in checks:
            swap = self.form.replies == 2 and random.random() < 0.5
            order.insert(random.randint(0, len(order)), Shown(item=code, swap=swap))
        return order


NEW = ("design", "items", "raters", "people", "human", "stratify", "visual", "gold", "repeats", "seed")


def _practice(one: Practice) -> Item:
    turns = tuple(Turn(speaker=speaker, text=text) for speaker, text in one.history)
    return Item(history=turns, responder=one.responder, replies=one.replies, expect=one.expect, why=one.why)


def _turns(sample: Judged, media: Mapping[int, tuple[str, ...]]) -> tuple[Turn, ...]:
    return tuple(
        Turn(speaker=speaker, text=text, media=media.get(number, ()))
        for number, (speaker, text) in enumerate(sample.history, start=1)
    )
