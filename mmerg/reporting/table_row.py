"""A sample as a row of a run's table, with what the overview counts of it.

row = TableRow(1, result, page)
row.blamed, row.problems
"""

from mmerg.plots.blame import verdicts
from mmerg.reporting.navigation import became
from mmerg.reporting.sample_page import SamplePage
from mmerg.runs.result import Result

ID, TEXT = 80, 220  # characters of an id and of a turn in the table; the sample's page has all of them
_FOUND = 2000  # characters of each that the table's search looks through


class TableRow:
    """became: what choosing a later pass did to the label. blamed: agents that audits found at fault; verdicts: what
    audits said of its passes. problems: why history turns have no frames; lost: frames that the run has no file of.
    asked_again, given_up: refused replies by stage and reason, those that another call of the stage in the same pass
    followed and those that none did; repaired: whether a reply was refused and a later one taken. last: what it
    answers. whole: what the table clips in full, for the search."""

    def __init__(self, number: int, result: Result, page: SamplePage) -> None:
        self.number, self.result = number, result
        self.became, self.blamed = became(result, page.first_label), page.blamed
        self.verdicts = list(verdicts(page.found))
        self.form, self.problems = page.form, list(page.problems.values())
        self.lost = sum(not shot.held for shot in page.shots)
        self.last = page.history[-1][1] if page.history else ""
        self.text = (result.failure_text if result.status == "failed" else result.response) or ""
        clipped = ((result.id, ID), (self.last, TEXT), (self.text, TEXT))
        self.whole = " ".join(one[:_FOUND] for one, room in clipped if len(one) > room)
        final = {(call.event.t, call.event.stage): call for call in page.calls}
        refused = [(call, final[call.event.t, call.event.stage]) for call in page.calls if call.refused]
        kinds = [(call.event.stage, str(call.refused.failure), last is call) for call, last in refused if call.refused]
        self.asked_again = [(stage, failure) for stage, failure, for_good in kinds if not for_good]
        self.given_up = [(stage, failure) for stage, failure, for_good in kinds if for_good]
        self.repaired = any(not last.refused for _, last in refused)
