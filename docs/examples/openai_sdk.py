"""Chats with a running `mmerg serve` through OpenAI's SDK. Prints each reply, then its emotion and plan.

python docs/examples/openai_sdk.py http://127.0.0.1:8000/v1      # each line of standard input is a turn
"""

import os
import sys
from typing import Any

from openai import OpenAI
from openai.types.chat import ChatCompletionMessageParam


def main(url: str) -> None:
    client = OpenAI(base_url=url, api_key=os.environ.get("MMERG_TOKEN", "none"))
    messages: list[ChatCompletionMessageParam] = []
    for line in sys.stdin:
        messages.append({"role": "user", "content": line.strip()})
        reply, details = "", dict[str, Any]()
        for chunk in client.chat.completions.create(model="mmerg-merg", messages=messages, stream=True):
            text = chunk.choices[0].delta.content or ""
            print(text, end="", flush=True)
            reply += text
            details = getattr(chunk, "mmerg", details)  # the last chunk has it
        messages.append({"role": "assistant", "content": reply})
        print(f"\n  (emotion: {details['emotion']}; plan: {details['plan']}; passes: {len(details['passes'])})")


if __name__ == "__main__":
    main(*sys.argv[1:])
