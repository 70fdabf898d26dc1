"""What the lines add to the pixels of a page, told apart from everything else on it, fonts and antialiasing included.

A picture with the lines minus the same picture without them has only the lines. A pixel of it is (colour of the line -
colour of the paper) times a factor: how much of the pixel is covered, how opaque the line is, how much of a letter lies
above it. So the direction of the difference tells the colour, whatever the factor is, and the factor tells the place.
"""

import io

import numpy as np
import pytest

LINE_COLOURS = ("precision", "recall", "flow", "lost", "new", "soft", "ink")
DASH_GAP, FRAME = 4, 2  # CSS pixels: between two dashes of a line, and around the word in focus, which hides lines
REACH = DASH_GAP + FRAME + 1  # so near to its word a line must be seen, whatever part of a dash comes last

COLOUR = """(name) => {
  const probe = document.createElement("span");
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour.match(/\\d+/g).slice(0, 3).map(Number);
}"""


class LinePixels:
    """The difference that the lines on a page make, pixel by pixel, over the whole stage."""

    def __init__(self, page):
        stage = page.locator(".pair-stage").bounding_box()
        self.corner = np.floor([stage["x"], stage["y"]])
        size = np.ceil([stage["width"], stage["height"]]) + 1
        clip = dict(zip(("x", "y", "width", "height"), (*self.corner, *size), strict=True))
        self.scale = page.evaluate("devicePixelRatio")
        paper = np.array(page.evaluate(COLOUR, "paper"), dtype=float)
        self.directions = {name: np.array(page.evaluate(COLOUR, name)) - paper for name in LINE_COLOURS}
        shown = _picture(page, clip)
        page.locator(".pair-canvas").evaluate("(canvas) => { canvas.style.visibility = 'hidden'; }")
        self.change = shown - _picture(page, clip)
        page.locator(".pair-canvas").evaluate("(canvas) => { canvas.style.visibility = ''; }")

    def at(self, points):
        """The change at points of the page, in CSS pixels."""
        columns, rows = np.floor((points - self.corner) * self.scale).astype(int).T
        assert min(columns.min(), rows.min()) >= 0, "a line leaves the stage"
        return self.change[rows, columns]

    def strength(self, points, name):
        """How much of that colour lies over the paper at points: 1 where it hides the paper."""
        direction = self.directions[name]
        return self.at(points) @ direction / (direction @ direction)

    def colour(self, points):
        """Which of the lines' colours explains the change at points best."""
        change = self.at(points).sum(axis=0)
        likeness = {name: change @ way / np.linalg.norm(way) for name, way in self.directions.items()}
        return max(likeness, key=likeness.get)


def end_of_curve(line, side):
    """Points of a line's curve within reach of its word, in CSS pixels."""
    start, stop = (np.array([line[end]["x"], line[end]["y"]]) for end in ("candidate", "reference"))
    middle = (start[1] + stop[1]) / 2
    corners = np.array([start, (start[0], middle), (stop[0], middle), stop])
    t = np.linspace(0, 1, 2000)[:, None]
    points = np.hstack([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3]) @ corners
    return points[np.linalg.norm(points - (start if side == "candidate" else stop), axis=1) < REACH]


def _picture(page, clip):
    pictures = pytest.importorskip("PIL.Image")
    return np.asarray(pictures.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB"), dtype=float)
