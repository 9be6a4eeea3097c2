"""Thoughts are never part of a completion: tags, log-probabilities, and stop texts, which would cut thoughts."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from mmerg.backends.ollama import Ollama
from mmerg.backends.openai import OpenAI
from mmerg.backends.protocol import Completion, Finish, Message, Request, Sampling, TokenLogprob
from mmerg.backends.thinking import may_think, separate_thoughts
from tests.backends.conftest import DESCRIPTIONS, LAST, Faulty, chat_body, json_response, line, stream

WORDS, THOUGHTS = "I am so sorry.", "He is sad {very}.\nI comfort him."
CHAT = "/v1/chat/completions"
HARMONY = f"<|channel|>analysis<|message|>{THOUGHTS}<|end|><|start|>assistant"
BEHIND_THOUGHTS = [
    f"<think>{THOUGHTS}</think>\n\n",
    f"\n<thinking>\n{THOUGHTS}\n</thinking>",
    f"<thought>{THOUGHTS}</thought> ",
    f"<seed:think>{THOUGHTS}</seed:think>",
    f"[THINK]{THOUGHTS}[/THINK]",
    f"◁think▷{THOUGHTS}◁/think▷",
    f"<|START_THINKING|>{THOUGHTS}<|END_THINKING|><|START_RESPONSE|>",
    f"{HARMONY}<|channel|>final<|message|>",
    f"{HARMONY}<|channel|>commentary to=a<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>",
    f"{HARMONY}<|channel|>final <|constrain|>json<|message|>",
    f"<|channel|>analysis<|message|>{THOUGHTS}<|channel|>final<|message|>",
    f"analysisThe user: {THOUGHTS}assistantfinal",
    f"<|channel>thought\n{THOUGHTS}\n<channel|>",
    f"<|channel>{THOUGHTS}<channel|><|channel>{THOUGHTS}<channel|>",
    f"{THOUGHTS}\n</think>\n\n",
    f"{THOUGHTS}</think>More.</think>",
    f"{THOUGHTS}[/THINK]",
    f"{THOUGHTS}<|channel|>final<|message|>",
    f"<think>{THOUGHTS} <think>More.</think> And more.</think>",
    f"Okay.\n<think>\n{THOUGHTS}\n</think>\n\n",
    f"Ben: <think>{THOUGHTS}</think> ",
    f"Hmm <think>{THOUGHTS}</think> ",
    "Okay, <think>He is sad {very}. ok</think> ",
    f"<thought_process>{THOUGHTS}</thought_process>",
    f"<unused94>thought\n{THOUGHTS}<unused95>",
    f'<think>{THOUGHTS} {{"reply": "no </think> here"}}</think>',
]


@pytest.mark.parametrize("before", BEHIND_THOUGHTS)
def test_words_after_thoughts_are_separated(before: str) -> None:
    for words in (WORDS, '{"why": "she {lost} it", "emotion": "joy"}'):
        thoughts, left = separate_thoughts(before + words)
        assert left == words
        assert "He is sad {very}." in thoughts
        assert separate_thoughts(left) == ("", left)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        # tags without thoughts
        *((tags + WORDS, WORDS) for tags in ("<think></think>\n", "</think>", "<|channel|>final<|message|>")),
        # thoughts without words
        *((f"{opening}{THOUGHTS}", "") for opening in ("<think>", "[THINK]", "<|channel>thought ", "thought\n")),
        (f"{THOUGHTS}</think>", ""),
        # what follows the words
        *(
            (f"<think>{THOUGHTS}</think>{WORDS}{tail}", WORDS)
            for tail in ("<|return|>", "\n<think>Was that kind?</think>", "\n<think>Was that", " <think>Was it?")
        ),
        (f"<think>{THOUGHTS}</think><answer><|begin_of_box|>{WORDS}<|end_of_box|></answer>", WORDS),  # GLM-4.5V
        # words about tags
        *(
            (text, text)
            for text in (
                "I like the <think> tag, and </think> too.",
                'They end with "</think>" or `[/THINK]`.',
                "analysis is hard",
                "thoughtful of you",
                "I saw the [THINK] poster, too. It made me smile.",
                "It wraps them in <think>...</think> tags.",
                '{"reply": "He wrote <think>so.</think> I know."}',
                'Sure: {"reply": "no </think> tag"}',
            )
        ),
    ],
)
def test_only_thoughts_are_separated_from_words(text: str, words: str) -> None:
    assert separate_thoughts(text)[1] == words


def test_short_thoughts_between_words_are_separated() -> None:
    assert separate_thoughts(f"Okay, <think>he is sad</think> {WORDS}") == ("Okay,\n\nhe is sad", WORDS)


def logprobs(*tokens: str) -> tuple[TokenLogprob, ...]:
    return tuple(TokenLogprob(token=token, logprob=-float(place)) for place, token in enumerate(tokens))


@pytest.mark.parametrize(
    ("text", "thinking", "tokens", "kept", "removed"),
    [
        (
            "<think>Hi.</think>\nHi.",
            "",
            ("<think>", "Hi", ".", "</think>", "\n", "Hi", "."),
            ("Hi", "."),
            ("thinking",),
        ),
        ("Hi.", "Hm.", ("Hm", ".", "</think>", "\n\n", "Hi", ".", "<|end|>"), ("Hi", ".", "<|end|>"), ()),
        ("Hi.", "Hm.", ("Hi", "."), ("Hi", "."), ()),
        ("Hi.", "", ("\n", "Hi", "."), ("\n", "Hi", "."), ()),
        ("a</think>Hi.", "", ("a", "</think>H", "i", "."), (), ("log-probabilities", "thinking")),
        ("Hé.", "Hm.", ("Hm", ".", "H", "\ufffd", "\ufffd", "."), (), ("log-probabilities",)),
        ("<think>Hi.", "", ("<think>", "Hi", "."), (), ("log-probabilities", "thinking")),
        ("Hi.<think>Hm.", "", ("Hi", ".", "<think>", "Hm", "."), (), ("log-probabilities", "thinking")),
    ],
)
def test_log_probabilities_of_thoughts_are_dropped(
    text: str, thinking: str, tokens: tuple[str, ...], kept: tuple[str, ...], removed: tuple[str, ...]
) -> None:
    completion = Completion(text=text, finish=Finish.STOP, thinking=thinking, logprobs=logprobs(*tokens))
    assert tuple(token.token for token in completion.logprobs) == kept
    assert completion.removed == removed
    assert Completion.model_validate(completion.model_dump(mode="json")) == completion


def asking(*stops: str) -> Request:
    return Request((Message("user", "Hello"),), Sampling(num_predict=8, stop=stops))


def ollama(server: Faulty, text: str, **more: Any) -> Ollama:
    server.respond(stream(line(text), LAST))
    return Ollama(host=server.host, model="m", load={"num_ctx": 512}, **more)


def vllm(server: Faulty, text: str) -> OpenAI:
    server.respond(json_response(chat_body(text)), path=CHAT)
    return OpenAI(host=server.host, model="m", dialect="vllm", load={"num_ctx": 512})


@pytest.mark.parametrize("backend", [ollama, vllm])
@pytest.mark.parametrize("before", BEHIND_THOUGHTS[:1] + BEHIND_THOUGHTS[7:8] + BEHIND_THOUGHTS[14:15])
def test_thoughts_in_the_text_are_separated(
    faulty: Faulty, backend: Callable[[Faulty, str], Ollama | OpenAI], before: str
) -> None:
    completion = backend(faulty, before + WORDS).complete(asking())
    assert (completion.text, completion.removed) == (WORDS, ("thinking",))


def shown(server: Faulty, template: str = "", *capabilities: str) -> None:
    about = DESCRIPTIONS["/api/show"] | {"capabilities": ["completion", *capabilities], "template": template}
    server.respond(json_response(about), path="/api/show")


@pytest.mark.parametrize(
    ("template", "capabilities", "think", "sent"),
    [
        ("{{ .Prompt }}", (), False, ["\n"]),
        ("{{ .Prompt }}", ("thinking",), False, None),
        ("{{ .Prompt }}", ("thinking",), True, None),
        ("{{ .Prompt }}<|im_start|>assistant\n<think>\n", (), False, None),
    ],
)
def test_ollama_gets_stop_texts_unless_the_model_may_think(
    faulty: Faulty, template: str, capabilities: tuple[str, ...], think: bool, sent: list[str] | None
) -> None:
    shown(faulty, template, *capabilities)
    ollama(faulty, WORDS, think=think).complete(asking("\n"))
    (body,) = faulty.bodies("/api/chat")
    assert body["options"].get("stop") == sent


def test_a_model_that_turns_out_to_think_is_asked_again_without_stop_texts(faulty: Faulty) -> None:
    backend = ollama(faulty, f"<think>{THOUGHTS}</think>\n{WORDS}")
    faulty.respond_once(stream(line("<think>He is sad {very}."), LAST), path="/api/chat")
    assert backend.complete(asking("\n")).text == WORDS
    assert [body["options"].get("stop") for body in faulty.bodies("/api/chat")] == [["\n"], None]


@pytest.mark.parametrize(
    ("template", "sent"), [("{{ messages }}", ["\n"]), ("{{ messages }}<|im_start|>assistant\n<think>\n", None)]
)
def test_llama_server_gets_stop_texts_unless_its_template_has_thoughts(
    faulty: Faulty, template: str, sent: list[str] | None
) -> None:
    entry = {"id": "m", "meta": {"n_ctx": 512}}
    faulty.respond(json_response({"data": [entry]}), path="/v1/models")
    about = {"modalities": {"vision": False}, "chat_template": template, "build_info": "b1"}
    faulty.respond(json_response(about), path="/props")
    faulty.respond(json_response(chat_body(WORDS)), path=CHAT)
    backend = OpenAI(host=faulty.host, model="m", dialect="llama-server", load={"num_ctx": 512})
    assert ("thinking" in backend.describe().capabilities) is (sent is None)
    backend.complete(asking("\n"))
    (body,) = faulty.bodies(CHAT)
    assert body.get("stop") == sent


def test_a_server_without_a_template_gets_no_stop_texts(faulty: Faulty) -> None:
    vllm(faulty, WORDS).complete(asking("\n"))
    (body,) = faulty.bodies(CHAT)
    assert "stop" not in body


def test_templates_with_thoughts_are_recognised() -> None:
    chatml = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    assert not may_think(chatml)
    assert may_think(chatml + "{% if enable_thinking %}…{% endif %}")
    assert may_think("{{ if .Thinking }}")
    assert may_think(json.dumps("<|channel|>analysis"))
