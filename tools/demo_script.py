"""What the demo corpus says and shows: the people, the places, and five dialogues, written for this project.

Knows nothing of drawing. A `Say` without seconds has no clip; turns of one `reel` share one file.
"""

from __future__ import annotations

from dataclasses import dataclass

from demo_face import Colour, Person

PEOPLE = {
    "Maya": Person((150, 185, 235), (40, 60, 95), "long", (150, 90, 60), (90, 120, 60), (110, 100, 200)),
    "Tom": Person((100, 140, 195), (25, 25, 30), "short", (60, 120, 70), (30, 60, 110), (85, 80, 155), beard=True),
    "Ingrid": Person(
        (165, 200, 240), (40, 85, 150), "bun", (80, 60, 170), (160, 130, 70), (120, 110, 215), glasses=True
    ),
    "Kofi": Person((75, 105, 160), (20, 20, 25), "curly", (60, 170, 210), (20, 45, 80), (70, 65, 140), broad=0.97),
    "Elif": Person((130, 170, 220), (25, 30, 45), "bun", (130, 60, 130), (40, 70, 110), (95, 80, 190), broad=0.96),
    "Leo": Person((155, 190, 238), (50, 105, 150), "short", (110, 80, 40), (150, 120, 60), (120, 115, 195), broad=1.03),
}


@dataclass(frozen=True)
class Place:
    """A wall from `top` to `bottom` colour with a piece of furniture: window, shelf, lamp, door or plant."""

    top: Colour
    bottom: Colour
    furniture: str


PLACES = {
    "study": Place((196, 205, 214), (150, 165, 182), "shelf"),
    "kitchen": Place((190, 215, 205), (140, 175, 165), "window"),
    "hall": Place((120, 105, 95), (70, 62, 58), "lamp"),
    "office": Place((215, 205, 190), (185, 170, 150), "plant"),
    "yard": Place((225, 195, 150), (120, 165, 130), "door"),
}


@dataclass(frozen=True)
class Say:
    """A turn. `seconds` is the clip's length, 0 for none; `face` is shown where it differs from the label."""

    speaker: str
    text: str
    emotion: str
    seconds: float = 0.0
    reel: str = ""
    face: str = ""


@dataclass(frozen=True)
class Talk:
    """A dialogue; `where` gives each speaker's place and the side of the picture, as a fraction of its width."""

    id: str
    where: dict[str, tuple[str, float]]
    turns: tuple[Say, ...]


TALKS = (
    Talk(
        "letter",
        {"Maya": ("study", 0.34), "Tom": ("kitchen", 0.67)},
        (
            Say("Tom", "You have been staring at that envelope all morning. What does it say?", "neutral", 3.0),
            Say(
                "Maya",
                "They turned me down. Three years of work on that application, and they turned me down.",
                "sadness",
                3.5,
            ),
            Say("Tom", "Oh no. I was so sure that this was the one.", "surprise", 2.5),
            Say("Maya", "I keep thinking I should have known I wasn't good enough.", "sadness", 3.0),
            Say(
                "Tom",
                "One letter doesn't undo three years. It hurts because you gave it everything; "
                "let me sit with you for a bit.",
                "sadness",
            ),
        ),
    ),
    Talk(
        "fine",
        {"Leo": ("office", 0.66), "Ingrid": ("study", 0.33)},
        (
            Say("Ingrid", "How was the weekend at your father's place?", "neutral", 2.5),
            Say("Leo", "It was fine. Really, I'm fine, nothing to talk about.", "sadness", 3.0, reel="talk"),
            Say("Ingrid", "You packed up the whole house by yourself?", "surprise"),
            Say(
                "Leo",
                "Yes. It's just boxes. His coat was still hanging by the door, that's all.",
                "sadness",
                3.5,
                reel="talk",
            ),
            Say(
                "Ingrid",
                "That coat must have been hard to see. You don't have to be fine with me, Leo.",
                "sadness",
                2.5,
                reel="talk",
                face="concern",
            ),
        ),
    ),
    Talk(
        "noise",
        {"Elif": ("hall", 0.35), "Kofi": ("kitchen", 0.66)},
        (
            Say("Elif", "Did you hear that? Somebody is trying the handle of the back door!", "fear", 2.5),
            Say("Kofi", "Wait, what? At this hour?", "surprise", 2.0),
            Say("Elif", "I'm shaking. I can't even hold the phone properly.", "fear", 3.0),
            Say(
                "Kofi",
                "Stay on the line with me and lock the bedroom door. I'm calling the police on "
                "the other phone, and I'm not hanging up.",
                "fear",
            ),
        ),
    ),
    Talk(
        "fridge",
        {"Kofi": ("kitchen", 0.33), "Maya": ("office", 0.66), "Tom": ("yard", 0.5)},
        (
            Say("Kofi", "Ugh, something in this fridge has died. Smell this milk!", "disgust", 2.5),
            Say("Maya", "Get it away from me, that is revolting.", "disgust", 2.0),
            Say("Tom", "Forget the milk, you two. They gave me the job! I start on Monday!", "joy", 3.0),
            Say("Maya", "What? You said they had picked somebody else!", "surprise", 2.0),
            Say("Tom", "They called an hour ago. I have been running up and down the street since.", "joy", 2.5),
            Say(
                "Kofi",
                "Tom, that is wonderful! You never stopped trying. Sit down and tell us every word they said.",
                "joy",
            ),
        ),
    ),
    Talk(
        "bicycle",
        {"Ingrid": ("yard", 0.34), "Elif": ("office", 0.67)},
        (
            Say("Ingrid", "He sold my bicycle. My own brother sold my bicycle without asking!", "anger", 3.0),
            Say("Elif", "He did what? The red one you built yourself?", "surprise", 2.0),
            Say("Ingrid", "And then he laughed about it. I could scream.", "anger", 2.5),
            Say(
                "Elif",
                "I'd be furious too. You put every piece of it together by hand, and he didn't even think to ask you.",
                "anger",
            ),
        ),
    ),
)
