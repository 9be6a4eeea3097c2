"""The metric NAME: the share of replies that ask a question."""

from mmerg.runs.result import Result
from mmerg.scoring.metric import ok, rate


def asks(result: Result) -> float:
    return 100.0 * ("?" in (result.response or ""))


metric = rate(  # the mean of `asks`, x100, over the samples that did not fail; a Metric may be any score
    "NAME",
    "mark:?|failed:left-out|scale:100",  # all that decides the score
    "a reply",  # what a sample must have to count
    asks,
    ok,
    interval_by="wilson",  # of shares; without it a bootstrap, which suits all else
)
