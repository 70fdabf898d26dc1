"""A job resumes to the same bytes after a loss of power at any point: what was not synced is gone, not wrong."""

import shutil

import pytest
from lost_writes import Disk, Recorder, images, restore

from batch_jobs import content, made_rows, run, write_rows
from evalign.batch.job import MANIFEST, Manifest
from evalign.io.folders import open_folder

SPECS = ("bertscore(model=fake, idf=references)", "rouge1")


@pytest.mark.slow
def test_a_job_resumes_whatever_was_lost(tmp_path):
    data, folder = write_rows(tmp_path / "in.jsonl", made_rows(1030)), tmp_path / "out"
    with Recorder(folder) as recorder:
        run(data, folder, SPECS)
    expected = content(folder)
    assert {call[0] for call in recorder.calls} >= {"create", "append", "sync", "replace", "mkdir"}
    left = {tuple(sorted(image.items())): (image, number, policy) for number, policy, image in images(recorder.calls)}
    assert len(left) > 40
    for image, number, policy in left.values():
        shutil.rmtree(folder)
        restore(image, folder, folder)
        run(data, folder, SPECS)
        assert content(folder) == expected, f"after {number} of {len(recorder.calls)} calls, without {policy}"


@pytest.mark.slow
def test_finished_steps_are_never_lost(tmp_path):
    """Whenever a file is begun, every line that was written before is on the disk, and so are the files it names."""
    data, folder = write_rows(tmp_path / "in.jsonl", made_rows(1030)), tmp_path / "out"
    with Recorder(folder) as recorder:
        run(data, folder, SPECS)
    disk, lines = Disk(), 0
    for call in recorder.calls:
        if call[0] == "create" and disk.folders:
            shutil.rmtree(folder, ignore_errors=True)
            restore(disk.image("names and data"), folder, folder)
            manifest = Manifest(open_folder(folder))
            assert (len(manifest.entries), manifest.damaged) == (lines, [])
            assert all(file.intact(manifest.folder) for entry in manifest.entries.values() for file in entry.files)
        disk.apply(*call)
        lines += call[0] == "append" and call[1].endswith(MANIFEST)
    assert lines == 4, "two shards, each counted and scored"


def test_the_recorder_sees_a_write_that_is_not_synced(tmp_path):
    """The oracle can fail: a line of the manifest before its file is synced would be noticed."""
    calls = [
        ("mkdir", "/job"), ("create", "/job/.a"), ("append", "/job/.a", b"12"), ("replace", "/job/.a", "/job/a"),
        ("create", "/job/manifest"), ("append", "/job/manifest", b"a"), ("sync", "/job/manifest"), ("sync", "/job"),
    ]  # fmt: skip
    left = [image for number, policy, image in images(calls) if (number, policy) == (len(calls), "names and data")]
    assert left == [{"/job": None, "/job/a": b"", "/job/manifest": b"a"}]
