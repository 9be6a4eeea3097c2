"""Whether the longest dialogue fits: counted from the prompts that a run would send, with no model and no clip."""

from mmerg.backends.protocol import Engine
from mmerg.checking.probes import Finding
from mmerg.checking.room import room
from mmerg.settings.model import RunSettings
from mmerg.settings.parse import parse
from tests.composed import composed


def found(num_ctx: int, *settings: str, vision: bool = True, own: int = 0, image_tokens: int = 576) -> Finding:
    capabilities = ("completion", "vision") if vision else ("completion",)
    engine = Engine(
        backend="ollama",
        version="1",
        model="m",
        digest="d",
        capabilities=capabilities,
        context_length=own or num_ctx,
        load={"num_ctx": num_ctx},
    )
    config = composed("dataset=demo", "memory=none", "backbone=llava-13b", *settings)
    return room(parse(config, RunSettings), engine, image_tokens)


def tokens(one: Finding) -> int:
    return int(one[1].split(" up to about ")[1].split()[0])


def test_what_does_not_fit_is_told_with_what_to_do() -> None:
    assert found(30_000)[0] == "ok"
    small = found(3_000, own=30_000)
    assert small[0] == "failed"
    assert "or a larger backbone.load.num_ctx" in small[1]
    assert "larger" not in found(3_000)[1]
    assert found(1_000)[1].endswith("frames=none, or another model")


def test_images_replies_and_repairs_are_counted() -> None:
    plain = tokens(found(30_000))
    assert tokens(found(30_000, image_tokens=1576)) == plain + 1000  # one grid
    several = ("backbone.max_images=8", "frames.per_clip=2")
    more = tokens(found(30_000, *several, image_tokens=1576)) - tokens(found(30_000, *several))
    assert more == 4 * 1000  # two clips
    assert tokens(found(30_000, "system.max_repairs=0")) < plain
    assert tokens(found(30_000, "frames=none")) < plain
    assert tokens(found(30_000, vision=False)) < plain
    assert tokens(found(30_000, "protocol.history=1")) < plain


def test_pictures_that_the_server_does_not_count_leave_it_open() -> None:
    status, text = found(30_000, image_tokens=0)
    assert (status, text.endswith(", without pictures")) == ("open", True)
    assert found(30_000, "frames=none", image_tokens=0)[0] == "ok"
    assert found(3_000, image_tokens=0)[0] == "failed"
