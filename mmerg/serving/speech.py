"""Speech to text with a whisper model, for the page's microphone. The sound stays in memory."""

import asyncio
import signal
from contextlib import suppress
from io import BytesIO
from itertools import chain
from multiprocessing import get_context
from multiprocessing.connection import Connection
from threading import RLock

import numpy as np
from numpy.typing import NDArray
from starlette.concurrency import run_in_threadpool

from mmerg.errors import ConfigError, MmergError
from mmerg.serving.refused import HttpError

SECONDS = 120  # of one recording
RATE = 16_000  # samples per second that whisper models take


class Transcriber:
    """A faster-whisper model on the CPU. It transcribes one recording at a time, in its own process: the server could
    not stop a thread."""

    def __init__(self, model: str) -> None:
        """model: a folder, or a name on the hub. Raises ConfigError if it cannot be loaded."""
        spawn = get_context("spawn")
        self._pipe, theirs = spawn.Pipe()
        self._process = spawn.Process(target=_work, args=(model, theirs), daemon=True)
        self._process.start()
        theirs.close()
        self._free = asyncio.Lock()
        self._answer()

    async def transcribe(self, sound: bytes) -> str:
        """The words; "" for none. sound: a file in any format that FFmpeg reads. Raises HttpError for a file without
        sound, or with more than SECONDS of it."""
        async with self._free:
            return await run_in_threadpool(self._answer, sound)

    def _answer(self, *sounds: bytes) -> str:
        try:
            for sound in sounds:
                self._pipe.send(sound)
            answer: str | MmergError = self._pipe.recv()
        except (EOFError, OSError) as error:
            what, hint = "the speech model's process has ended", "start `mmerg serve` again, then say it again"
            raise HttpError(what, hint=hint, status=503) from error
        if isinstance(answer, MmergError):
            raise answer
        return answer

    def close(self) -> None:
        """Stops a transcription with an error."""
        self._process.kill()


def _work(model: str, pipe: Connection) -> None:
    """Answers until the server ends. The first answer is "", or the error of loading the model."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches this process too
    try:
        from faster_whisper import WhisperModel
        from tqdm import tqdm

        tqdm.set_lock(RLock())  # the default is a semaphore, which a killed process leaves behind
        whisper = WhisperModel(model, device="cpu", compute_type="auto")
    except (ImportError, OSError, ValueError, RuntimeError) as error:
        named = "name a whisper model such as small, or a folder with one for CTranslate2"
        hint = 'pip install "mmerg[speech]"' if isinstance(error, ImportError) else named
        what = f"the speech model cannot be loaded: {error}"
        return pipe.send(ConfigError(what, where=f"speech.model={model}", hint=hint))
    pipe.send("")
    with suppress(EOFError):
        while True:
            try:
                segments, _ = whisper.transcribe(
                    _samples(pipe.recv()), vad_filter=True
                )  # without it silence becomes words
                pipe.send(" ".join(segment.text.strip() for segment in segments))
            except HttpError as error:
                pipe.send(error)
            except Exception as error:  # noqa: BLE001 - the next recording may succeed
                pipe.send(HttpError(f"the speech model failed: {error}", hint="say it again", status=500))


def _samples(sound: bytes) -> NDArray[np.float32]:
    """Mono, at RATE."""
    import av

    resampler, seconds = av.AudioResampler("flt", "mono", RATE, frame_size=RATE), [np.zeros(0, np.float32)]
    try:
        # As for clips: a playlist cannot reach other files or addresses.
        with av.open(BytesIO(sound), "r", options={"protocol_whitelist": "none"}, metadata_errors="replace") as file:
            for frame in chain(file.decode(audio=0), [None]):  # None flushes the resampler
                seconds += [second.to_ndarray()[0] for second in resampler.resample(frame)]
                if len(seconds) > SECONDS + 1:
                    raise HttpError(f"the speech is longer than {SECONDS} seconds", hint="say it in parts", status=413)
    except (av.FFmpegError, IndexError, ValueError):  # ValueError: the number of channels changes
        raise HttpError("the sound cannot be decoded", hint="send WebM, WAV or another file with sound") from None
    return np.concatenate(seconds)
