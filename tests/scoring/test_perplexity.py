"""Perplexities: of the generating model by hand, of another model against transformers' own loss."""

import re
import shutil
from itertools import pairwise
from math import exp, isnan
from pathlib import Path
from typing import Any

import pytest

from mmerg.errors import ConfigError
from mmerg.scoring.perplexity import ref_perplexity, self_perplexity
from tests import tiny_text
from tests.scoring.answers import answer, compute, count
from tests.scoring.run_builder import manifest_of
from tools.tiny_vision import VOCABULARY, WIDTH, byte_alphabet, gguf

MANIFEST = manifest_of([])
SPOKEN = "<s> <unk> oh no dear that is hard i am so sorry , . keys again my lost"
WORDS = SPOKEN.split()


def test_tokens_weigh_alike_whichever_reply_they_are_of() -> None:
    answers = [
        answer("a/1", logprobs=(-1.0, -2.0, -3.0)),
        answer("b/1", logprobs=(-0.5,)),
        answer("c/1"),
        answer("d/1", None),
    ]
    assert compute(self_perplexity(MANIFEST), answers) == pytest.approx(exp(6.5 / 4))
    assert count(self_perplexity(MANIFEST), answers) == 2
    assert isnan(compute(self_perplexity(MANIFEST), answers[2:]))


def test_replies_in_json_and_replies_chosen_by_it_are_figures_of_their_own() -> None:
    node = {"result": {"response": "o.reply"}, "loop": "candidates"}
    signature = self_perplexity(manifest_of([], config={"system": node})).signature
    assert "|reply:in-json|chosen-by-it|" in signature


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random GPT-2 of a few thousand weights whose words are WORDS, in a folder."""
    torch = pytest.importorskip("torch", reason="the extra `metrics` is not installed")
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("gpt2")
    words: Any = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="<unk>"))
    words.pre_tokenizer = Whitespace()
    made: Any = PreTrainedTokenizerFast
    made(tokenizer_object=words, bos_token="<s>", unk_token="<unk>").save_pretrained(folder)
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=len(WORDS), n_positions=12, n_embd=16, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0
    )
    GPT2LMHeadModel(config).save_pretrained(folder)
    return folder


def loss(folder: Path, words: str, scored: int) -> float:
    """Σ −ln p of the last `scored` words, by transformers' own loss."""
    import torch
    from transformers import GPT2LMHeadModel

    ids = torch.tensor([[WORDS.index(word) for word in words.split()]])
    labels = ids.clone()
    labels[:, :-scored] = -100
    model: Any = GPT2LMHeadModel.from_pretrained(folder)
    with torch.inference_mode():
        return float(model(input_ids=ids, labels=labels).loss) * scored


def test_another_model_s_perplexity_is_its_own_loss(tiny: Path) -> None:
    answers = [answer("a/1", "oh no"), answer("b/1", "that is so hard ."), answer("c/1", None)]
    plain = ref_perplexity(str(tiny))
    total = loss(tiny, "<s> oh no", 2) + loss(tiny, "<s> that is so hard .", 5)
    assert compute(plain, answers) == pytest.approx(exp(total / 7), rel=1e-5)
    assert count(plain, answers) == 2
    assert compute(plain, answers[::-1]) == pytest.approx(compute(plain, answers), rel=1e-12)
    long = [answer("b/1", "so " * 12), answer("c/1", "so " * 11)]
    assert list(plain.mask(long)) == [False, True]


def test_the_signature_names_the_model_by_its_weights(tiny: Path, tmp_path: Path) -> None:
    signature = ref_perplexity(str(tiny)).signature
    assert signature.startswith(f"lm:{tiny.name}|weights:")
    assert "|start:bos|float32|context:none|weight:token|failed:left-out||transformers-" in signature
    assert re.search(r"\|\|.*\|torch-[^|]+\|device:(cpu|cuda)$", signature)
    assert str(tiny.parent) not in signature
    from transformers import AutoTokenizer, GPT2LMHeadModel

    other: Any = GPT2LMHeadModel.from_pretrained(tiny)
    other.transformer.wte.weight.data[0, 0] += 1
    folder = tmp_path / tiny.name
    other.save_pretrained(folder)
    AutoTokenizer.from_pretrained(tiny).save_pretrained(folder)
    assert ref_perplexity(str(folder)).signature != signature


def test_a_model_that_is_not_there(tiny: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    shutil.copytree(tiny, damaged)
    weights = (damaged / "model.safetensors").read_bytes()
    (damaged / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    (tmp_path / "damaged.gguf").write_bytes(b"GGUF" + bytes(40))
    for reference in (*map(str, (tmp_path, damaged, tmp_path / "none.gguf", tmp_path / "damaged.gguf")), ""):
        with pytest.raises(ConfigError, match="the model cannot be loaded"):
            ref_perplexity(reference)


def test_a_gguf_s_perplexity_is_that_of_its_weights_and_tokens(tmp_path: Path) -> None:
    """A model of letters, quantised as files are: behind each of a word its next one is likely, and nothing else."""
    for package in ("torch", "gguf", "accelerate"):
        pytest.importorskip(package, reason="the extra `metrics` is not installed")
    pairs, named = tiny_text.parts()
    pairs["tokenizer.ggml.tokens"] = [*byte_alphabet()[:255], "ot", "<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    pairs["tokenizer.ggml.merges"] = ["o t"]
    for name, rows in named.items():
        rows[:] = rows if "norm" in name else 0.0
    tokens = [*b"keys l", 255]
    for number, (token, following) in enumerate(pairwise([*tokens, tokens[0]])):
        named["token_embd.weight"][token, number] = named["output.weight"][following, number] = 1.0
    (tmp_path / "letters.gguf").write_bytes(gguf(pairs, named))
    metric = ref_perplexity(str(tmp_path / "letters.gguf"))
    others = exp(WIDTH**0.5) + VOCABULARY - 1  # a vector of length 1 is scaled to the square root of its width
    assert compute(metric, [answer("a/1", "keys lot")]) == pytest.approx(others / exp(WIDTH**0.5), rel=1e-3)
    assert compute(metric, [answer("a/1", "otl syek")]) == pytest.approx(others, rel=1e-3)
