"""A sample as lines of text: what happened, in order."""

from collections.abc import Iterator, Mapping

from rich.rule import Rule

from mmerg.console.terminal import escape
from mmerg.reporting.changes import fields
from mmerg.reporting.sample import FORMS, Sample
from mmerg.runs import events

INDENT = "    "


def story(sample: Sample, prompts: bool) -> Iterator[Rule | str]:
    """All of it, a rule where a pass begins."""
    begun = -1
    for event in sample.events:
        t = getattr(event, "t", begun)
        if isinstance(event, events.FramesTaken) or t > max(begun, 0):
            again = f": again from {event.stage}" if isinstance(event, events.Rerun) else ""
            yield Rule(escape(f"pass {max(t, 0)}{again}"))
        if isinstance(event, events.Rerun) and t in sample.repeated:
            yield f"pass {t} is pass {t - 1} again: {sample.repeated[t]} answered as before"
        if isinstance(event, events.Selected):
            yield f"selected: {sample.why}"
        yield from lines(event, prompts)
        begun = t


def lines(event: events.Event, prompts: bool) -> Iterator[str]:
    """An event as lines of text."""
    head, *body = _lines(event, prompts)
    yield from filter(None, (head, *(INDENT + line for line in body)))


def _lines(event: events.Event, prompts: bool) -> Iterator[str]:  # noqa: PLR0912 - a short branch an event
    """The first line, "" for none, then the indented ones."""
    match event:
        case events.SampleStarted():
            yield f"dialogue {event.dialogue}, reply by {event.responder or 'the next speaker'}"
            yield from (f"{n}. {speaker}: {text}" for n, (speaker, text) in enumerate(event.history, start=1))
        case events.FramesTaken():
            yield FORMS[event.form]
            for turn in event.turns:
                yield from _turn_frames(turn)
        case events.Called():
            yield from _call(event, prompts)
        case events.Refused():
            yield from ("", f"{event.stage} could not be used ({event.failure}): {event.complaint}")
        case events.Cleaned():
            yield from ("", f"taken off: {', '.join(event.taken)}")
        case events.Supplied():
            because = f" ({event.problem})" if event.problem else ""
            yield f"{event.symbol}, supplied to {event.stage}:{'' if event.content else f' nothing{because}'}"
            for item in event.content:
                yield from _exemplar(item)
            for kept in event.excluded:
                yield f"kept back ({kept.guard}): {kept.id}, similarity {kept.similarity:.3f}: {kept.reply}"
        case events.Produced():
            yield f"{event.symbol}, by {event.stage}:"
            yield from _value(event.output)
        case events.Audited():
            yield f"audit: {event.checks}, " + (f"first fault {event.fault}" if event.fault else "all passed")
            for name, finding in event.audit.findings.items():
                yield f"{'✓' if finding.passed else '✗'} {name}: {finding.reason}"
                if not finding.passed:
                    yield f"  correction: {finding.correction}"
        case events.Unaudited():
            yield from (f"unaudited ({event.failure}): {event.what}; the loop ends", *filter(None, [event.hint]))
        case events.PassLost():
            yield f"pass {event.t} could not be finished ({event.failure}): {event.what}"
        case events.Rerun():
            yield f"why: {event.reason}\ncorrection: {event.correction}"
        case events.Judged(verdict=verdict):
            chosen = verdict.choice if verdict.score is None else verdict.score
            shown = f", run {verdict.order[0] + 1} shown first" if len(verdict.order) > 1 else ""
            answer = chosen if verdict.usable else f"unusable ({verdict.failure})"
            yield f"{verdict.aspect}, repeat {verdict.repeat}{shown}: {answer}"
            yield from filter(None, [verdict.reason])
        case events.SampleFailed():
            yield from (f"failed ({event.failure}): {event.what}", *filter(None, (event.where, event.hint)))
        case events.Selected() | events.SampleDone():
            yield ""


def _turn_frames(turn: events.TurnFrames) -> Iterator[str]:
    if turn.problem or not turn.frames:
        reason = f"no frames ({turn.problem})" if turn.problem else "no clip"
        yield f"turn {turn.turn}: {reason}, it goes on as text"
    for number, frame in enumerate(turn.frames):
        described = f": {turn.descriptions[number]}" if turn.descriptions else ""
        taken = f"{frame.source} at {frame.time:.2f} s, {frame.width}x{frame.height}"
        yield f"turn {turn.turn}: {taken}, frames/{frame.sha256}.jpg{described}"


def _call(event: events.Called, prompts: bool) -> Iterator[str]:
    reply = event.reply
    cost = f"{reply.prompt_tokens} + {reply.response_tokens} tokens, {reply.seconds:.2f} s"
    attempt = f", repair {event.attempt}" if event.attempt else ""
    yield f"call of {event.stage}{attempt}: {cost}{', from the cache' if reply.cached else f' on {reply.host}'}"
    if prompts:
        for message in event.messages:
            images = f" [{len(message.images)} images]" if message.images else ""
            yield from (f"--- {message.role}{images}", *message.text.splitlines())
        yield from (f"--- reply ({reply.finish})", *reply.text.splitlines())


def _exemplar(item: Mapping[str, object]) -> Iterator[str]:
    """An item of a source: its reply, or all of it. Of an exemplar also where it comes from and what it answers."""
    if not {"reply", "emotion", "id", "from", "similarity", "history"} <= item.keys():
        yield from _value(item.get("reply", item))
        return
    yield f"{item['reply']} ({item['emotion'] or 'no label'})"
    yield f"  {item['id']} of {item['from']}, similarity {item['similarity']:.3f}"
    history = item["history"]
    for turn in history[-1:] if isinstance(history, list | tuple) else ():
        yield f"  after {turn['speaker']}: {turn['text']}"


def _value(value: object) -> Iterator[str]:
    """An output, a field a line."""
    for field in fields(value):
        if not field.name and not field.many:
            yield from field.text.splitlines()
        elif field.many:
            yield f"{field.name}:"
            for line in field.lines:
                places = {"turn": line.turn, "frame": line.frame}
                about = "".join(f"{name} {number}: " for name, number in places.items() if number is not None)
                yield f"  - {about}{line.text}"
        else:
            yield f"{field.name}: {field.text}"
