"""
A client that only listens, in a process of its own, so that the one with the
stopwatch need not read what a flood brings.

    subscriber.py CONNECTION_FILE

Says "ready" when IOPub arrives. For each line on stdin, the id of a request, it
says what came until that one's idle: {"messages": n, "bytes": n, "characters": n}.
"""

import json
import sys

import client


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        listener = client.Client(json.load(file))
    listener.socket("iopub").recv_multipart()
    print("ready", flush=True)
    for line in sys.stdin:
        messages = listener.until_idle(line.strip())
        texts = client.contents(messages, "stream")
        print(json.dumps({
            "messages": len(messages),
            "bytes": sum(len(frame) for frames in messages for frame in frames),
            "characters": sum(len(content["text"]) for content in texts),
        }), flush=True)
    listener.close()


main()
