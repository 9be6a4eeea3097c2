"""A study that is built by its seed, which decides samples, orders, sides, and the places of checks and repeats.

In a Likert study each candidate's reply to a sample is an item; in a pairwise study, each pair of candidates is. All
items of a sample go to the same raters, so that candidates are compared within raters. In each order, the items of a
conversation are as far apart as possible.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from random import Random

from mmerg.errors import ConfigError
from mmerg.judging.items import Item, select_items
from mmerg.judging.judgement import digest_replies
from mmerg.rating.form import ShownTurn, StudyForm, StudyItem
from mmerg.rating.study import HUMAN, Key, KeyItem, ShownItem, Study, StudyCandidate
from mmerg.scoring.run_results import RunResults
from mmerg.settings.commands import RateSettings

LEAST_WORDS = 6  # of a reply that is nonsense if its words are scrambled
# The settings that decide a study.
SETTINGS = {"design", "items", "raters", "people", "human", "stratify", "visual", "gold", "repeats", "seed"}
Media = Mapping[str, Mapping[int, tuple[str, ...]]]  # the files of each sample, by turn from 1


class StudyBuilder:
    """The samples of a study, selected on creation, from which it is built once their media are written. samples: those
    to rate, by id. checked: those from which checks are made. replies: those to each sample, one per candidate.
    skipped: the number of skipped samples, by reason. Raises ConfigError if there are too few samples or candidates,
    and RunError if the runs cannot be compared."""

    def __init__(self, settings: RateSettings, form: StudyForm, runs: Sequence[RunResults]) -> None:
        self.settings, self.form, self.random = settings, form, Random(settings.seed)
        self.items: dict[str, StudyItem] = {}
        self.key: dict[str, KeyItem] = {}
        common = select_items(*runs)
        self.candidates = [StudyCandidate(name=run.run, replies=digest_replies(run.results)) for run in runs]
        self.candidates += [StudyCandidate(name=HUMAN)] * settings.human
        if len(self.candidates) < form.replies:
            hint = "name two or more runs, or set human=true"
            raise ConfigError("a single candidate cannot be compared", where="arguments", hint=hint)
        self.groups = list(combinations(range(len(self.candidates)), form.replies))  # each group is an item
        self.people = settings.people or settings.raters
        if self.people < settings.raters:
            what = f"{settings.raters} raters per item are requested, but there are only {self.people} people"
            raise ConfigError(what, where="people", hint=f"people={settings.raters} or more, or fewer raters")
        share = settings.gold * settings.items * settings.raters * len(self.groups) / self.people
        self._checks = max(round(share), share > 0)  # per rater
        gold = {result.id: " ".join((result.gold_response or "").split()) for result in runs[0].results}
        self.replies = {item.id: (*item.replies, *[gold[item.id]] * settings.human) for item in common.items}
        usable = [item for item in common.items if all(self.replies[item.id])]
        if len(usable) < settings.items:
            why = "have a reply from every run" + " and the corpus" * settings.human
            what = f"items={settings.items}, but only {len(usable)} of {len(common.items)} common samples {why}"
            raise ConfigError(what, where="items", hint=f"items={len(usable)}, or run the same commands again")
        self.skipped = {**common.skipped, "without a reply from every candidate": len(common.items) - len(usable)}
        emotions = {result.id: result.gold_emotion or "" for result in runs[0].results}
        self.samples = {item.id: item for item in self._draw(usable, emotions)}
        rest = [item for item in usable if item.id not in self.samples]
        self.sampled = f"{len(self.samples)} of {len(usable)} samples that all candidates replied to"
        self.checked = self.random.sample(rest, min(len(rest), self._checks)) or list(self.samples.values())

    def _draw(self, usable: Sequence[Item], emotions: Mapping[str, str]) -> list[Item]:
        """Draws one sample of each dialogue, then a second one, and so on until there are enough. If a round has more
        than needed, it draws from them with equal chances, or in systematic steps through the samples sorted by gold
        emotion (Cochran 1977, chapter 8)."""
        by_dialogue: dict[str, list[Item]] = {}
        for item in self.random.sample(usable, len(usable)):
            by_dialogue.setdefault(item.dialogue, []).append(item)
        drawn: list[Item] = []
        while (missing := self.settings.items - len(drawn)) > 0:
            samples = [items.pop() for items in by_dialogue.values() if items]
            if self.settings.stratify and missing < len(samples):
                samples.sort(key=lambda item: emotions[item.id])
                start = self.random.random()
                samples = [samples[int((start + step) * len(samples) / missing)] for step in range(missing)]
            drawn += samples[:missing]
        return drawn

    def build(self, media: Media) -> tuple[Study, Key]:
        codes = {
            id: [self._add_item(sample, media, group) for group in self.groups] for id, sample in self.samples.items()
        }
        checks = list(self._add_checks(media)) if self.settings.gold else []
        practice = list(map(self._add_code, self.form.training))
        orders = {
            rater: (*(ShownItem(item=code) for code in practice), *self._order(places, checks))
            for rater, places in self._assign(codes).items()
        }
        study = Study(
            settings=self.settings.model_dump(mode="json", include=SETTINGS),
            form=self.form,
            sampled=self.sampled,
            practice=len(practice),
            items=self.items,
            orders=orders,
        )
        return study, Key(candidates=tuple(self.candidates), items=self.key)

    def _add_code(self, item: StudyItem) -> str:
        """Adds an item to the study, and returns its random code."""
        code = f"{self.random.getrandbits(48):012x}"
        self.items[code] = item
        return code

    def _add_item(self, sample: Item, media: Media, group: tuple[int, ...]) -> str:
        """Adds an item: the replies of a group of candidates to a sample. Returns its code."""
        replies = tuple(self.replies[sample.id][candidate] or "" for candidate in group)
        code = self._add_code(
            StudyItem(history=_build_turns(sample, media), responder=sample.responder, replies=replies)
        )
        self.key[code] = KeyItem(sample=sample.id, dialogue=sample.dialogue, candidates=group)
        return code

    def _add_checks(self, media: Media) -> Iterator[str]:
        """Adds the checks and yields their codes. A check shows a bad reply; of a pair, the second one is bad. Every
        other check is loud: it tells the rater about a wrong answer."""
        gold, random = self.form.gold, self.random
        for number in range(self._checks):
            sample = self.checked[number % len(self.checked)]
            real = random.choice(self.replies[sample.id]) or ""
            words = real.split()
            if gold.scrambled and len(words) >= LEAST_WORDS and (number // 2 % 2 == 0 or not gold.written):
                bad, fails = " ".join(random.sample(words, len(words))), gold.scrambled
            elif gold.written:
                written = gold.written[number % len(gold.written)]
                bad, fails = written.text, written.fails
            else:
                continue
            expect, loud = {name: self.form.list_low_points(name) for name in fails}, number % 2 == 0
            replies = (bad,) if self.form.replies == 1 else (real, bad)
            item = StudyItem(history=_build_turns(sample, media), responder=sample.responder, replies=replies)
            code = self._add_code(item.model_copy(update={"expect": expect, "why": gold.note} if loud else {}))
            self.key[code] = KeyItem(sample=sample.id, dialogue=sample.dialogue, expect=expect, loud=loud)
            yield code

    def _assign(self, codes: Mapping[str, Sequence[str]]) -> dict[str, list[ShownItem]]:
        """Assigns the items to raters. The items of a sample go to the raters who have the fewest so far. Sides are
        balanced: each reply comes first for half of the raters of an item, and in half of a rater's items with the same
        candidates. codes: those of the items of each sample."""
        raters = [f"r{number}" for number in range(1, self.people + 1)]
        assigned: dict[str, list[ShownItem]] = {rater: [] for rater in raters}
        swaps: Counter[tuple[str, tuple[int, ...]]] = Counter()  # swapped minus unswapped, by rater and candidates
        for number, sample_codes in enumerate(codes.values()):
            order = sorted(self.random.sample(raters, len(raters)), key=lambda rater: len(assigned[rater]))
            chosen = order[: self.settings.raters]
            for code in self.random.sample(sample_codes, len(sample_codes)):
                group = self.key[code].candidates
                by_swaps = sorted(self.random.sample(chosen, len(chosen)), key=lambda rater: swaps[rater, group])
                half = (len(chosen) + number % 2) // 2 if self.form.replies == 2 else 0
                for position, rater in enumerate(by_swaps):
                    swap = position < half
                    swaps[rater, group] += 1 if swap else -1
                    assigned[rater].append(ShownItem(item=code, swap=swap))
        return assigned

    def _order(self, places: Sequence[ShownItem], checks: Sequence[str]) -> list[ShownItem]:
        """Orders a rater's items: rounds with one item of each sample; repeats in the second half, pairs with swapped
        sides; and checks anywhere."""
        random, rounds, pairs = self.random, len(self.groups), self.form.replies == 2
        samples = [random.sample(places[start : start + rounds], rounds) for start in range(0, len(places), rounds)]
        samples = random.sample(samples, len(samples))
        order = [shown[number] for number in range(rounds) for shown in samples]
        count, half = round(self.settings.repeats * len(order)), len(order) // 2
        for shown in random.sample(order[:half], min(count, half)):
            again = ShownItem(item=shown.item, swap=pairs and not shown.swap, again=True)
            order.insert(random.randint(half + len(order) // 10, len(order)), again)
        for code in checks:
            order.insert(random.randint(0, len(order)), ShownItem(item=code, swap=pairs and random.random() < 0.5))
        return order


def _build_turns(sample: Item, media: Media) -> tuple[ShownTurn, ...]:
    return tuple(
        ShownTurn(speaker, text, media[sample.id].get(number, ()))
        for number, (speaker, text) in enumerate(sample.history, start=1)
    )
