"""Shapes of a PDF that Chromium printed: filled boxes, curves and the places of texts, in points of the page.

Reads what Skia writes and no more: `q Q cm rg re m l c h f S` and the text operators; pages lie below each other.
"""

import re
import zlib

import numpy as np

STREAM = re.compile(rb"stream\r?\n(.*?)\r?\nendstream", re.DOTALL)
TOKEN = re.compile(rb"<[^>]*>|[^\s]+")
NUMBER = re.compile(rb"-?\d*\.?\d+")
COMPLETE = 3  # operators of a solid curve: m, c, S


class PdfShapes:
    """`boxes` (colour, x1, y1, x2, y2), `curves` (colour, start, stop), `texts` (x, y) where letters start."""

    def __init__(self, pdf):
        self.boxes, self.curves, self.texts = [], [], []
        for found in STREAM.finditer(pdf):
            try:
                content = zlib.decompress(found[1])
            except zlib.error:
                continue
            if re.search(rb"\bcm\b", content):
                self._read(content)

    def _read(self, content):
        matrix, colour, kept = np.eye(3), (0, 0, 0), []
        numbers, points, curved = [], [], 0
        line = np.eye(3)

        def at(x, y):
            return tuple((np.array([x, y, 1]) @ matrix)[:2])

        for token in TOKEN.findall(content):
            if NUMBER.fullmatch(token):
                numbers.append(float(token))
                continue
            if token == b"q":
                kept.append((matrix, colour))
            elif token == b"Q":
                matrix, colour = kept.pop()
            elif token == b"cm":
                matrix = _matrix(numbers) @ matrix
            elif token == b"rg":
                colour = tuple(round(255 * value) for value in numbers[-3:])
            elif token in (b"m", b"l", b"c"):
                points += [at(*numbers[start : start + 2]) for start in range(0, len(numbers) - 1, 2)]
                curved += token == b"c"
            elif token == b"re":
                x, y, width, height = numbers[-4:]
                points += [at(x, y), at(x + width, y + height)]
            elif token in (b"f", b"f*", b"S", b"n"):
                if token in (b"f", b"f*") and points:
                    self.boxes.append((colour, *np.min(points, axis=0), *np.max(points, axis=0)))
                elif token == b"S" and curved == 1 and len(points) == COMPLETE + 1:
                    self.curves.append((colour, points[0], points[-1]))
                points, curved = [], 0
            elif token == b"Tm":
                line = _matrix(numbers)
                self.texts.append(at(*line[2, :2]))
            elif token == b"Td":  # the next letters of the same text
                line = np.array([[1, 0, 0], [0, 1, 0], [*numbers[-2:], 1]]) @ line
                self.texts.append(at(*line[2, :2]))
            if token not in (b"h",):
                numbers = []


def _matrix(numbers):
    a, b, c, d, e, f = numbers[-6:]
    return np.array([[a, b, 0], [c, d, 0], [e, f, 1]])
