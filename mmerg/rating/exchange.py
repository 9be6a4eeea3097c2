"""The text of a study for Potato, Pearmut or a spreadsheet, with the same items and sides, and ratings from there.

csv: one file with a row for each rater, place and question. Raters fill in the column `value`.
potato: a folder for each rater with config.yaml and data.json (potatoannotator.com). Import the whole folder later.
pearmut: a campaign with a task for each rater (github.com/zouharvi/pearmut). Import the JSONL of its annotations. Each
reply has a slider for each question; of a pair, the reply with the higher slider is better.
"""

import csv
import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from secrets import token_hex
from typing import Any

import yaml

from mmerg.console.tables import as_csv
from mmerg.corpora.files import build_corpus_error
from mmerg.errors import ConfigError, RunError
from mmerg.rating.form import CANNOT, Point, Question
from mmerg.rating.store import RatingEntry, RatingStore
from mmerg.rating.study import Study
from mmerg.storage.files import describe_error, write_atomically

ImportedAnswer = tuple[str, str, int | str, str, Any]  # where in the file, rater, place, question, value
SIDES = ("A", "B")


def export(study: Study, form: str, out: Path) -> None:
    """Writes to `out`: a folder for Potato, else a file. Raises RunError if it cannot be written."""
    {"csv": _write_csv, "potato": _write_potato, "pearmut": _write_pearmut}[form](study, out)


def _list_places(study: Study) -> Iterator[tuple[str, int, str, dict[str, str]]]:
    """Yields for each place of each rater: the rater, the place, the conversation, and the replies by side as shown."""
    for rater, order in study.orders.items():
        for place, shown in enumerate(order):
            item = study.items[shown.item]
            replies = item.replies[::-1] if shown.swap else item.replies
            conversation = "\n".join(f"{turn.speaker}: {turn.text}" for turn in item.history)
            yield rater, place, conversation, dict(zip(SIDES, replies, strict=False))


def _list_labels(question: Question) -> dict[str, Point | str]:
    """Returns the possible answers, by the text that a rater reads."""
    texts = {f"{point} – {text}" if isinstance(point, int) else text: point for point, text in question.points.items()}
    return {**texts, "Cannot judge": CANNOT}


def _write_csv(study: Study, out: Path) -> None:
    rows = []
    for rater, place, conversation, replies in _list_places(study):
        shown = {"rater": rater, "place": place, "conversation": conversation}
        shown |= {f"reply {side}": text for side, text in replies.items()}
        for name, question in study.form.questions.items():
            values = ", ".join(map(str, (*question.points, CANNOT)))
            rows.append({**shown, "question": name, "ask": question.ask, "values": values, "value": None})
    write_atomically(out, as_csv(rows))


def _write_potato(study: Study, out: Path) -> None:
    data: dict[str, list[dict[str, Any]]] = {}
    for rater, place, conversation, replies in _list_places(study):
        item = {"id": f"{rater}-{place}", "conversation": conversation.split("\n")}
        item |= {f"reply_{side.lower()}": text for side, text in replies.items()}
        data.setdefault(rater, []).append(item)
    sides = SIDES[: study.form.replies]
    fields = [{"key": "conversation", "type": "dialogue", "label": "Conversation"}]
    fields += [{"key": f"reply_{side.lower()}", "type": "text", "label": f"Reply {side}"} for side in sides]
    schemes = [
        {"annotation_type": "radio", "name": name, "description": question.ask, "labels": list(_list_labels(question))}
        | {"label_requirement": {"required": True}, "sequential_key_binding": True}
        for name, question in study.form.questions.items()
    ]
    config = {
        "annotation_task_name": study.form.title,
        "task_dir": ".",
        "data_files": ["data.json"],
        "item_properties": {"id_key": "id", "text_key": "reply_a"},
        "output_annotation_dir": "annotation_output",
        "assignment_strategy": "fixed_order",
        "instance_display": {"fields": fields},
        "annotation_schemes": schemes,
        "user_config": {"allow_all_users": True, "users": []},
        "require_password": False,
    }
    for rater, items in data.items():
        write_atomically(out / rater / "config.yaml", yaml.safe_dump(config, sort_keys=False, allow_unicode=True))
        write_atomically(out / rater / "data.json", json.dumps(items, indent=1, ensure_ascii=False))


def _write_pearmut(study: Study, out: Path) -> None:
    tasks: dict[str, list[list[dict[str, Any]]]] = {}
    for rater, place, conversation, replies in _list_places(study):
        tasks.setdefault(rater, []).append([{"item_id": f"{rater}-{place}", "src": conversation, "tgt": replies}])
    sliders = []
    for name, question in study.form.questions.items():
        numbers = [point for point in question.points if isinstance(point, int)] or [1, 5]
        sliders.append({"name": name, "min": min(numbers), "max": max(numbers), "step": 1})
    info = {
        "assignment": "task-based",
        "protocol": "DA",
        "shuffle": False,
        "users": list(tasks),
        "instructions": "<br>".join(study.form.instructions),
        "sliders": sliders,
    }
    campaign = {"campaign_id": out.stem, "info": info, "data": list(tasks.values())}
    write_atomically(out, json.dumps(campaign, indent=1, ensure_ascii=False))


def import_ratings(study: Study, folder: Path, form: str, file: Path) -> int:
    """Imports the answers in a file or folder of another tool, and returns their number: all or none; importing twice
    adds nothing. Raises RunError if the file cannot be read, ConfigError if it has no answers, and CorpusError if
    answers do not fit the study; it names up to ten of them."""
    reader = {"csv": _read_csv, "potato": _read_potato, "pearmut": _read_pearmut}[form]
    try:
        answers = list(reader(study, file))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"this is not a {form} file of this study: {type(error).__name__}: {error}"
        raise RunError(what, where=str(file), hint="check the file and format=; save tables as CSV in UTF-8") from error
    if not answers:
        raise ConfigError("the file has no answers", where=str(file), hint=f"check that its format is {form}")
    problems: list[str] = []
    entries: list[RatingEntry] = []
    with RatingStore(folder, study) as store:
        for position, rater, place, question, value in answers:
            fields = {"id": token_hex(12), "rater": rater, "place": place, "question": question, "value": value}
            try:
                entries.append(store.log.check(RatingEntry.model_validate(fields)))
            except (RunError, ValueError) as error:
                problems.append(f"{position}: {error.what if isinstance(error, RunError) else describe_error(error)}")
        if problems:
            what = f"{len(problems)} of {len(answers)} answers do not belong to this study"
            raise build_corpus_error(what, problems, str(file), "correct them and import again; nothing was added")
        for entry in entries:
            if store.log.answers.get((entry.rater, entry.place), {}).get(entry.question) != entry.value:
                store.save(entry)
    return len(entries)


def _read_csv(_: Study, file: Path) -> Iterator[ImportedAnswer]:
    text = file.read_text(encoding="utf-8-sig")
    delimiter = ";" if ";" in text.partition("\n")[0] else ","  # of spreadsheets whose decimal separator is a comma
    for number, row in enumerate(csv.DictReader(StringIO(text), delimiter=delimiter), start=2):
        if value := (row["value"] or "").strip():
            yield f"row {number}", row["rater"], _parse_cell(row["place"]), row["question"], _parse_cell(value)


def _parse_cell(value: str) -> int | str:
    """Reads the number or text in a cell. Spreadsheets may write 4 as 4.0 or 4,0."""
    number = value.removesuffix(".0").removesuffix(",0")
    return int(number) if number.isdigit() else value


def _read_potato(study: Study, folder: Path) -> Iterator[ImportedAnswer]:
    for file in sorted(folder.glob("**/user_state.json")):
        state = json.loads(file.read_bytes())
        for id, labels in state["instance_id_to_label_to_value"].items():
            rater, _, place = id.rpartition("-")
            for label, _ in labels:
                if question := study.form.questions.get(label["schema"]):
                    value = _list_labels(question).get(label["name"], label["name"])
                    yield f"{file}, {id}", rater, place, label["schema"], value


def _read_pearmut(study: Study, file: Path) -> Iterator[ImportedAnswer]:
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        task = json.loads(line)
        for item, replies in zip(task["item"], task["annotation"], strict=True):
            rater, _, place = item["item_id"].rpartition("-")
            for question in study.form.questions:
                sliders = [replies[side]["sliders"][question] for side in SIDES[: study.form.replies]]
                if None in sliders:
                    continue  # nobody moved it
                value = sliders[0]
                if study.form.replies == 2:
                    a, b = sliders
                    value = "tie" if a == b else "first" if a > b else "second"
                elif value == int(value):
                    value = int(value)
                yield f"line {number}", rater, place, question, value
