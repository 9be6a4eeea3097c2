"""Chats with a running `mmerg serve` through OpenAI's SDK: prints each reply, then its emotion and plan.

python docs/examples/openai_sdk.py http://127.0.0.1:8000/v1      # each line of standard input is a turn
"""

import os
import sys
from typing import Any

from openai import OpenAI
from openai.types.chat import ChatCompletionMessageParam


def main(address: str) -> None:
    client = OpenAI(base_url=address, api_key=os.environ.get("MMERG_TOKEN", "none"))
    talk: list[ChatCompletionMessageParam] = []
    for line in sys.stdin:
        talk.append({"role": "user", "content": line.strip()})
        said, about = "", dict[str, Any]()
        for chunk in client.chat.completions.create(model="mmerg-merg", messages=talk, stream=True):
            words = chunk.choices[0].delta.content or ""
            print(words, end="", flush=True)
            said += words
            about = getattr(chunk, "mmerg", about)
        talk.append({"role": "assistant", "content": said})
        print(f"\n  (emotion: {about['emotion']}; plan: {about['plan']}; passes: {len(about['passes'])})")


if __name__ == "__main__":
    main(*sys.argv[1:])
