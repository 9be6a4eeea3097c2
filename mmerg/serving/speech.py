"""Speech to text with a whisper model, for the page's microphone. The sound stays in memory."""

import asyncio
from concurrent.futures import Future
from io import BytesIO
from itertools import chain
from threading import Thread

import numpy as np
from numpy.typing import NDArray

from mmerg.errors import ConfigError
from mmerg.serving.refused import HttpError

SECONDS = 120  # of one recording
RATE = 16_000  # samples per second that whisper models take


class Transcriber:
    """A faster-whisper model on the CPU. It transcribes one recording at a time."""

    def __init__(self, model: str) -> None:
        """model: a folder, or a name on the hub. Raises ConfigError where it cannot be loaded."""
        where = f"speech.model={model}"
        try:
            from faster_whisper import WhisperModel
        except ImportError as error:
            hint = 'pip install "mmerg[speech]"'
            raise ConfigError("faster-whisper is not installed", where=where, hint=hint) from error
        try:
            self._model = WhisperModel(model, device="cpu", compute_type="auto")
        except (OSError, ValueError, RuntimeError) as error:
            hint = "name a folder with a CTranslate2 whisper model, or a model that can be downloaded, such as small"
            raise ConfigError(f"the speech model cannot be loaded: {error}", where=where, hint=hint) from error
        self._free = asyncio.Lock()

    async def transcribe(self, sound: bytes) -> str:
        """The words, "" for none. sound: a file of any format that FFmpeg reads. Raises HttpError where it is none, or
        lasts longer than SECONDS."""
        async with self._free:
            words: Future[str] = Future()
            Thread(target=self._transcribe, args=(sound, words), daemon=True).start()  # not awaited as the server ends
            return await asyncio.wrap_future(words)

    def _transcribe(self, sound: bytes, words: Future[str]) -> None:
        words.set_running_or_notify_cancel()
        try:
            segments, _ = self._model.transcribe(_samples(sound), vad_filter=True)  # without it silence becomes words
            words.set_result(" ".join(segment.text.strip() for segment in segments))
        except Exception as error:  # noqa: BLE001 - raised where the words are awaited
            words.set_exception(error)


def _samples(sound: bytes) -> NDArray[np.float32]:
    """Mono, at RATE."""
    import av

    resampler, parts, count = av.AudioResampler("flt", "mono", RATE), [], 0
    try:
        # As for clips: a playlist cannot reach other files or addresses.
        with av.open(BytesIO(sound), "r", options={"protocol_whitelist": "none"}) as file:
            for frame in chain(file.decode(audio=0), [None]):  # None: the resampler's rest
                for part in resampler.resample(frame):
                    parts.append(part.to_ndarray()[0])
                    count += part.samples
                if count > SECONDS * RATE:
                    raise HttpError(f"the speech is longer than {SECONDS} seconds", hint="say it in parts", status=413)
    except (av.FFmpegError, IndexError) as error:
        raise HttpError("the sound cannot be decoded", hint="send WebM, WAV or another file with sound") from error
    return np.concatenate(parts or [np.zeros(0, np.float32)])
