"""How far apart two colours look, also to colour-blind eyes: CIEDE2000 after Machado, Oliveira and Fernandes (2009).

The matrices are theirs for severity 1.0, applied to linear RGB; the distance is that of Sharma, Wu and Dalal (2005).
"""

import numpy as np

VISION = {
    "normal": np.eye(3),
    "protanopia": np.array([
        [0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ]),
    "deuteranopia": np.array([
        [0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ]),
    "tritanopia": np.array([
        [1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ]),
}  # fmt: skip
XYZ = np.array([
    [0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]
])  # fmt: skip
WHITE = np.array([0.95047, 1, 1.08883])  # D65


def linear(colour):
    """Linear RGB of a colour such as `#9fd0f2`."""
    channels = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def contrast(first, second):
    """The contrast ratio of WCAG 2."""
    low, high = sorted(float(XYZ[1] @ linear(colour)) for colour in (first, second))
    return (high + 0.05) / (low + 0.05)


def apart(first, second, vision="normal"):
    """The CIEDE2000 distance of two colours, as these eyes see them."""
    return difference(*(_lab(np.clip(VISION[vision] @ linear(colour), 0, 1)) for colour in (first, second)))


def difference(first, second):
    """CIEDE2000 of two colours in CIELAB."""
    (l1, a1, b1), (l2, a2, b2) = first, second
    chroma = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    grow = 1.5 - 0.5 * np.sqrt(chroma**7 / (chroma**7 + 25**7))
    c1, c2 = np.hypot(grow * a1, b1), np.hypot(grow * a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, grow * a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    grey = c1 * c2 == 0
    turn = 0 if grey else (h2 - h1 + 180) % 360 - 180
    hue = h1 + h2 if grey else (h1 + turn / 2) % 360
    lightness, chroma = (l1 + l2) / 2, (c1 + c2) / 2
    cosines = [np.cos(np.radians(angle)) for angle in (hue - 30, 2 * hue, 3 * hue + 6, 4 * hue - 63)]
    t = 1 + np.dot([-0.17, 0.24, 0.32, -0.20], cosines)
    by_light = (l2 - l1) / (1 + 0.015 * (lightness - 50) ** 2 / np.sqrt(20 + (lightness - 50) ** 2))
    by_chroma = (c2 - c1) / (1 + 0.045 * chroma)
    by_hue = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2)) / (1 + 0.015 * chroma * t)
    bend = np.sin(np.radians(60 * np.exp(-(((hue - 275) / 25) ** 2)))) * 2 * np.sqrt(chroma**7 / (chroma**7 + 25**7))
    return float(np.sqrt(by_light**2 + by_chroma**2 + by_hue**2 - bend * by_chroma * by_hue))


def _lab(rgb):
    x, y, z = (
        np.cbrt(value) if value > 216 / 24389 else (24389 / 27 * value + 16) / 116 for value in XYZ @ rgb / WHITE
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)
