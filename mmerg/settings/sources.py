"""Settings of the inputs besides the dialogue: exemplars from a memory, and hints of a small empathetic model."""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeInt, PositiveInt

from mmerg.settings.kinds import PLACE, RUNTIME_ONLY, ClassSpec, Hosts, Name, SettingsModel, Similarity, Word


class KeySettings(SettingsModel):
    text: Literal["history", "situation_or_history"] = "history"
    turns: PositiveInt = 3

    @property
    def named(self) -> str:
        return self.text.replace("_", " ")


class EmbedderSettings(ClassSpec):
    """The class that embeds texts. A user's class may have more settings."""

    folder: Annotated[str | None, PLACE] = None
    max_length: Annotated[int, Field(ge=8)] = 256
    hosts: Annotated[Hosts, RUNTIME_ONLY] = ()


class MemorySettings(SettingsModel):
    """A retrieval memory, which by default is the source M: see `conf/memory/minilm.yaml`, which explains each key."""

    target: Word = Field("mmerg.sources.exemplars.FromMemory", alias="_target_")
    name: Name
    top_k: Annotated[int, Field(ge=0, le=50)] = 1
    key: KeySettings = KeySettings()
    emotion: Literal["any", "require_or_any"] = "any"
    min_similarity: Similarity | None = None
    min_words: PositiveInt = 1
    exclude_same_script: bool = True
    exclude_same_scene: bool = True
    exclude_same_reply: bool = True
    exclude_similarity: Similarity | None = 0.98
    embedder: EmbedderSettings | None = None


class SemSettings(SettingsModel):
    """A small empathetic model as a source: see `conf/system/hef.yaml`, which explains each key."""

    file: str | None = None
    k2: NonNegativeInt = 20
    cause_words: bool = True
    transductive: bool = False
