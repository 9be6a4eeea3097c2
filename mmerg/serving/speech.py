"""Transcription of speech with a Whisper model, for the page's microphone. The sound stays in memory."""

import asyncio
import os
import signal
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, suppress
from io import BytesIO
from itertools import chain
from multiprocessing import get_context, parent_process
from threading import RLock, Thread
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmerg.errors import ConfigError
from mmerg.serving.http_error import HttpError

MAX_SECONDS = 120  # of one recording
RATE = 16_000  # samples per second; Whisper models need this rate
_models: list[Any] = []  # the model of the process


class Transcriber:
    """A faster-whisper model on the CPU, which transcribes one recording at a time. It runs in another process, as the
    server could not stop a thread. model: a folder, or a name on the hub. Raises ConfigError if it cannot be loaded."""

    def __init__(self, model: str) -> None:
        self._process = ProcessPoolExecutor(1, get_context("spawn"))
        self._pid = self._process.submit(os.getpid).result()
        with ExitStack() as stack:
            stack.callback(self.close)  # also after Ctrl-C, as loading may include a download
            try:
                self._process.submit(_load_model, model).result()
            except (ImportError, OSError, ValueError, RuntimeError) as error:
                hint = "name a whisper model such as small, or a folder with one for CTranslate2"
                if isinstance(error, ImportError):
                    hint = 'pip install "mmerg[speech]"'
                what = f"the speech model cannot be loaded: {error}"
                raise ConfigError(what, where=f"speech.model={model}", hint=hint) from error
            stack.pop_all()

    async def transcribe(self, sound: bytes) -> str:
        """Returns the text of a recording; "" if nothing is said. sound: a file in any format that FFmpeg reads. Raises
        HttpError if the file has no sound, if it is longer than MAX_SECONDS, or if the model fails."""
        try:
            return await asyncio.wrap_future(self._process.submit(_transcribe, sound))
        except BrokenProcessPool as error:
            what, hint = "the speech model's process has ended", "start `mmerg serve` again, then say it again"
            raise HttpError(what, hint=hint, status=503) from error

    def close(self) -> None:
        """Ends the process. A running transcription raises HttpError."""
        with suppress(ProcessLookupError):  # it has ended
            os.kill(self._pid, signal.SIGKILL)


def _load_model(model: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches this process too
    Thread(target=_end_with_server, daemon=True).start()
    from faster_whisper import WhisperModel
    from tqdm import tqdm

    tqdm.set_lock(RLock())  # the default is a semaphore, which a killed process leaves behind
    _models.append(WhisperModel(model, device="cpu", compute_type="auto"))


def _end_with_server() -> None:
    """Ends this process when the server's process has ended, even if that was killed."""
    server = parent_process()
    assert server is not None
    server.join()
    os._exit(0)


def _transcribe(sound: bytes) -> str:
    decoded = _decode(sound)
    try:
        segments, _ = _models[0].transcribe(decoded, vad_filter=True)  # else silence becomes words
        return " ".join(segment.text.strip() for segment in segments)
    except Exception as error:
        raise HttpError(f"the speech model failed: {error}", hint="say it again", status=500) from error


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
