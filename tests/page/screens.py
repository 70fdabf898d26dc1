"""Fonts and device scales on which the tests of pictures run: what they say must not be true of one machine only.

The second set of fonts is made of files that matplotlib brings along, chosen to be unlike what systems have: narrow,
with serifs, higher lines, and letters without any antialiasing. fontconfig gives it to a browser of its own, so that
nothing has to be installed and no other program sees it.
"""

from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

import pytest


class Screen(NamedTuple):
    """What a page is shown on: the fonts that the browser finds, and device pixels per CSS pixel."""

    fonts: str
    scale: int

    def __str__(self):
        return f"{self.fonts}-{self.scale}x"


PLAIN = Screen("installed", 1)  # the machine's own fonts
FINE = Screen("installed", 2)
SERIF = Screen("serif", 1)
SERIF_FINE = Screen("serif", 2)

PROPORTIONAL, MONOSPACED = "STIXGeneral", "cmtt10"  # scripts that these lack are written in matplotlib's DejaVu Sans

SERIF_SETTINGS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>{fonts}</dir>
  <cachedir>{cache}</cachedir>
  <match target="pattern">
    <test name="family" qual="any" compare="contains"><string>mono</string></test>
    <edit name="family" mode="assign_replace" binding="strong"><string>{monospaced}</string></edit>
  </match>
  <match target="pattern">
    <test name="family" qual="all" compare="not_eq"><string>{monospaced}</string></test>
    <edit name="family" mode="assign_replace" binding="strong"><string>{proportional}</string></edit>
  </match>
  <match target="pattern">
    <edit name="antialias" mode="assign"><bool>false</bool></edit>
  </match>
</fontconfig>
"""


def font_environment(fonts, folder):
    """What a browser's environment must say so that it finds this set of fonts only."""
    if fonts == PLAIN.fonts:
        return {}
    matplotlib = pytest.importorskip("matplotlib", reason="the second set of fonts lies in matplotlib: extra 'plots'")
    files = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    if not (files / f"{PROPORTIONAL}.ttf").is_file():
        pytest.skip(f"no second set of fonts: {files} has no {PROPORTIONAL}")
    settings = folder / "fonts.conf"
    names = {"monospaced": MONOSPACED, "proportional": PROPORTIONAL}
    settings.write_text(
        SERIF_SETTINGS.format(fonts=escape(str(files)), cache=escape(str(folder / "cache")), **names), "utf-8"
    )
    return {"FONTCONFIG_FILE": str(settings)}


def _on(*screens):
    return pytest.mark.parametrize("screen", screens, indirect=True, ids=str)


def _slow(screen):
    return pytest.param(screen, marks=pytest.mark.slow)


# Both fonts at both scales; the quick run has one browser, with the machine's own fonts.
on_every_screen = _on(PLAIN, _slow(FINE), _slow(SERIF), _slow(SERIF_FINE))
