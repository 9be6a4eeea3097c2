"""Draws a study by seed: samples, order, sides, and places of checks and repeats.

Likert: every candidate's reply to a sample is an item. Pairwise: every pair of candidates is one. The same raters get
all items of a sample, so that candidates are compared within raters. In an order the items of one conversation stand as
far from each other as can be.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from random import Random

from mmerg.errors import ConfigError
from mmerg.judging.items import Item as Judged
from mmerg.judging.items import select_items
from mmerg.judging.judgement import digest_replies
from mmerg.rating.form import Form
from mmerg.rating.study import HUMAN, Key, KeyItem, Place, ShownTurn, Study, StudyCandidate, StudyItem
from mmerg.scoring.run_results import RunResults
from mmerg.settings.commands import RateSettings

ENOUGH = 6  # words of a reply: scrambled, they are nonsense
DRAWN = {"design", "items", "raters", "people", "human", "stratify", "visual", "gold", "repeats", "seed"}  # settings
Media = Mapping[str, Mapping[int, tuple[str, ...]]]  # the files of each sample, by turn from 1


class StudyDraw:
    """The samples of a study, before their media are known. samples: the rated ones; checked: those that checks are
    made of. replies: of each sample, one per candidate. skipped: samples by reason.

    Raises ConfigError for too few samples or candidates, RunError for runs of other tasks."""

    def __init__(self, settings: RateSettings, form: Form, runs: Sequence[RunResults]) -> None:
        self.settings, self.form, self.random = settings, form, Random(settings.seed)
        self.items: dict[str, StudyItem] = {}
        self.key: dict[str, KeyItem] = {}
        chosen = select_items(*runs)
        self.candidates = [StudyCandidate(name=run.run, replies=digest_replies(run.results)) for run in runs]
        self.candidates += [StudyCandidate(name=HUMAN)] * settings.human
        if len(self.candidates) < form.replies:
            hint = "name two or more runs, or set human=true"
            raise ConfigError("a single candidate cannot be compared", where="arguments", hint=hint)
        self.sides = list(combinations(range(len(self.candidates)), form.replies))  # the items of a sample
        self.people = settings.people or settings.raters
        if self.people < settings.raters:
            what = f"{settings.raters} raters per item are asked for, and there are {self.people} people"
            raise ConfigError(what, where="people", hint=f"people={settings.raters} or more, or fewer raters")
        share = settings.gold * settings.items * settings.raters * len(self.sides) / self.people
        self._checks = max(round(share), share > 0)  # of each rater
        gold = {result.id: " ".join((result.gold_response or "").split()) for result in runs[0].results}
        self.replies = {item.id: (*item.replies, *[gold[item.id]] * settings.human) for item in chosen.items}
        usable = [item for item in chosen.items if all(self.replies[item.id])]
        if len(usable) < settings.items:
            why = "have a reply from every run" + " and the corpus" * settings.human
            what = f"items={settings.items}, but only {len(usable)} of {len(chosen.items)} common samples {why}"
            raise ConfigError(what, where="items", hint=f"items={len(usable)}, or finish the runs (only_failed=true)")
        self.skipped = {**chosen.left_out, "without a reply of every candidate": len(chosen.items) - len(usable)}
        emotions = {result.id: result.gold_emotion or "" for result in runs[0].results}
        self.samples = {item.id: item for item in self._sampled(usable, emotions)}
        rest = [item for item in usable if item.id not in self.samples]
        self.sampled = f"{len(self.samples)} of {len(usable)} samples that all candidates replied to"
        self.checked = self.random.sample(rest, min(len(rest), self._checks)) or list(self.samples.values())

    def _sampled(self, usable: Sequence[Judged], emotions: Mapping[str, str]) -> list[Judged]:
        """One sample of each dialogue, then a second one, until there are enough. If a round has more than needed,
        draws with equal chances, or in systematic steps through the gold emotions (Cochran 1977, chapter 8)."""
        by_dialogue: dict[str, list[Judged]] = {}
        for item in self.random.sample(usable, len(usable)):
            by_dialogue.setdefault(item.dialogue, []).append(item)
        drawn: list[Judged] = []
        while (missing := self.settings.items - len(drawn)) > 0:
            this = [left.pop() for left in by_dialogue.values() if left]
            if self.settings.stratify and missing < len(this):
                this.sort(key=lambda item: emotions[item.id])
                start = self.random.random()
                this = [this[int((start + step) * len(this) / missing)] for step in range(missing)]
            drawn += this[:missing]
        return drawn

    def finish(self, media: Media) -> tuple[Study, Key]:
        """The study and its key."""
        units = {
            id: [self._add(sample, media, numbers) for numbers in self.sides] for id, sample in self.samples.items()
        }
        checks = list(self._gold(media)) if self.settings.gold else []
        practice = []
        for training in self.form.training:
            turns = tuple(ShownTurn(speaker=speaker, text=text) for speaker, text in training.history)
            practice.append(self._code(StudyItem(history=turns, **training.model_dump(exclude={"history"}))))
        orders = {
            rater: (*(Place(item=code) for code in practice), *self._order(own, checks))
            for rater, own in self._shared_out(units).items()
        }
        study = Study(
            settings=self.settings.model_dump(mode="json", include=DRAWN),
            form=self.form,
            sampled=self.sampled,
            practice=len(practice),
            items=self.items,
            orders=orders,
        )
        return study, Key(candidates=tuple(self.candidates), items=self.key)

    def _code(self, item: StudyItem) -> str:
        code = f"{self.random.getrandbits(48):012x}"
        self.items[code] = item
        return code

    def _add(self, sample: Judged, media: Media, numbers: tuple[int, ...]) -> str:
        """Adds an item of a sample: the replies of these candidates."""
        replies = tuple(self.replies[sample.id][number] or "" for number in numbers)
        code = self._code(StudyItem(history=_turns(sample, media), responder=sample.responder, replies=replies))
        self.key[code] = KeyItem(sample=sample.id, dialogue=sample.dialogue, candidates=numbers)
        return code

    def _gold(self, media: Media) -> Iterator[str]:
        """Checks: a bad reply, in pairs beside a real one. Every other check is loud."""
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
            expect, loud = {name: self.form.low_points(name) for name in fails}, number % 2 == 0
            replies = (bad,) if self.form.replies == 1 else (real, bad)
            item = StudyItem(history=_turns(sample, media), responder=sample.responder, replies=replies)
            code = self._code(item.model_copy(update={"expect": expect, "why": gold.note} if loud else {}))
            self.key[code] = KeyItem(sample=sample.id, dialogue=sample.dialogue, expect=expect, loud=loud)
            yield code

    def _shared_out(self, units: Mapping[str, Sequence[str]]) -> dict[str, list[Place]]:
        """Assigns items to raters. A sample goes to those who have the fewest so far. Each side comes first for as many
        raters of an item, and in as many items of a rater with the same candidates, as the other."""
        raters = [f"r{number}" for number in range(1, self.people + 1)]
        own: dict[str, list[Place]] = {rater: [] for rater in raters}
        swaps: Counter[tuple[str, tuple[int, ...]]] = Counter()
        for turn, codes in enumerate(units.values()):
            order = sorted(self.random.sample(raters, len(raters)), key=lambda rater: len(own[rater]))
            chosen = order[: self.settings.raters]
            for code in self.random.sample(codes, len(codes)):
                numbers = self.key[code].candidates
                swapped = sorted(self.random.sample(chosen, len(chosen)), key=lambda rater: swaps[rater, numbers])
                half = (len(chosen) + turn % 2) // 2 if self.form.replies == 2 else 0
                for place, rater in enumerate(swapped):
                    swaps[rater, numbers] += 1 if place < half else -1
                    own[rater].append(Place(item=code, swap=place < half))
        return own

    def _order(self, own: Sequence[Place], checks: Sequence[str]) -> list[Place]:
        """A rater's items: rounds with one item of each sample, repeats in the second half (pairs with swapped sides),
        checks anywhere."""
        random, rounds, pairs = self.random, len(self.sides), self.form.replies == 2
        samples = [random.sample(own[start : start + rounds], rounds) for start in range(0, len(own), rounds)]
        samples = random.sample(samples, len(samples))
        order = [shown[number] for number in range(rounds) for shown in samples]
        count, half = round(self.settings.repeats * len(order)), len(order) // 2
        for shown in random.sample(order[:half], min(count, half)):
            again = Place(item=shown.item, swap=pairs and not shown.swap, again=True)
            order.insert(random.randint(half + len(order) // 10, len(order)), again)
        for code in checks:
            order.insert(random.randint(0, len(order)), Place(item=code, swap=pairs and random.random() < 0.5))
        return order


def _turns(sample: Judged, media: Media) -> tuple[ShownTurn, ...]:
    return tuple(
        ShownTurn(speaker=speaker, text=text, media=media[sample.id].get(number, ()))
        for number, (speaker, text) in enumerate(sample.history, start=1)
    )
