"""IEMOCAP: ten actors in pairs, five sessions of plays and improvisations, an avi a dialogue (Busso et al., 2008).

Reads transcriptions and evaluations (`iemocap_files`) of the full release as it is unpacked; no video is opened.

    corpus = Iemocap("~/data/IEMOCAP_full_release", sessions=(5,)).load()
    Protocol("labelled", max_per_dialogue=1).select(corpus)    # 31 samples, one a dialogue
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from mmerg.corpora import iemocap_files as release
from mmerg.corpora.dialogue import Clip, Corpus, Crop, Dialogue, Turn
from mmerg.corpora.files import Clips, found, read_bytes, refuse_other, root_folder
from mmerg.errors import ConfigError, CorpusError

LABEL_SETS = {
    "six": ("angry", "happy", "excited", "sad", "frustrated", "neutral"),
    "four": ("angry", "happy", "sad", "neutral"),
}
WORDS = {"ang": "angry", "hap": "happy", "exc": "excited", "sad": "sad", "fru": "frustrated", "neu": "neutral"}
OTHER_CODES = ("xxx", "sur", "fea", "oth", "dis", "missing")  # xxx: the evaluators have no majority
ACTORS = {"F": "Woman", "M": "Man"}
LEFT, RIGHT = Crop(0.0, 0.0, 0.5, 1.0), Crop(0.5, 0.0, 0.5, 1.0)
SIDES = {  # what is shown of who wears the markers, and of the other
    "auto": (LEFT, RIGHT),
    "swapped": (RIGHT, LEFT),
    "left": (LEFT, LEFT),
    "right": (RIGHT, RIGHT),
    "full": (None, None),
}


@dataclass(frozen=True)
class Iemocap:
    """Sessions of IEMOCAP. `root` is IEMOCAP_full_release or a folder that holds it.

    label_set: six, or four, which counts excited as happy; turns with a label outside the set have none.
    speaker_side: which part of the picture a turn's clip shows. Both actors are filmed side by side; auto takes the
    left half for who wears the markers (the letter in the dialogue's name) and the right half for the other, swapped
    the opposite. `clips=False` reads the words alone. Times are seconds on the clock of the dialogue's avi.
    """

    root: str | Path
    sessions: Sequence[int] | None = (5,)
    label_set: str = "six"
    speaker_side: str = "auto"
    clips: bool = True

    def load(self) -> Corpus:
        """Read the sessions. What is damaged is left out and counted in `notes`. Raises ConfigError for a session,
        label set or side that there is not, CorpusError for what stops a run (docs/datasets.md lists both)."""
        asked = self.sessions or ()
        if not asked or any(type(session) is not int or session not in range(1, 6) for session in asked):
            given = ", ".join(map(str, asked)) or "none"
            hint = "dataset.sessions is a list of 1 to 5, such as [5] or [1,2,3,4]"
            raise ConfigError(f"IEMOCAP has sessions 1 to 5; asked for: {given}", where="dataset.sessions", hint=hint)
        refuse_other("dataset.label_set", self.label_set, LABEL_SETS)
        refuse_other("dataset.reader.speaker_side", self.speaker_side, SIDES)
        root = root_folder(self.root, release.ROOT_HINT)
        sessions = sorted(set(asked))
        notes: Counter[str] = Counter()
        clips, digest = Clips(), sha256()
        dialogues: list[Dialogue] = []
        for session in sessions:
            folder = release.session_folder(root, session)
            unjudged: set[str] = set()
            for name in release.dialogue_names(folder):
                spoken, judged = (
                    read_bytes(folder / kind / f"{name}.txt") for kind in (release.TRANSCRIPTIONS, release.EVALUATIONS)
                )
                digest.update(f"{name}\0{len(spoken)}\0{len(judged)}\0".encode() + spoken + judged)
                utterances = release.read_transcription(spoken, name, notes)
                codes = release.read_evaluation(judged, notes)
                notes["evaluations_without_turn"] += len(codes.keys() - {said.id for said in utterances})
                notes["dialogues_without_turns"] += not utterances
                if not utterances:
                    continue
                if not codes:
                    unjudged.add(name)
                film = (folder / release.FILMS / f"{name}.avi").relative_to(root).as_posix()
                turns: list[Turn] = []
                for number, said in enumerate(utterances, start=1):
                    file = clips.find(f"{name}/{number}", film, [root]) if self.clips else None
                    turns.append(self._turn(said, name, codes, file, notes))
                play = name.split("_")[1][: len("script01")]  # without part and take: sessions perform the same ones
                script = play if play.startswith("script") else None
                dialogues.append(Dialogue(name, tuple(turns), script=script, conversation=name))
            release.refuse_without(folder, f"{release.EVALUATIONS} holds no evaluation in the files of", unjudged)
        notes["clips_missing"] = len(clips.absent)
        split = f"session{'+'.join(map(str, sessions))}"
        if not dialogues:
            what = f"no transcription of IEMOCAP's {split} holds a turn"
            raise CorpusError(what, where=str(root), hint=f"take {release.TRANSCRIPTIONS} as published")
        labels = LABEL_SETS[self.label_set]
        return Corpus(
            "iemocap", split, labels, tuple(dialogues), digest.hexdigest(), notes=found(notes), absent=clips.absent
        )

    def _turn(
        self, said: release.Utterance, dialogue: str, codes: Mapping[str, str], film: Path | None, notes: Counter[str]
    ) -> Turn:
        """The turn, without a label where the utterance has none of the set."""
        code = codes.get(said.id, "missing")
        emotion = "happy" if (code, self.label_set) == ("exc", "four") else WORDS.get(code)
        if emotion not in LABEL_SETS[self.label_set]:
            notes[f"labels_{code if code in (*WORDS, *OTHER_CODES) else 'unknown'}"] += 1
            emotion = None
        end = said.end if said.end > said.start else None
        notes["spans_reversed"] += end is None
        markers, other = SIDES[self.speaker_side]
        crop = markers if said.actor == dialogue[len("Ses05")] else other
        clip = Clip(film, said.start, end, crop) if film and end else None
        return Turn(ACTORS[said.actor], said.text, emotion, clip, said.start, end)
