"""Shares of pairs: McNemar's exact test, and the smallest difference that so many pairs can show with it.

mcnemar(b=1, c=8)                        # 0.0391
smallest_shift(n=31, discordance=0.2)    # 0.243: with 31 pairs, 24 points of accuracy
"""

from __future__ import annotations

import numpy as np

from mmerg.scoring.metric import Floats

LEVEL, POWER = 0.05, 0.8
DETECTABLE = 1.959964 + 0.841621  # standard errors: the normal quantiles of 97.5 % and 80 %
_STEPS = 24  # halvings, after which a share is known to 1e-7
_SLIGHT = 1e-12  # a weight that changes nothing


def mcnemar(b: int, c: int) -> float:
    """The p of McNemar's exact test on `b` pairs that differ one way and `c` the other: two-sided binomial, twice the
    smaller tail; 1 where no pair differs (McNemar, Psychometrika 1947)."""
    tail, ways = 0, 1
    for k in range(min(b, c) + 1):
        tail += ways
        ways = ways * (b + c - k) // (k + 1)
    return min(1.0, 2 * tail / (1 << (b + c)))


def smallest_shift(n: int, discordance: float) -> float | None:
    """The smallest difference of two shares (0 to 1) that McNemar's exact test finds in `n` pairs with 80 % power at
    5 %, where a share `discordance` of the pairs differ. A difference beyond it makes more of them differ. None where
    no difference can be found, which is so for fewer than six pairs."""
    test = _Test(n)
    low, high = 0.0, 1.0
    if test.power(1.0, 1.0) < POWER:
        return None
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if test.power(middle, max(discordance, middle)) < POWER:
            low = middle
        else:
            high = middle
    return high


class _Test:
    """McNemar's test of `n` pairs, its power exact: over all numbers d of pairs that may differ."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._log_factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
        self._rejecting: dict[int, int] = {}

    def power(self, shift: float, discordance: float) -> float:
        """The chance that the test finds, the right way round, that of a share `discordance` that differs `shift` more
        do so one way than the other."""
        rarer = (1 - shift / discordance) / 2 if discordance else 0.5
        chances = self._binomial(self._n, discordance)
        power = 0.0
        for d in np.flatnonzero(chances > _SLIGHT).tolist():
            few = self._rejected(d)
            if few >= 0:
                power += float(chances[d] * self._binomial(d, rarer)[: few + 1].sum())
        return power

    def _rejected(self, d: int) -> int:
        """The largest count of the rarer kind among d at which the test rejects, -1 where it never does."""
        if d not in self._rejecting:
            tails = np.cumsum(self._binomial(d, 0.5)[: d // 2 + 1])
            self._rejecting[d] = int((tails <= LEVEL / 2).sum()) - 1
        return self._rejecting[d]

    def _binomial(self, n: int, share: float) -> Floats:
        """Shape [n + 1]: the chances of 0 … n."""
        k = np.arange(n + 1)
        if share in (0.0, 1.0):
            certain: Floats = (k == n * share).astype(np.float64)
            return certain
        ways = self._log_factorials[n] - self._log_factorials[: n + 1] - self._log_factorials[n::-1]
        chances: Floats = np.exp(ways + k * np.log(share) + (n - k) * np.log1p(-share))
        return chances
