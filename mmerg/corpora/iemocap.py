"""IEMOCAP: ten actors in pairs, five sessions of plays and improvisations, an avi a dialogue (Busso et al., 2008).

Reads transcriptions and evaluations (`iemocap_files`) of the full release as it is unpacked, and names the video.
`sentences/`, sound, motion capture and the evaluators' single votes are left alone; no video is opened.

    corpus = Iemocap("~/data/IEMOCAP_full_release", sessions=(5,)).load()
    Protocol("labelled", max_per_dialogue=1).select(corpus)    # 31 samples, one a dialogue
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from mmerg.corpora.dialogue import Clip, Corpus, Crop, Dialogue, Turn
from mmerg.corpora.files import found, is_file, read_bytes, refuse_other, root_folder
from mmerg.corpora.iemocap_files import (
    DIALOGUE,
    EVALUATIONS,
    FILMS,
    ROOT_HINT,
    TRANSCRIPTIONS,
    Utterance,
    dialogue_names,
    read_evaluation,
    read_transcription,
    refuse_without,
    session_folder,
)
from mmerg.errors import ConfigError, CorpusError

LABEL_SETS = {
    "six": ("angry", "happy", "excited", "sad", "frustrated", "neutral"),
    "four": ("angry", "happy", "sad", "neutral"),
}
WORDS = {"ang": "angry", "hap": "happy", "exc": "excited", "sad": "sad", "fru": "frustrated", "neu": "neutral"}
OTHER_CODES = ("xxx", "sur", "fea", "oth", "dis")  # xxx: the evaluators have no majority
SESSIONS = (1, 2, 3, 4, 5)
ACTORS = {"F": "Woman", "M": "Man"}
LEFT, RIGHT = Crop(0.0, 0.0, 0.5, 1.0), Crop(0.5, 0.0, 0.5, 1.0)
SIDES = ("auto", "swapped", "left", "right", "full")


@dataclass(frozen=True)
class Iemocap:
    """Sessions of IEMOCAP. `root` is IEMOCAP_full_release or a folder that holds it.

    label_set: six, or four, which counts excited as happy; turns with a label outside the set have none.
    speaker_side: which part of the picture a turn's clip shows. Both actors are filmed side by side; auto takes the
    left half for the one who wears the markers (the letter in the dialogue's name) and the right half for the other,
    swapped the opposite; left and right take that half for both, full the whole picture. `clips=False` reads the words
    alone. Turn times and clip spans are seconds on one clock, that of the dialogue's avi.
    """

    root: str | Path
    sessions: Sequence[int] | None = (5,)
    label_set: str = "six"
    speaker_side: str = "auto"
    clips: bool = True

    def load(self) -> Corpus:
        """Read the sessions.

        Damaged lines are left out and counted in `notes` (docs/datasets.md names the counts). Raises ConfigError for a
        session, label set or side that there is not, CorpusError for a folder or file that is missing, for a dialogue
        with turns and not one evaluation, and for sessions without a turn.
        """
        sessions = self._sessions()
        root = root_folder(self.root, ROOT_HINT)
        notes: Counter[str] = Counter()
        digest = sha256()
        dialogues: list[Dialogue] = []
        absent: dict[str, str] = {}
        for session in sessions:
            folder = session_folder(root, session)
            unjudged: set[str] = set()
            for name in dialogue_names(folder):
                spoken, judged = (read_bytes(folder / kind / f"{name}.txt") for kind in (TRANSCRIPTIONS, EVALUATIONS))
                digest.update(f"{name}\0{len(spoken)}\0{len(judged)}\0".encode() + spoken + judged)
                utterances = read_transcription(spoken, name, notes)
                codes = read_evaluation(judged, notes)
                if utterances and not codes:
                    unjudged.add(name)
                film = folder / FILMS / f"{name}.avi"
                filmed = self.clips and is_file(film)
                turns = self._turns(name, film if filmed else None, utterances, codes, notes)
                if self.clips and not filmed:
                    looked_for = film.relative_to(root).as_posix()
                    absent |= {f"{name}/{number}": looked_for for number in range(1, len(turns) + 1)}
                if turns:
                    dialogues.append(Dialogue(name, turns, script=_script(name), conversation=name))
                notes["dialogues_without_turns"] += not turns
            refuse_without(folder, f"{EVALUATIONS} holds no evaluation in the files of", unjudged)
        notes["clips_missing"] = len(absent)
        split = f"session{'+'.join(map(str, sessions))}"
        if not dialogues:
            what = f"no transcription of IEMOCAP's {split} holds a turn"
            raise CorpusError(what, where=str(root), hint=f"take {TRANSCRIPTIONS} as published")
        return Corpus(
            name="iemocap",
            split=split,
            labels=LABEL_SETS[self.label_set],
            dialogues=tuple(dialogues),
            fingerprint=digest.hexdigest(),
            notes=found(notes),
            absent=absent,
        )

    def _sessions(self) -> list[int]:
        """The sessions asked for, each once. Raises ConfigError where a setting makes no sense."""
        asked = self.sessions or ()
        if not asked or any(type(session) is not int or session not in SESSIONS for session in asked):
            given = ", ".join(map(str, asked)) or "none"
            hint = "dataset.sessions is a list of 1 to 5, such as [5] or [1,2,3,4]"
            raise ConfigError(f"IEMOCAP has sessions 1 to 5; asked for: {given}", where="dataset.sessions", hint=hint)
        refuse_other("dataset.label_set", self.label_set, LABEL_SETS)
        refuse_other("dataset.reader.speaker_side", self.speaker_side, SIDES)
        return sorted(set(asked))

    def _turns(
        self,
        dialogue: str,
        film: Path | None,
        utterances: Sequence[Utterance],
        codes: Mapping[str, str],
        notes: Counter[str],
    ) -> tuple[Turn, ...]:
        """The turns, without a label where an utterance has none of the set."""
        merged = {"exc": "happy"} if self.label_set == "four" else {}
        words = {code: word for code, word in (WORDS | merged).items() if word in LABEL_SETS[self.label_set]}
        notes["evaluations_without_turn"] += len(codes.keys() - {said.id for said in utterances})
        turns: list[Turn] = []
        for said in utterances:
            code = codes.get(said.id, "missing")
            if code not in words:
                notes[f"labels_{code if code in (*WORDS, *OTHER_CODES, 'missing') else 'unknown'}"] += 1
            end = said.end if said.end > said.start else None
            notes["spans_reversed"] += end is None
            clip = Clip(film, said.start, end, self._crop(dialogue, said.actor)) if film and end else None
            turns.append(Turn(ACTORS[said.actor], said.text, words.get(code), clip, said.start, end))
        return tuple(turns)

    def _crop(self, dialogue: str, actor: str) -> Crop | None:
        if self.speaker_side in ("auto", "swapped"):
            wears_markers = dialogue[len("Ses05")] == actor
            return LEFT if wears_markers == (self.speaker_side == "auto") else RIGHT
        return {"left": LEFT, "right": RIGHT}.get(self.speaker_side)


def _script(dialogue: str) -> str | None:
    """The play of a scripted dialogue, without part and take: sessions perform the same ones."""
    match = DIALOGUE.fullmatch(dialogue)
    return f"script{match[4]}" if match and match[3] == "script" else None
