"""What stages hand on to others: cues from the last turns, choices before reasons, and copied words."""

import json
from dataclasses import replace
from typing import Any

import pytest

from mmerg.console.run_tables import Summary
from mmerg.corpora.dialogue import Turn
from mmerg.engine.prompts import Prompts, get_bounds
from mmerg.engine.state import State
from mmerg.errors import CompletionError
from mmerg.runs import events
from mmerg.runs.facts import collect_facts
from mmerg.runs.result import Result
from mmerg.runs.trace import SampleTrace
from mmerg.systems.parsing import parse_output
from mmerg.systems.schema import build_json_schema
from tests.engine.parts import SCENE, merg, to_class_names

LONG = replace(SCENE, history=(*(Turn("Eve", f"Word {n}.") for n in range(1, 6)), *SCENE.history))  # 8 turns


@pytest.mark.parametrize(
    ("cite_last", "shown", "first"), [(4, None, 5), (None, None, 1), (9, None, 1), (4, 2, 7), (None, 2, 7)]
)
def test_cues_may_cite_only_the_last_turns(cite_last: int | None, shown: int | None, first: int) -> None:
    system = merg()
    assert system.stages[0].cite_last == 4
    stage, state = replace(system.stages[0], cite_last=cite_last), State(LONG, turns=shown)
    bounds = get_bounds(system, stage, state)
    assert stage.output
    cues: Any = json.loads(build_json_schema(stage.output, bounds).text)["properties"]["textual_cues"]["items"][
        "properties"
    ]
    [turn] = [node for node in cues.values() if node["type"] == "integer"]
    assert (turn["minimum"], turn["maximum"]) == (first, 8)
    task = Prompts(system).render_messages(stage, state, {}, "", None)[1].text.partition("Your step")[2]
    listed = [line.partition(".")[0] for line in task.splitlines() if line[:1].isdigit()]
    # The prompt lists the turns that may be cited only if it shows other turns, too.
    assert listed == ([str(n) for n in range(5, 9)] if cite_last == 4 and not shown else [])
    text = json.dumps({"textual_cues": [{"turn": 3, "cue": "Word 3"}]})
    if first > 3:
        with pytest.raises(CompletionError, match=f"turn 3 is too early, name {first} to 8"):
            parse_output(stage.output, bounds, text)
    else:
        parse_output(stage.output, bounds, text)


def test_a_plan_is_chosen_before_its_reasons() -> None:
    psp = merg().stages[2]
    assert psp.output
    asked = json.loads(build_json_schema(psp.output, get_bounds(merg(), psp, State(SCENE))).text)
    assert to_class_names(asked["properties"]) == ["goal", "stance", "tactic", "tone", "reasoning"]


def test_copied_sequences_of_four_words_are_counted() -> None:
    outputs: dict[str, object] = {
        "mpa": {"cues": [{"turn": 1, "cue": "She lost the job today."}]},
        "caef": {"emotion": "joy", "reasoning": "As she LOST the job, she is sad."},
        "psp": {"goal": "comfort", "reasoning": "Be kind."},
        "sgrg": "Oh no.",
    }
    produced = [
        events.Produced(sample="d1/4", t=0, stage=name, symbol=name, output=output) for name, output in outputs.items()
    ]
    assert collect_facts(SampleTrace(produced))["handed_on"] == {"caef": (1, 5)}
    lines = [Result(id=str(n), status="ok", handed_on={"caef": (1, 5), "psp": (n, 9)}) for n in range(2)]
    note = "4-grams copied from the agent before: caef 20 %, psp 6 %"
    assert [*Summary(lines).notes()] == [note]
    assert [*Summary([Result(id="a", status="ok", handed_on={"psp": (0, 9)})]).notes()] == []
