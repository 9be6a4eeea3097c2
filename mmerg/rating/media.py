"""The media of a study: clips as short MP4 files, or the keyframes of the runs.

Files have random names and no metadata. A clip is cut and cropped as the model saw it, and ends before the target.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from random import Random

from mmerg.corpora.dialogue import Clip
from mmerg.engine.keyframes import get_recent_clips
from mmerg.errors import ClipError, ConfigError, RunError, preview
from mmerg.experiment.plan import SamplePlan
from mmerg.frames.picture import crop_picture
from mmerg.frames.store import Frame
from mmerg.frames.video import Video
from mmerg.rating.builder import Media
from mmerg.runs.events import FramesTaken
from mmerg.runs.folder import FRAMES
from mmerg.runs.samples import read_events
from mmerg.scoring.run_results import RunResults
from mmerg.settings.model import DatasetSettings, ProtocolSettings
from mmerg.storage.files import make_private_folder, write_atomically

HEIGHT = 480  # pixels at most
CLOCK, RATE = 90_000, 44_100  # ticks per second of the times of frames, and sound samples per second


def write_media(visual: str, runs: Sequence[RunResults], samples: Sequence[str], folder: Path, random: Random) -> Media:
    """Writes the clips of the turns that the model saw, or its keyframes, and returns their names. Raises ConfigError
    or RunError if some are missing."""
    if visual == "none":
        return {sample: {} for sample in samples}
    return (_write_clips if visual == "clips" else _write_frames)(runs, samples, folder, random)


def _write_frames(runs: Sequence[RunResults], samples: Sequence[str], folder: Path, random: Random) -> Media:
    """Writes the keyframes of each sample, from the first run that has some."""
    media: dict[str, dict[int, tuple[str, ...]]] = {sample: {} for sample in samples}
    for sample in samples:
        for run in runs:
            for turn, frames in _read_frames(run, sample).items():
                files = [run.path / FRAMES / f"{frame.sha256}.jpg" for frame in frames]
                media[sample][turn] = tuple(_copy_frame(file, folder, random) for file in files)
            if media[sample]:
                break
    if not any(media.values()):
        what, hint = "no run has frames of these samples", "use visual=none to show only text"
        raise ConfigError(what, where="visual=frames", hint=hint)
    return media


def _copy_frame(file: Path, folder: Path, random: Random) -> str:
    name = f"{random.getrandbits(64):016x}.jpg"
    try:
        write_atomically(folder / name, file.read_bytes())
    except OSError as error:
        hint = "run the same mmerg run command again to restore it, or use visual=none"
        raise RunError("a keyframe of the run is missing", where=str(file), hint=hint) from error
    return name


def _write_clips(runs: Sequence[RunResults], samples: Sequence[str], folder: Path, random: Random) -> Media:
    """Writes the clips of each sample, from the corpus of the first run."""
    run = runs[0]
    settings = run.manifest.settings
    dataset = DatasetSettings.model_validate(settings["dataset"])
    plan = SamplePlan.load(dataset, ProtocolSettings.model_validate(settings["protocol"]))
    where = f"dataset={plan.corpus.name}"
    if plan.corpus.fingerprint != run.manifest.identity.get("corpus"):
        what = "the corpus has changed since the runs"
        raise ConfigError(what, where=where, hint="restore its files, or use visual=frames")
    by_id = {sample.id: sample for sample in plan.selection.samples}
    last_turns = run.manifest.setting("frames.last_turns", 2)
    recent = {id: get_recent_clips(by_id[id].scene, last_turns).items() for id in samples}
    clips = {id: {turn: clip for turn, clip in recent[id] if clip and clip.path.is_file()} for id in samples}
    used = {id: _read_frames(run, id) for id in samples}
    if missing := [f"{id}, turn {turn}" for id in samples for turn in sorted(used[id].keys() - clips[id].keys())]:
        what = f"{len(missing)} clips that the run used are missing: {preview(missing)}"
        raise ConfigError(what, where=where, hint="restore them, or use visual=frames")
    written: dict[Clip, str] = {}
    for clip in (clip for turns in clips.values() for clip in turns.values()):
        if clip not in written:
            written[clip] = f"{random.getrandbits(64):016x}.mp4"
            write_clip(clip, folder / written[clip])
    return {id: {turn: (written[clip],) for turn, clip in turns.items()} for id, turns in clips.items()}


def _read_frames(run: RunResults, sample: str) -> dict[int, tuple[Frame, ...]]:
    """Reads the frames of a sample in a run, by turn."""
    events = (event for event in read_events(run.path, sample) if isinstance(event, FramesTaken))
    return {turn.turn: turn.frames for event in events for turn in event.turns if turn.frames}


def write_clip(clip: Clip, path: Path) -> None:
    """Writes the clip's span and crop as H.264, at most HEIGHT pixels high, with its sound as AAC. Raises ConfigError
    if it cannot be converted, or has no frame."""
    import av

    start, end = clip.start or 0.0, math.inf if clip.end is None else clip.end
    make_private_folder(path.parent)
    try:
        with (
            av.open(str(clip.path), metadata_errors="replace") as source,
            av.open(str(path), "w", options={"movflags": "+faststart"}) as out,
        ):
            picture = out.add_stream("libx264", 25, options={"crf": "25", "preset": "veryfast"})
            picture.pix_fmt, picture.codec_context.time_base = "yuv420p", Fraction(1, CLOCK)
            sound = out.add_stream("aac", RATE) if source.streams.audio else None
            size: tuple[int, int] | None = None
            with Video(clip.path) as video:
                for frame in video.frames():
                    if start <= frame.time < end:
                        pixels = av.VideoFrame.from_ndarray(crop_picture(frame.picture(), clip.crop), format="bgr24")
                        if size is None:
                            scale = min(1.0, HEIGHT / pixels.height) / 2
                            size = round(pixels.width * scale) * 2, round(pixels.height * scale) * 2
                            picture.width, picture.height = size
                        pixels = pixels.reformat(*size, "yuv420p")
                        pixels.pts, pixels.time_base = round((frame.time - start) * CLOCK), Fraction(1, CLOCK)
                        out.mux(picture.encode(pixels))
            out.mux(picture.encode(None))
            if sound:
                samples, offset = 0, (source.start_time or 0) / av.time_base
                for chunk in source.decode(audio=0):
                    if start <= (chunk.time or 0.0) - offset < end:
                        chunk.pts, chunk.time_base = samples, Fraction(1, chunk.sample_rate)
                        samples += chunk.samples
                        out.mux(sound.encode(chunk))
                out.mux(sound.encode(None))
    except (av.FFmpegError, ValueError, ClipError) as error:
        what, hint = f"a clip cannot be converted: {error}", "use visual=frames to show its keyframes"
        raise ConfigError(what, where=str(clip), hint=hint) from error
    if size is None:
        raise ConfigError("the span of a clip has no frame", where=str(clip), hint="visual=frames")
