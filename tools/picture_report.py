"""Takes the screenshot docs/report.png: a sample of the demo in a report, with replies written for the picture.

python tools/picture_report.py docs/report.png
"""

import io
import json
import sys
import tempfile
from pathlib import Path

from PIL import Image

import mmerg
from mmerg.backends.dry import Dry
from mmerg.backends.protocol import Completion, Request
from mmerg.backends.scripted import build_completion
from mmerg.report import main as report
from mmerg.score import main as score
from tests.browser import chromium
from tests.engine.parts import STAGES, as_text, audit, fill_schema, find_stage

SAMPLE = "fine/5"
FIRST = "It sounds like you got a lot done this weekend."
REPLY = "And his coat was the thing you couldn't put in a box. Do you want to tell me about him?"
OUTPUTS: dict[str, dict[str, object]] = {
    "mpa": {
        "textual_cues": [
            {"turn": 2, "cue": "says twice that he is fine"},
            {"turn": 4, "cue": "plays the coat down: “that's all”"},
        ],
        "visual_cues": [{"frame": 1, "cue": "tears on both cheeks"}, {"frame": 3, "cue": "the mouth turns down"}],
    },
    "caef": {
        "textual": "he says that he is fine",
        "visual": "he is in tears",
        "consistency": "conflict",
        "reasoning": "the coat stands for his father, and she sees that he grieves",
        "emotion": "sadness",
    },
    "psp": {
        "reasoning": "he needs room to talk, not praise",
        "goal": "explore",
        "stance": "warm",
        "tactic": "reflection of feelings",
        "tone": "gentle",
        "note": "name the coat",
    },
}
SENTENCES = {"caef looked at": "neutral overlooks his tears", "mend caef": "weigh his tears above his words"}


class WrittenCompletions(Dry):
    """A backend with written completions: CAEF forecasts neutral in the first pass, which the audit corrects."""

    def complete(self, request: Request) -> Completion:
        stage, prompt = find_stage(request), request.messages[1].text
        if stage == "sgrg":
            text = FIRST if "neutral" in prompt else REPLY
        elif stage == "gra":
            text = as_text(audit({name: name != "caef" or FIRST not in prompt for name in STAGES}))
            for fragment, sentence in SENTENCES.items():
                text = text.replace(fragment, sentence)
        else:
            output = dict(OUTPUTS[stage])
            if stage == "caef" and "The audit found" not in prompt:
                output["emotion"] = "neutral"
            text = fill_schema(output, json.loads(request.schema))
        return build_completion(request, text, self.host, logprob=-0.5)


def main(out: Path) -> None:
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        settings = ["dataset=demo", "backend=dry", "backend.adapter._target_=tools.picture_report.WrittenCompletions"]
        run = mmerg.run(*settings, f"ids=[{SAMPLE}]", "frames.last_turns=3", runs=folder, name="demo-merg")
        score([str(run.path)])
        report([str(run.path)])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        [sample] = (run.path / "report/samples").glob("*.html")
        page.goto(sample.as_uri())
        screenshot = Image.open(io.BytesIO(page.screenshot(animations="disabled")))
        screenshot.convert("RGB").quantize(256).save(out, optimize=True)
    print(f"{out}: {out.stat().st_size:,} bytes")  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]))
