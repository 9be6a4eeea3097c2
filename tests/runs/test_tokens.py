"""The log-probabilities of the response's tokens."""

from collections.abc import Sequence

import pytest

from mmerg.backends.protocol import TokenLogprob
from mmerg.runs.facts import find_response_logprobs


def numbered(tokens: Sequence[str]) -> list[TokenLogprob]:
    """Tokens whose log-probabilities are -1, -2, …"""
    return [TokenLogprob(token=token, logprob=-float(number)) for number, token in enumerate(tokens, start=1)]


@pytest.mark.parametrize(
    ("tokens", "text", "response", "own"),
    [
        (["Oh", " no", "."], "Oh no.", "Oh no.", (-1, -2, -3)),
        (["Oh", " no", ".", ""], "Oh no.", "Oh no.", (-1, -2, -3)),  # an end token
        (["Oh", " no", ".", "\n"], "Oh no.", "Oh no.", (-1, -2, -3)),  # a stop text that the server cut off
        (["\n", " Oh", " no", ".", "\n", "Ana"], "\n Oh no.\nAna", "Oh no.", (-2, -3, -4)),  # one that we cut off
        (["No", ".", "\n", "No", "."], "No.\nNo.", "No.", (-1, -2)),
        (["Hm", ",", " no", ".", "Oh", " no", "."], "Oh no.", "Oh no.", (-5, -6, -7)),  # thinking comes first
        (["Oh", " no"], "Oh no.", "Oh no.", (-1, -2)),  # llama.cpp takes a last ".\n" for the stop text
        (["Oh", " no", ".\n"], "Oh no.", "Oh no.", (-1, -2, -3)),  # Ollama does not
        (["Oh no.", "Oh no", "."], "Oh no.", "Oh no.", (-2, -3)),  # thinking that says the same
        (["Oh", " \ufffd", "\ufffd", "\ufffd", "!"], "Oh 😊!", "Oh 😊!", (-1, -2, -3, -4, -5)),
        (["Oh", " \ufffd", "\ufffd", "", ""], "Oh 😊", "Oh 😊", (-1, -2, -3, -4, -5)),
        (["\ufffd", "\ufffd", " no", "\n", "😊"], "😊 no\n😊", "😊 no", (-1, -2, -3)),
    ],
)
def test_tokens_of_the_response(tokens: list[str], text: str, response: str, own: tuple[float, ...]) -> None:
    assert find_response_logprobs(numbered(tokens), text, response) == own


@pytest.mark.parametrize(
    ("tokens", "text", "response"),
    [
        ([], "Oh no.", "Oh no."),
        (["Oh", " no"], "Oh no.", "Something else."),
        (["quite", " other"], "Oh no.", "Oh no."),
        (["Oh", "\ufffd", " never"], "Oh 😊 no.", "Oh 😊 no."),
        (["Oh", " no."], "Oh no.", ""),
        (["Oh", " no"], "Oh no, that is so hard.", "Oh no, that is so hard."),  # the rest is missing
        (["Oh", "\ufffd", " no"], "Oh 😊 no, that is so hard.", "Oh 😊 no, that is so hard."),
    ],
)
def test_none_if_tokens_and_response_do_not_fit(tokens: list[str], text: str, response: str) -> None:
    assert find_response_logprobs(numbered(tokens), text, response) is None


@pytest.mark.parametrize("name", ["reply", "b_reply", "ab_reply"])
def test_a_field_of_json(name: str) -> None:
    tokens = ['{"', "emotion", '":"', "no", '","', name, '":"', "no", ' \\"', "so", '\\"', '"}']
    text = "".join(tokens)
    assert find_response_logprobs(numbered(tokens), text, 'no "so"', "reply") == (-8, -9, -10, -11)
    assert find_response_logprobs(numbered(tokens), text, "no", "emotion") == (-4,)
    assert find_response_logprobs(numbered(tokens), text, "no", "unheard-of") is None
    assert find_response_logprobs(numbered(tokens), text, "yes", "reply") is None


def test_tokens_of_a_cleaned_completion() -> None:
    plain = ["Ben", ":", " ", '"', "Oh", " no", '."', " *", "sighs", "*"]
    assert find_response_logprobs(numbered(plain), "".join(plain), "Oh no.") == (-5, -6, -7)
    field = ['{"', "reply", '":"', "Ben", ":", " Say", ' \\"', "no", '\\"', "!", ' *sighs*"}']
    assert find_response_logprobs(numbered(field), "".join(field), 'Say "no"!', "reply") == (-6, -7, -8, -9, -10)
    middle = ["Oh", " no", ".", " *sighs*", " Why", "?"]
    assert find_response_logprobs(numbered(middle), "".join(middle), "Oh no. Why?") is None
