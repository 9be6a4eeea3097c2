"""Transcription of speech with a Whisper model, for the page's microphone. The sound stays in memory."""

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
from mmerg.serving.http_error import HttpError

MAX_SECONDS = 120  # of one recording
RATE = 16_000  # samples per second; Whisper models need this rate


class Transcriber:
    """A faster-whisper model on the CPU, which transcribes one recording at a time. It runs in another process, as the
    server could not stop a thread. model: a folder, or a name on the hub. Raises ConfigError if it cannot be loaded."""

    def __init__(self, model: str) -> None:
        spawn = get_context("spawn")
        self._pipe, child_pipe = spawn.Pipe()
        self._process = spawn.Process(target=_run_model, args=(model, child_pipe), daemon=True)
        self._process.start()
        child_pipe.close()
        self._lock = asyncio.Lock()
        self._receive()

    async def transcribe(self, sound: bytes) -> str:
        """Returns the text of a recording; "" if nothing is said. sound: a file in any format that FFmpeg reads. Raises
        HttpError if the file has no sound, if it is longer than MAX_SECONDS, or if the model fails."""
        async with self._lock:
            return await run_in_threadpool(self._receive, sound)

    def _receive(self, sound: bytes | None = None) -> str:
        """Sends a recording, if there is one, and returns the next answer of the process."""
        try:
            if sound is not None:
                self._pipe.send(sound)
            answer: str | MmergError = self._pipe.recv()
        except (EOFError, OSError) as error:
            what, hint = "the speech model's process has ended", "start `mmerg serve` again, then say it again"
            raise HttpError(what, hint=hint, status=503) from error
        if isinstance(answer, MmergError):
            raise answer
        return answer

    def close(self) -> None:
        """Ends the process. A running transcription raises HttpError."""
        self._process.kill()


def _run_model(model: str, pipe: Connection) -> None:
    """Loads the model and transcribes until the server ends. The first answer is "", or the error of loading."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches this process too
    try:
        from faster_whisper import WhisperModel
        from tqdm import tqdm

        tqdm.set_lock(RLock())  # the default is a semaphore, which a killed process leaves behind
        whisper = WhisperModel(model, device="cpu", compute_type="auto")
    except (ImportError, OSError, ValueError, RuntimeError) as error:
        hint = "name a whisper model such as small, or a folder with one for CTranslate2"
        if isinstance(error, ImportError):
            hint = 'pip install "mmerg[speech]"'
        what = f"the speech model cannot be loaded: {error}"
        return pipe.send(ConfigError(what, where=f"speech.model={model}", hint=hint))
    pipe.send("")
    with suppress(EOFError):
        while True:
            sound = pipe.recv()
            try:
                segments, _ = whisper.transcribe(_decode(sound), vad_filter=True)  # else silence becomes words
                pipe.send(" ".join(segment.text.strip() for segment in segments))
            except HttpError as error:
                pipe.send(error)
            except Exception as error:  # noqa: BLE001 - the next recording may succeed
                pipe.send(HttpError(f"the speech model failed: {error}", hint="say it again", status=500))


def _decode(sound: bytes) -> NDArray[np.float32]:
    """Decodes a recording to mono samples at RATE, of shape (samples,)."""
    import av

    resampler = av.AudioResampler("flt", "mono", RATE, frame_size=RATE)
    seconds = [np.zeros(0, np.float32)]
    try:
        # The options are those for clips: a playlist cannot reach other files or addresses.
        with av.open(BytesIO(sound), "r", options={"protocol_whitelist": "none"}, metadata_errors="replace") as file:
            for frame in chain(file.decode(audio=0), [None]):  # None flushes the resampler
                seconds += [second.to_ndarray()[0] for second in resampler.resample(frame)]
                if len(seconds) > MAX_SECONDS + 1:
                    what = f"the speech is longer than {MAX_SECONDS} seconds"
                    raise HttpError(what, hint="say it in parts", status=413)
    except (av.FFmpegError, IndexError, ValueError):  # ValueError: the number of channels changes
        raise HttpError("the sound cannot be decoded", hint="send WebM, WAV or another file with sound") from None
    return np.concatenate(seconds)
