"""A study for Potato, Pearmut or a spreadsheet, and what raters answered there: the same items and sides, as text.

csv: one file, a row a rater, place and question; fill in the column `value`.
potato: a folder for each rater with config.yaml and data.json (potatoannotator.com); import all of it in the end.
pearmut: a campaign with a task for each rater (github.com/zouharvi/pearmut); import the JSONL of its annotations. There
each reply has a slider for each question; of a pair the reply with the higher one is better.
"""

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import Any

import yaml

from mmerg.console.tables import as_csv
from mmerg.corpora.files import unusable
from mmerg.errors import ConfigError, RunError
from mmerg.rating.form import CANNOT, Point, Question
from mmerg.rating.store import Entry, Store
from mmerg.rating.study import Study
from mmerg.storage.files import why, write_whole

Answer = tuple[str, str, int, str, Any]  # where it stands, rater, place, question, value
SIDES = ("A", "B")


def export(study: Study, form: str, out: Path) -> None:
    """Writes to `out`, a folder for Potato and a file for the others. Raises RunError where it cannot."""
    {"csv": _csv, "potato": _potato, "pearmut": _pearmut}[form](study, out)


def _places(study: Study) -> Iterator[tuple[str, int, str, dict[str, str]]]:
    """Rater, place, the conversation, and the replies by side as the rater is shown them."""
    for rater, order in study.orders.items():
        for place, shown in enumerate(order):
            item = study.items[shown.item]
            replies = item.replies[::-1] if shown.swap else item.replies
            talk = "\n".join(f"{turn.speaker}: {turn.text}" for turn in item.history)
            yield rater, place, talk, dict(zip(SIDES, replies, strict=False))


def _labels(question: Question) -> dict[str, Point | str]:
    """The answers by the text that a rater reads."""
    texts = {f"{point} – {text}" if isinstance(point, int) else text: point for point, text in question.points.items()}
    return {**texts, "Cannot judge": CANNOT}


def _csv(study: Study, out: Path) -> None:
    rows = []
    for rater, place, talk, replies in _places(study):
        told = {"rater": rater, "place": place, "conversation": talk} | {
            f"reply {side}": replies[side] for side in replies
        }
        for name, one in study.form.questions.items():
            values = ", ".join(map(str, (*one.points, CANNOT)))
            rows.append({**told, "question": name, "ask": one.ask, "values": values, "value": None})
    write_whole(out, as_csv(rows))


def _potato(study: Study, out: Path) -> None:
    data: dict[str, list[dict[str, Any]]] = {}
    for rater, place, talk, replies in _places(study):
        told = {f"reply_{side.lower()}": text for side, text in replies.items()}
        data.setdefault(rater, []).append({"id": f"{rater}-{place}", "conversation": talk.split("\n"), **told})
    sides = SIDES[: study.form.replies]
    fields = [{"key": "conversation", "type": "dialogue", "label": "Conversation"}]
    fields += [{"key": f"reply_{side.lower()}", "type": "text", "label": f"Reply {side}"} for side in sides]
    schemes = [
        {"annotation_type": "radio", "name": name, "description": one.ask, "labels": list(_labels(one))}
        | {"label_requirement": {"required": True}, "sequential_key_binding": True}
        for name, one in study.form.questions.items()
    ]
    for rater, items in data.items():
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
        write_whole(out / rater / "config.yaml", yaml.safe_dump(config, sort_keys=False, allow_unicode=True))
        write_whole(out / rater / "data.json", json.dumps(items, indent=1, ensure_ascii=False))


def _pearmut(study: Study, out: Path) -> None:
    tasks: dict[str, list[list[dict[str, Any]]]] = {}
    for rater, place, talk, replies in _places(study):
        tasks.setdefault(rater, []).append([{"item_id": f"{rater}-{place}", "src": talk, "tgt": replies}])
    scales = {name: [one for one in of.points if isinstance(one, int)] for name, of in study.form.questions.items()}
    sliders = [{"name": name, "min": min(of or [1]), "max": max(of or [5]), "step": 1} for name, of in scales.items()]
    info = {
        "assignment": "task-based",
        "protocol": "DA",
        "shuffle": False,
        "users": list(tasks),
        "instructions": "<br>".join(study.form.instructions),
        "sliders": sliders,
    }
    campaign = {"campaign_id": out.stem, "info": info, "data": list(tasks.values())}
    write_whole(out, json.dumps(campaign, indent=1, ensure_ascii=False))


def bring_in(study: Study, folder: Path, form: str, file: Path) -> int:
    """Adds the answers in a file or folder of another tool to the study, all or none; a second time adds nothing. Gives
    how many there are. Raises RunError and CorpusError, naming up to ten answers that are none of the study."""
    reader: Callable[[Study, Path], Iterable[Answer]] = {
        "csv": _read_csv,
        "potato": _read_potato,
        "pearmut": _read_pearmut,
    }[form]
    try:
        answers = list(reader(study, file))
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = why(error) if isinstance(error, OSError | ValueError) else f"{type(error).__name__} {error}"
        raise RunError(f"this is no {form} file of a study: {reason}", where=str(file)) from error
    if not answers:
        raise ConfigError("there are no answers in it", where=str(file), hint=f"is it of format={form}?")
    with Store(folder, study) as store:
        problems: list[str] = []
        entries = []
        for where, rater, place, question, value in answers:
            mark = sha256(f"{rater} {place} {question} {value}".encode()).hexdigest()[:24]
            try:
                entry = Entry(id=f"{form}-{mark}", rater=rater, place=place, question=question, value=value)
                entries.append(store.log.check(entry))
            except (RunError, ValueError) as error:
                problems.append(f"{where}: {error.what if isinstance(error, RunError) else why(error)}")
        if problems:
            hint = "correct them, and import again: nothing was added"
            raise unusable(
                f"{len(problems)} of {len(answers)} answers are none of this study", problems, str(file), hint
            )
        for entry in entries:
            store.save(entry)
    return len(entries)


def _read_csv(_: Study, file: Path) -> Iterator[Answer]:
    text = file.read_text(encoding="utf-8-sig")
    between = ";" if ";" in text.partition("\n")[0] else ","  # of spreadsheets where a comma stands in numbers
    for number, row in enumerate(csv.DictReader(StringIO(text), delimiter=between), start=2):
        if value := (row["value"] or "").strip():
            yield f"row {number}", row["rater"], int(_point(row["place"])), row["question"], _point(value)


def _point(value: str) -> int | str:
    """A cell: spreadsheets write 4 as 4.0, or as 4,0."""
    number = value.removesuffix(".0").removesuffix(",0")
    return int(number) if number.isdigit() else value


def _read_potato(study: Study, folder: Path) -> Iterator[Answer]:
    for file in sorted(folder.glob("**/user_state.json")):
        state = json.loads(file.read_bytes())
        for id, labels in state["instance_id_to_label_to_value"].items():
            rater, _, place = id.rpartition("-")
            for label, _ in labels:
                if label["schema"] in study.form.questions:
                    value = _labels(study.form.questions[label["schema"]]).get(label["name"], label["name"])
                    yield f"{file}, {id}", rater, int(place), label["schema"], value


def _read_pearmut(study: Study, file: Path) -> Iterator[Answer]:
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        one = json.loads(line)
        for item, replies in zip(one["item"], one["annotation"], strict=True):
            rater, _, place = item["item_id"].rpartition("-")
            for question in study.form.questions:
                given = [replies[side]["sliders"][question] for side in SIDES[: study.form.replies]]
                if None not in given:
                    yield f"line {number}", rater, int(place), question, _preferred(given)


def _preferred(given: list[Any]) -> Any:
    if len(given) == 1:
        return int(given[0]) if given[0] == int(given[0]) else given[0]
    return "tie" if given[0] == given[1] else "first" if given[0] > given[1] else "second"
