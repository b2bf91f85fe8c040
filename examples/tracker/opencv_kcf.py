#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""OpenCV's KCF on the frames that `trackview save` wrote: a log to compare ours with.

  opencv_kcf.py FRAMES TRUTH.csv LOG.csv [--start FRAME] [--threshold T]

FRAMES is FRAMES.pgm of trackview, grey as our tracker sees them, or a folder of pictures, in colour, which it
uses: then it is another tracker.

Each target of TRUTH.csv begins at the box that it has in frame FRAME (0). OpenCV says `lost` where the
peak is below its detect_thresh and then leaves the box where it was; below 0, as here, it never does.
Needs python3-opencv with the contrib modules, as Debian has it: apt-get install python3-opencv.
"""
import argparse
import csv
import os
import sys

try:
    import cv2
    import numpy
except ImportError as missing:
    sys.exit(f"opencv_kcf.py: {missing}; install python3-opencv")


def read_frames(path):
    """Numbers and pictures, in three colours each, as the tracker wants them."""
    if os.path.isdir(path):
        yield from read_pictures(path)
        return
    with open(path, "rb") as file:
        for number in range(1 << 62):
            words = []
            while len(words) < 4:
                line = file.readline(256)
                if not line and not words:
                    return
                if not line.endswith(b"\n"):
                    sys.exit(f"{path}: frame {number} is cut short in its header")
                words += line.split(b"#")[0].split()
            if words[0] != b"P5" or words[3] != b"255":
                sys.exit(f"{path}: frame {number} is no P5 picture of 255 levels")
            width, height = int(words[1]), int(words[2])
            pixels = file.read(width * height)
            if len(pixels) != width * height:
                sys.exit(f"{path}: frame {number} is cut short")
            yield number, cv2.cvtColor(
                numpy.frombuffer(pixels, numpy.uint8).reshape(height, width), cv2.COLOR_GRAY2BGR)


def read_pictures(folder):
    """The pictures of a folder in the order of their names."""
    for number, name in enumerate(sorted(os.listdir(folder))):
        picture = cv2.imread(os.path.join(folder, name), cv2.IMREAD_COLOR)
        if picture is None:
            sys.exit(f"{folder}/{name}: is no picture")
        yield number, picture


def read_starts(path, start):
    """Target -> box (x, y, w, h) in frame `start`."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["frame"] == str(start)]
    if not rows:
        sys.exit(f"{path}: no box in frame {start}")
    return {int(row["target"]): tuple(float(row[key]) for key in "xywh") for row in rows}


def new_tracker(threshold):
    parameters = cv2.TrackerKCF_Params()
    parameters.detect_thresh = threshold
    return cv2.TrackerKCF_create(parameters)


def track(frames_path, starts, start, threshold):
    """Rows of the log, in its order."""
    trackers = {}
    where = dict(starts)
    for number, picture in read_frames(frames_path):
        if number < start:
            continue
        for target in sorted(starts):
            if number == start:
                trackers[target] = new_tracker(threshold)
                # OpenCV counts in whole pixels.
                trackers[target].init(picture, tuple(round(edge) for edge in starts[target]))
                found, status = True, "started"
            else:
                found, box = trackers[target].update(picture)
                where[target] = box if found else where[target]
                status = "tracked" if found else "lost"
            numbers = ",".join(f"{numpy.float32(edge):.9g}" for edge in where[target])
            yield f"{number},{target},{numbers},nan,{status},-\n"


def main():
    parser = argparse.ArgumentParser(description="OpenCV's KCF on P5 pictures")
    parser.add_argument("frames")
    parser.add_argument("truth")
    parser.add_argument("log")
    parser.add_argument("--start", type=int, default=0, metavar="FRAME")
    parser.add_argument("--threshold", type=float, default=-1.0, metavar="T")
    asked = parser.parse_args()
    rows = track(asked.frames, read_starts(asked.truth, asked.start), asked.start, asked.threshold)
    temporary = f"{asked.log}.{os.getpid()}"
    try:
        with open(temporary, "w", encoding="ascii") as file:
            file.write("frame,target,x,y,w,h,peak,status,published_ns\n")
            file.writelines(rows)
        os.replace(temporary, asked.log)
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(f"opencv_kcf.py: {error}")
