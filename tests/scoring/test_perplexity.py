"""Perplexity under the generating model by hand, and under another model by the loss of transformers."""

import re
import shutil
from math import exp, isnan
from pathlib import Path
from typing import Any

import pytest

from mmerg.errors import ConfigError
from mmerg.scoring.perplexity import ref_perplexity, self_perplexity
from tests.scoring.results import compute, count, sample_result
from tests.scoring.run_builder import make_manifest

MANIFEST = make_manifest([])
SPOKEN = "<s> <unk> oh no dear that is hard i am so sorry , . keys again my lost"
WORDS = SPOKEN.split()


def test_self_perplexity_gives_all_tokens_the_same_weight() -> None:
    results = [
        sample_result("a/1", logprobs=(-1.0, -2.0, -3.0)),
        sample_result("b/1", logprobs=(-0.5,)),
        sample_result("c/1"),
        sample_result("d/1", None),
    ]
    assert compute(self_perplexity(MANIFEST), results) == pytest.approx(exp(6.5 / 4))
    assert count(self_perplexity(MANIFEST), results) == 2
    assert isnan(compute(self_perplexity(MANIFEST), results[2:]))


def test_replies_in_json_or_selected_by_it_have_another_signature() -> None:
    node = {"result": {"response": "o.reply"}, "loop": "candidates"}
    signature = self_perplexity(make_manifest([], config={"system": node})).signature
    assert "|reply:in-json|chosen-by-it|" in signature


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a random GPT-2 of a few thousand weights and the vocabulary WORDS."""
    torch = pytest.importorskip("torch", reason="the extra `metrics` is not installed")
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("gpt2")
    words: Any = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="<unk>"))
    words.pre_tokenizer = Whitespace()
    fast_tokenizer: Any = PreTrainedTokenizerFast
    fast_tokenizer(tokenizer_object=words, bos_token="<s>", unk_token="<unk>").save_pretrained(folder)
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=len(WORDS), n_positions=12, n_embd=16, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0
    )
    GPT2LMHeadModel(config).save_pretrained(folder)
    return folder


def loss(folder: Path, words: str, scored: int) -> float:
    """Σ −ln p of the last `scored` words, from the loss of transformers."""
    import torch
    from transformers import GPT2LMHeadModel

    ids = torch.tensor([[WORDS.index(word) for word in words.split()]])
    labels = ids.clone()
    labels[:, :-scored] = -100
    model: Any = GPT2LMHeadModel.from_pretrained(folder)
    with torch.inference_mode():
        return float(model(input_ids=ids, labels=labels).loss) * scored


def test_reference_perplexity_is_the_loss_of_the_model(tiny: Path) -> None:
    results = [sample_result("a/1", "oh no"), sample_result("b/1", "that is so hard ."), sample_result("c/1", None)]
    plain = ref_perplexity(str(tiny))
    total = loss(tiny, "<s> oh no", 2) + loss(tiny, "<s> that is so hard .", 5)
    assert compute(plain, results) == pytest.approx(exp(total / 7), rel=1e-5)
    assert count(plain, results) == 2
    assert compute(plain, results[::-1]) == pytest.approx(compute(plain, results), rel=1e-12)
    long = [sample_result("b/1", "so " * 12), sample_result("c/1", "so " * 11)]
    assert list(plain.mask(long)) == [False, True]


def test_the_signature_depends_on_the_weights(tiny: Path, tmp_path: Path) -> None:
    signature = ref_perplexity(str(tiny)).signature
    assert signature.startswith(f"lm:{tiny.name}|weights:")
    assert "|start:bos|float32|context:none|weight:token|failed:skipped||transformers-" in signature
    assert re.search(r"\|\|.*\|torch-[^|]+\|device:(cpu|cuda)$", signature)
    assert str(tiny.parent) not in signature
    from transformers import AutoTokenizer, GPT2LMHeadModel

    other: Any = GPT2LMHeadModel.from_pretrained(tiny)
    other.transformer.wte.weight.data[0, 0] += 1
    folder = tmp_path / tiny.name
    other.save_pretrained(folder)
    AutoTokenizer.from_pretrained(tiny).save_pretrained(folder)
    assert ref_perplexity(str(folder)).signature != signature


def test_missing_or_damaged_models_are_refused(tiny: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    shutil.copytree(tiny, damaged)
    weights = (damaged / "model.safetensors").read_bytes()
    (damaged / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    for reference in (*map(str, (tmp_path, damaged)), ""):
        with pytest.raises(ConfigError, match="the model cannot be loaded"):
            ref_perplexity(reference)
