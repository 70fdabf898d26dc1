"""Files that appear only when they are whole."""

import pytest

from evalign.atomic_files import whole_file
from evalign.errors import FileFormatError


def test_links_stay_and_directories_are_refused(tmp_path):
    target, link = tmp_path / "real.txt", tmp_path / "link.txt"
    target.write_text("old")
    link.symlink_to(target)
    with whole_file(link) as stream:
        stream.write("new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    with pytest.raises(FileFormatError, match="directory"), whole_file(tmp_path):
        pass


def test_a_file_that_fails_half_way_leaves_nothing(tmp_path):
    def fails_half_way():
        with whole_file(tmp_path / "out.txt") as stream:
            stream.write("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails_half_way()
    assert list(tmp_path.iterdir()) == []
