"""The metric NAME: the share of replies that ask a question."""

from mmerg.runs.result import Result
from mmerg.scoring.metric import ok, rate


def asks_question(result: Result) -> float:
    return 100.0 * ("?" in (result.response or ""))


metric = rate(  # the mean of `asks_question`, x100, over the samples that did not fail; see mmerg/scoring/metric.py
    "NAME",
    "mark:?|failed:skipped|scale:100",  # the signature: everything that affects the score
    "a reply",  # what a sample must have to be included
    asks_question,
    ok,
    interval_by="wilson",  # for shares; the default is a bootstrap, which suits any other score
)
