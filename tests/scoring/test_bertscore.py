"""BERTScore gives the scores of the bert-score package, with a random BERT of a few thousand weights."""

from pathlib import Path
from typing import Any

import pytest

from mmerg.errors import ConfigError
from mmerg.scoring.bertscore import bert_scores
from tests.scoring.results import compute, count, make_pairs, sample_result

VOCABULARY = "[PAD] [UNK] [CLS] [SEP] [MASK] oh no dear that is hard i am so sorry , . ! ? you"
WORDS = VOCABULARY.split()
PAIRS = [
    ("oh no .", "oh dear ."),
    ("i am so sorry , that is so hard !", "no !"),
    ("is that you ?", "i am so sorry , you dear ."),
    ("no", "no"),
]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a random BERT of the vocabulary WORDS. Its tokenizer has no maximum length, as with many models."""
    torch = pytest.importorskip("torch", reason="the extra `metrics` is not installed")
    pytest.importorskip("bert_score", reason="the extra `metrics` is not installed")
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from tokenizers.processors import TemplateProcessing
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("bert")
    words: Any = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = Whitespace()
    words.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    special = {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]"}
    fast_tokenizer: Any = PreTrainedTokenizerFast
    fast_tokenizer(tokenizer_object=words, **special).save_pretrained(folder)
    torch.manual_seed(0)
    size: dict[str, Any] = {
        "hidden_size": 16,
        "num_hidden_layers": 3,
        "num_attention_heads": 2,
        "intermediate_size": 32,
    }
    config = BertConfig(vocab_size=len(WORDS), max_position_embeddings=40, **size)
    BertModel(config).save_pretrained(folder)
    return folder


@pytest.mark.slow
def test_scores_equal_those_of_the_package(tiny: Path) -> None:
    from bert_score import BERTScorer

    scorer: Any = BERTScorer(model_type=str(tiny), num_layers=2, device="cpu")
    scorer._tokenizer.model_max_length = 38
    for number, metric in enumerate(bert_scores(str(tiny), 2)):
        for pair in PAIRS:
            alone = float(scorer.score([pair[0]], [pair[1]])[number][0])
            assert compute(metric, make_pairs([pair])) == pytest.approx(100 * alone, abs=1e-4)
        together = scorer.score([reply for reply, _ in PAIRS], [gold for _, gold in PAIRS])[number]
        assert compute(metric, make_pairs(PAIRS)) == pytest.approx(100 * float(together.mean()), abs=0.5)


def test_a_pair_s_score_does_not_depend_on_other_pairs(tiny: Path) -> None:
    scores = []
    for order in (PAIRS, PAIRS[::-1]):
        bert_scores.cache_clear()
        _, _, metric = bert_scores(str(tiny), 2)
        scores.append({pair: compute(metric, make_pairs([pair])) for pair in order})
    assert scores[0] == scores[1]
    assert len(set(scores[0].values())) == len(PAIRS)


def test_blank_and_long_texts_have_a_score_and_missing_texts_do_not_count(tiny: Path) -> None:
    """The package fails on blank and long texts."""
    _, _, metric = bert_scores(str(tiny), 2)
    blank = sample_result("b/1", " ", gold_response="oh no .")
    assert compute(metric, [blank]) == 0
    assert 0 < compute(metric, [sample_result("f/1", "so " * 200, gold_response="😊")]) <= 100
    missing = [
        sample_result("c/1", "oh .", gold_response=None),
        sample_result("d/1", "oh .", gold_response=""),
        sample_result("e/1", None),
    ]
    assert count(metric, missing) == 0


def test_models_that_cannot_be_loaded_are_refused(tiny: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"knows no layer[^$]*--bert-layers"):
        bert_scores(str(tiny))
    with pytest.raises(ConfigError, match="the model cannot be loaded"):
        bert_scores(str(tmp_path), 2)
    with pytest.raises(ConfigError, match="the model cannot be loaded: Invalid num_layers"):
        bert_scores(str(tiny), 9)
