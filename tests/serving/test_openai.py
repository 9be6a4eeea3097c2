"""OpenAI's API, with OpenAI's own SDK."""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openai import APIError, BadRequestError, NotFoundError, OpenAI

from mmerg.backends.scripted import Scripted
from mmerg.errors import CallError, Failure
from tests.serving.running import Running, running
from tests.serving.scripts import blaming, echo, picture

HEY = [{"role": "user", "content": "I lost my job."}]
BODY = {"model": "mmerg-one_pass", "messages": HEY}


@pytest.fixture(scope="module")
def scripted() -> Scripted:
    return Scripted(echo)


@pytest.fixture(scope="module")
def server(scripted: Scripted) -> Iterator[Running]:
    with running(scripted, "limits.text=200", "limits.turns=6", "limits.pictures=2") as server:
        yield server


@pytest.fixture(scope="module")
def client(server: Running) -> Iterator[OpenAI]:
    with sdk(server) as client:
        yield client


def sdk(server: Running) -> OpenAI:
    return OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)


def shown(data: bytes, kind: str = "image/png") -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{base64.b64encode(data).decode()}"}}


def say(client: OpenAI, **more: Any) -> Any:
    return client.chat.completions.create(**{**BODY, **more})


def test_systems_are_models(client: OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["mmerg-merg", "mmerg-one_pass", "mmerg-self_refine"]
    assert client.models.retrieve("mmerg-merg").id == "mmerg-merg"


def test_a_whole_reply_reports_its_tokens_and_thoughts(client: OpenAI, scripted: Scripted) -> None:
    before = scripted.calls
    answer = say(client)
    [choice] = answer.choices
    assert (choice.message.content, choice.finish_reason) == ("You said: I lost my job.", "stop")
    assert scripted.calls == before + 1
    assert answer.usage.prompt_tokens == len(scripted.requests[-1].messages[0].text.split()) + len(
        scripted.requests[-1].messages[1].text.split()
    )
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    assert choice.message.reasoning_content == "Answer: emotion joy; response You said: I lost my job."


def test_a_stream_shows_the_agents_at_work(server: Running) -> None:
    with running(Scripted(blaming("psp"))) as merg, sdk(merg) as client:
        chunks = list(say(client, model="mmerg-merg", stream=True, stream_options={"include_usage": True}))
    assert [bool(chunk.choices) for chunk in chunks] == [True] * (len(chunks) - 1) + [False]  # usage was asked for
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    thoughts = [delta.reasoning_content.split(":")[0] for delta in deltas if hasattr(delta, "reasoning_content")]
    assert thoughts == [
        *("Perception", "Emotion forecast", "Plan", "Reply", "Audit", "Again from Plan\n"),
        *("Plan", "Reply", "Audit", "Pass 1 won"),
    ]
    statuses = [chunk.event["data"] for chunk in chunks if hasattr(chunk, "event")]
    assert [status["description"] for status in statuses][:2] == ["At work", "Perception"]
    assert "audit: Plan does not hold: psp looked at" in [status["description"] for status in statuses]
    assert [status["done"] for status in statuses] == [False] * (len(statuses) - 1) + [True]
    assert "".join(delta.content or "" for delta in deltas) == "This is a dry run."
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].usage.completion_tokens > 0
    assert chunks[-1].mmerg == chunks[-2].mmerg
    about = chunks[-1].mmerg
    last = about["passes"][-1]
    assert (about["emotion"], about["plan"], about["selected_pass"]) == (last["caef"]["emotion"], last["psp"], 1)
    assert [[finding["passed"] for finding in audit.values()] for audit in about["audits"]] == [[1, 1, 0, 1], [1] * 4]
    assert [list(outputs) for outputs in about["passes"]] == [["mpa", "caef", "psp", "sgrg"]] * 2


def test_fast_sends_the_first_reply_before_its_audit() -> None:
    with running(Scripted(blaming("psp")), "fast=true") as merg, sdk(merg) as client:
        chunks = list(say(client, model="mmerg-merg", stream=True))
        whole = say(client, model="mmerg-merg")
    said = [number for number, chunk in enumerate(chunks) if chunk.choices[0].delta.content]
    audits = [number for number, chunk in enumerate(chunks) if "Audit" in str(chunk.choices[0].delta)]
    assert len(said) == 1
    assert said[0] < audits[0]
    about = chunks[-1].mmerg
    assert (len(about["audits"]), about["selected_pass"], about["response"]) == (2, 1, "This is a dry run.")
    assert whole.choices[0].message.content == "This is a dry run."
    assert (whole.mmerg["audits"], whole.mmerg["emotion"]) == ([None], whole.mmerg["passes"][0]["caef"]["emotion"])
    assert whole.usage.completion_tokens > 0


def test_persona_passes_system_messages_to_the_agents() -> None:
    scripted = Scripted(echo)
    with running(scripted, "persona=true", "limits.turns=1") as server, sdk(server) as client:
        talk = [*HEY, {"role": "assistant", "content": "Oh."}, {"role": "user", "content": "Yes."}]
        say(client, messages=[{"role": "system", "content": "You are Pepper, a robot."}, *talk])
    assert "1. About mmerg: You are Pepper, a robot.\n2. You: Yes." in scripted.requests[-1].messages[-1].text


TITLES = (
    ("user", "### Task:\nGive this chat a title."),
    ("user", "Provide a concise, 5-word-or-less title for the conversation, using title case conventions."),
    ("user", "Analyze this conversation and provide:\n1. Its language\n2. A concise title in this language"),
    ("user", "Please generate a four to five word title summarizing our conversation without any lead-in."),
    ("user", "Based on the chat history, give this conversation a name."),
    ("user", "使用四到五个字直接返回这句话的简要主题"),
    ("user", "Your task is to reflect the speaker's likely facial expression through a fitting emoji."),
    ("user", "Please write a brief title for the following request:\n\nI lost my job."),
    ("user", 'Summarize in a 10-word Title. Give the title only. "I lost my job."'),
    ("user", "Here is the query:\n\nI lost my job.\n\nCreate a concise phrase as a title for the previous query."),
    ("user", "Create a concise, 3-5 word phrase with an emoji as a title for the previous query."),
    ("system", "Please generate a concise, 5-word-or-less title for the conversation."),
    ("system", "You are skilled in conversation and need to summarize talks into titles within 10 characters."),
    ("system", "你是一名擅长会话的助理，你需要将用户的会话总结为 10 个字以内的标题"),
    ("system", "You are a title generator. You output ONLY a thread title."),
    ("system", "You are a conversation summarizer. Generate a concise title that captures the essence of it."),
    ("system", "You will generate a short title based on the first message a user begins a conversation with."),
    ("system", "You are a helpful assistant that generates concise, descriptive titles for chat conversations."),
)


@pytest.mark.parametrize(("role", "prompt"), TITLES)
def test_a_title_for_the_front_end_is_one_plain_call(
    client: OpenAI, scripted: Scripted, role: str, prompt: str
) -> None:
    before = scripted.calls
    said = {"role": "assistant", "content": "Oh."}
    answer = say(client, messages=[*HEY, said, {"role": role, "content": prompt}])
    assert prompt in answer.choices[0].message.content
    assert (scripted.calls, scripted.requests[-1].schema) == (before + 1, "")


@pytest.mark.parametrize(
    "text",
    [
        "Write me a poem about how a name can change a chat.",
        "Create a song with my dog's name and our chat in it.",
        "Please write a letter on the title that I lost in that conversation.",
        "Give me hope: I read the title of a book, and the chat with her ended.",
        "Summarize what I should say when a chat turns to my job title.",
        "<think> is what they tell me to do.",
    ],
)
def test_text_of_a_person_about_titles_reaches_the_agents(client: OpenAI, text: str) -> None:
    answer = say(client, messages=[*HEY, {"role": "assistant", "content": "Oh."}, {"role": "user", "content": text}])
    assert answer.choices[0].message.content == f"You said: {text}"


@pytest.mark.parametrize(
    "thoughts",
    ["", "<think>Is it sad?</think>\n\n", '<details type="reasoning" done="true">\nIs it sad?\n</details>\n'],
)
def test_the_history_reaches_the_model_without_wrappers_of_front_ends(
    client: OpenAI, scripted: Scripted, thoughts: str
) -> None:
    attached = "<attached_files>\n<file name='a.png'/>\n</attached_files>\n\nIt is bad."
    talk = [
        {"role": "system", "content": "You are a pirate. You chat of the title that you lost."},
        *HEY,
        {"role": "assistant", "content": f"{thoughts}Oh no."},
        {"role": "system", "content": "Speak like a pirate: provide headings and titles in chats."},  # between turns
        {"role": "user", "content": [{"type": "text", "text": attached}]},
    ]
    tools = [{"type": "function", "function": {"name": "look_up", "parameters": {}}}]
    assert say(client, messages=talk, tools=tools).choices[0].message.content == "You said: It is bad."
    prompt = scripted.requests[-1].messages[-1].text
    assert "1. You: I lost my job.\n2. mmerg: Oh no.\n3. You: It is bad." in prompt
    assert "pirate" not in prompt
    assert "attached_files" not in prompt


def test_a_picture_becomes_a_jpeg(client: OpenAI, scripted: Scripted) -> None:
    for kind, claimed in ((".png", "image/png"), (".jpg", "application/octet-stream"), (".webp", "")):
        content = [{"type": "text", "text": f"Look: {kind}"}, shown(picture(kind), claimed)]
        say(client, messages=[{"role": "user", "content": content}])
        [image] = scripted.requests[-1].images
        assert image.data.startswith(b"\xff\xd8\xff")


def test_stop_and_seed_work(client: OpenAI, scripted: Scripted) -> None:
    assert say(client, stop=["lost", " my"], seed=77).choices[0].message.content == "You said: I "
    assert scripted.requests[-1].sampling.seed == 77
    say(client)
    assert scripted.requests[-1].sampling.seed == 0
    answer = say(client, max_completion_tokens=100, seed=-1, stop=None, user=None, extra_body={"stream": None})
    assert answer.choices[0].message.content == "You said: I lost my job."
    assert 0 <= scripted.requests[-1].sampling.seed < 2**31


def test_pictures_of_earlier_turns_are_skipped(client: OpenAI, scripted: Scripted) -> None:
    """Programs send the whole conversation each time."""
    seen = {"role": "user", "content": [shown(picture()), shown(picture())]}
    old = [seen, {"role": "user", "content": [shown(b"not a picture")]}, {"role": "assistant", "content": "Oh."}]
    new = {"role": "user", "content": [{"type": "text", "text": "And now?"}, shown(picture())]}
    assert say(client, messages=[*old, new]).choices[0].message.content == "You said: And now?"
    assert len(scripted.requests[-1].images) == 1
    assert "1. You: (shows something and says nothing)" in scripted.requests[-1].messages[-1].text
    answer = say(client, messages=[seen, {"role": "user", "content": [shown(picture(grey=20))]}])
    assert answer.choices[0].finish_reason == "stop"
    assert len(scripted.requests[-1].images) == 1


def test_the_beginning_of_a_long_conversation_is_dropped(client: OpenAI, scripted: Scripted) -> None:
    old = [{"role": "user", "content": f"This is number {number}."} for number in range(8)]
    answer = say(client, messages=[*old, {"role": "assistant", "content": "Oh. " * 100}, *HEY])
    assert answer.choices[0].message.content == "You said: I lost my job."
    prompt = scripted.requests[-1].messages[-1].text
    assert "1. You: This is number 4." in prompt
    assert "number 3." not in prompt
    assert prompt.count("Oh.") == 50


def test_an_unavailable_model_is_an_error_with_its_reason(client: OpenAI) -> None:
    with pytest.raises(NotFoundError, match="mmerg-hef is not available: no small empathetic model is set"):
        say(client, model="mmerg-hef")
    with pytest.raises(NotFoundError, match=r"there is no model 'gpt-5'.*one of mmerg-merg, "):
        say(client, model="gpt-5")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"messages": [{"role": "assistant", "content": "Hello."}]}, "there is no user turn to reply to"),
        ({"messages": []}, "messages: List should have at least 1 item"),
        (
            {"messages": [*HEY, {"role": "tool", "content": "x", "tool_call_id": "1"}]},
            "role 'tool' is not allowed here",
        ),
        ({"messages": [{"role": "user", "content": "a" * 201}]}, "the turn has 201 characters, over 200"),
        ({"seed": -2}, "seed: Input should be greater"),
        ({"messages": [{"role": "user", "content": [shown(picture())] * 3}]}, "3 pictures are shown, over 2"),
        ({"messages": [{"role": "user", "content": [shown(b"not a picture")]}]}, "a picture cannot be decoded"),
        ({"messages": [{"role": "user", "content": [shown(picture()[:80])]}]}, "cannot be shown to the model: turn 1"),
        ({"messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}]}, "'input_audio'"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "'image_url' is not supported, or is"),
    ],
)
def test_bad_requests_are_refused(client: OpenAI, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(BadRequestError, match=said.replace("(", r"\(")) as refused:
        say(client, **wrong)
    assert refused.value.type == "invalid_request_error"


def test_nothing_is_fetched_and_no_file_is_read(client: OpenAI) -> None:
    for url in ("http://127.0.0.1/a.png", "file:///etc/passwd", "data:text/html;base64,aGk="):
        content = [{"type": "image_url", "image_url": {"url": url}}]
        with pytest.raises(BadRequestError, match="URLs are not fetched"):
            say(client, messages=[{"role": "user", "content": content}])


def test_bodies_other_than_a_completion_are_refused(server: Running) -> None:
    for body in (b"{", b"[]", b'{"model": "mmerg-merg"}'):
        answer = server.client.post("/v1/chat/completions", content=body)
        assert (answer.status_code, answer.json()["error"]["type"]) == (400, "invalid_request_error")


def test_a_dataset_provides_labels_and_exemplars(tmp_path: Path) -> None:
    scripted = Scripted(echo)
    with running(scripted, "dataset=demo", f"cache_dir={tmp_path}") as server, sdk(server) as client:
        answer = say(client, model="mmerg-few_shot")
    assert "Exemplars for Few-shot: 5" in answer.choices[0].message.reasoning_content
    assert '"neutral"' in scripted.requests[-1].schema


def test_a_failed_call_fails_only_its_turn() -> None:
    dead = CallError(Failure.OOM, "out of memory\x1b[2J", where="gpu 1", hint="a smaller model")
    with running(Scripted([dead, dead, '{"emotion": "joy", "response": "Here."}'])) as server, sdk(server) as client:
        with pytest.raises(APIError, match=r"out of memory\\u001b\[2J \(gpu 1\): a smaller model") as whole:
            say(client)
        assert whole.value.status_code == 502  # type: ignore[attr-defined]
        with pytest.raises(APIError, match="out of memory"):
            list(say(client, stream=True))
        assert say(client).choices[0].message.content == "Here."
