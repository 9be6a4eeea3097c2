"""The loop of a robot: it takes a picture, reads what its user types, and replies with a gesture.

python docs/examples/robot.py 0 backbone=qwen3-vl:8b           # 0: the first camera; or the path of a video
"""

import sys

import cv2

import mmerg

GESTURES = {"joy": "raises its arms", "sadness": "leans forward", "anger": "steps back", "fear": "sits down"}


def main(camera: str, *settings: str) -> None:
    video = cv2.VideoCapture(int(camera) if camera.isdigit() else camera)
    turns: list[tuple[str, str] | tuple[str, str, list[bytes]]] = []
    with mmerg.open(*settings) as agent:
        for line in sys.stdin:
            has_picture, picture = video.read()
            frames = [cv2.imencode(".jpg", picture)[1].tobytes()] if has_picture else []
            turns.append(("User", line.strip(), frames))
            reply = agent.respond(turns, speaker="Robot")
            turns.append(("Robot", reply.text))
            print(f"[{GESTURES.get(reply.emotion or '', 'nods')}] {reply.text}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
