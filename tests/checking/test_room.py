"""The longest dialogue is compared with the context by the prompts of a run, without a model or clips."""

from mmerg.backends.protocol import Engine
from mmerg.checking.probes import Finding
from mmerg.checking.room import check_room
from mmerg.settings.model import RunSettings
from mmerg.settings.parse import parse
from tests.configs import compose_config


def find_room(
    num_ctx: int, *settings: str, vision: bool = True, context_length: int = 0, image_tokens: int = 576
) -> Finding:
    engine = Engine(
        backend="ollama",
        version="1",
        model="m",
        digest="d",
        capabilities=("completion", "vision") if vision else ("completion",),
        context_length=context_length or num_ctx,
        load={"num_ctx": num_ctx},
    )
    config = compose_config("dataset=demo", "backbone=llava-13b", *settings)
    return check_room(parse(config, RunSettings), engine, image_tokens)


def estimate_tokens(*settings: str, vision: bool = True, image_tokens: int = 576) -> int:
    _, text = find_room(30_000, *settings, vision=vision, image_tokens=image_tokens)
    return int(text.split(" up to about ")[1].split()[0])


def test_a_dialogue_that_does_not_fit_fails_with_remedies() -> None:
    assert find_room(30_000)[0] == "ok"
    assert find_room(30_000, image_tokens=0)[0] == "open"  # the server does not count images
    assert find_room(30_000, "frames=none", image_tokens=0)[0] == "ok"
    status, text = find_room(3_000, context_length=30_000)
    assert status == "failed"
    assert "a larger backbone.load.num_ctx" in text
    assert "num_ctx" not in find_room(3_000)[1]


def test_images_histories_replies_and_repairs_count() -> None:
    plain = estimate_tokens()
    assert estimate_tokens(image_tokens=1576) == plain + 1000  # one grid
    several = ("backbone.max_images=8", "frames.per_clip=2")
    assert estimate_tokens(*several, image_tokens=1576) == estimate_tokens(*several) + 4 * 1000  # two clips
    fewer = ("system.max_repairs=0", "frames=none", "protocol.history=1")
    assert all(estimate_tokens(settings) < plain for settings in fewer)
    assert estimate_tokens(vision=False) < plain


def test_exemplars_count_only_for_the_agent_that_sees_them() -> None:
    assert (
        estimate_tokens("memory=none") == estimate_tokens()
    )  # the longest call is of an agent with images and without exemplars
    many = "memory.top_k=50"
    assert estimate_tokens(many) > estimate_tokens()
    assert estimate_tokens(many, image_tokens=1000) == estimate_tokens(many)
