"""The job file and the manifest as values: what they store, what they compare, and what they refuse."""

import dataclasses
import hashlib
import json

import pytest

from batch_jobs import write_rows
from evalign.batch import job as job_module
from evalign.batch.inputs import make_plan
from evalign.batch.job import (
    JOB,
    MANIFEST,
    BatchJob,
    FileRecord,
    Manifest,
    ManifestLine,
    StoredJob,
    Work,
    content_changes,
    read_job,
    signed_job,
)
from evalign.core.registry import metric
from evalign.errors import FileFormatError, SpecError
from evalign.io.folders import open_folder
from evalign.io.rows import Columns
from evalign.version import __version__

ROWS = [{"candidate": "a b", "reference": "a c"}, {"candidate": "b", "reference": "b"}]
SPECS = ("bertscore(model=fake, idf=references)", "chrf", "lisascore(model=fake)")
EXECUTION = {"backend": "auto", "device": "cpu", "threads": "0", "token_budget": "512"}


def batch_job(tmp_path, files=("in.jsonl",), specs=SPECS, shard_rows=1024, **changed):
    for name in files:
        if not (tmp_path / name).exists():
            write_rows(tmp_path / name, ROWS)
    columns = changed.pop("columns", Columns())
    plan = make_plan([(str(tmp_path / name), "jsonl") for name in files], shard_rows, columns=columns)
    metrics = tuple(metric(spec) for spec in specs)
    options = {"folder": open_folder(tmp_path / "out"), "columns": columns, "output_format": "jsonl"} | changed
    return BatchJob(Work(metrics=metrics, **options), shard_rows, plan)


def entered(tmp_path, **changed):
    (tmp_path / "out").mkdir(exist_ok=True)
    job = batch_job(tmp_path, **changed)
    job.enter()
    return job


def test_a_job_file_has_all_that_decides_the_output(tmp_path):
    entered(tmp_path)
    stored = json.loads((tmp_path / "out" / JOB).read_bytes())
    content = (tmp_path / "in.jsonl").read_bytes()
    digest = stored.pop("sha256")
    assert stored.pop("libraries")["numpy"]
    assert set(stored.pop("content")) == {str(metric(spec)) for spec in SPECS}
    assert stored == {
        "format": "evalign.batch",
        "version": 1,
        "evalign": __version__,
        "metrics": [str(metric(spec)) for spec in SPECS],
        "execution": [EXECUTION, {}, EXECUTION],
        "columns": dataclasses.asdict(Columns()) | {"references": [], "extra": []},
        "shard_rows": 1024,
        "output": "jsonl",
        "input": [
            {
                "path": str(tmp_path / "in.jsonl"),
                "kind": "jsonl",
                "rows": 2,
                "sha256": hashlib.sha256(content).hexdigest(),
            }
        ],
        "shards": 1,
    }
    assert len(digest) == 64


def test_fields_that_only_a_reader_adds_are_no_part_of_a_job(tmp_path):
    columns = Columns(candidate="candidate", references=("reference",), extra=("pair",))
    stored = batch_job(tmp_path, columns=columns).to_dict()["columns"]
    assert (stored["references"], stored["extra"]) == (["reference"], [])


def test_metrics_that_count_idf_are_named_with_their_indices(tmp_path):
    work = batch_job(tmp_path, specs=("chrf", "bertscore(model=fake)", SPECS[0])).work
    assert work.counting() == [(2, metric(SPECS[0]))]


def test_a_stored_job_describes_itself_without_its_input(tmp_path):
    columns = Columns(candidate="candidate", references=("reference",), human="score")
    entered(tmp_path, files=("a.jsonl", "b.jsonl"), columns=columns, output_format="parquet")
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).unlink()
    job = StoredJob.open(open_folder(tmp_path / "out"))
    assert (job.shards, job.rows, job.output_format, job.changes) == (2, 4, "parquet", None)
    assert [file.path for file in job.files] == [str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")]
    assert job.files is job.files
    assert [str(item) for item in job.metrics] == [str(metric(spec)) for spec in SPECS]
    assert job.metrics is job.metrics
    assert job.columns == columns
    assert job.columns_with(("pair",), "rating") == dataclasses.replace(columns, extra=("pair",), human="rating")


def test_shards_are_planned_again_from_the_same_input_only(tmp_path):
    planned = entered(tmp_path).plan.shards
    job = StoredJob.open(open_folder(tmp_path / "out"))
    assert job.planned_shards() == planned
    write_rows(tmp_path / "in.jsonl", ROWS[::-1])
    with pytest.raises(FileFormatError, match=r"out: the input file .*in\.jsonl is not what it was"):
        job.planned_shards()


def test_a_folder_is_entered_again_by_the_same_job(tmp_path):
    job = entered(tmp_path)
    before = (tmp_path / "out" / JOB).read_bytes()
    for name in ("shards", "idf"):
        assert (tmp_path / "out" / name).is_dir()
    job.enter()
    assert (tmp_path / "out" / JOB).read_bytes() == before


def test_a_folder_with_other_files_is_refused_and_keeps_them(tmp_path):
    (tmp_path / "out").mkdir()
    for name in ("notes.txt", "todo.txt"):
        (tmp_path / "out" / name).write_text("mine")
    with pytest.raises(FileFormatError, match=r"holds other files \(notes\.txt\)"):
        entered(tmp_path)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["notes.txt", "todo.txt"]


OTHER_JOBS = {
    "metrics": ({"specs": ("chrf",)}, r"another value of `specs`: \[\"bertscore.*\], now \[\"chrf\"\]"),
    "execution": (
        {"specs": ("bertscore(model=fake, idf=references, threads=2)", *SPECS[1:])},
        "another value of the execution options",
    ),
    "columns": ({"columns": Columns(human="rating")}, "another value of the fields of the rows"),
    "shard_rows": ({"shard_rows": 2048}, "another value of `shard_rows`: 1024, now 2048"),
    "output": ({"output_format": "parquet"}, 'another value of `shard_format`: "jsonl", now "parquet"'),
    "a file more": ({"files": ("a.jsonl", "b.jsonl", "c.jsonl")}, r"started without the input file .*c\.jsonl"),
    "a file less": ({"files": ("a.jsonl",)}, r"started with the input file .*b\.jsonl"),
    "files in another order": ({"files": ("b.jsonl", "a.jsonl")}, "started with the input files in another order"),
}


@pytest.mark.parametrize("name", OTHER_JOBS)
def test_a_folder_is_not_entered_by_another_job(tmp_path, name):
    changed, reason = OTHER_JOBS[name]
    files = ("a.jsonl", "b.jsonl")
    entered(tmp_path, files=files)
    with pytest.raises(SpecError, match=rf"out: its job was {reason}|out: its job was started with {reason}"):
        entered(tmp_path, **({"files": files} | changed))


def test_the_first_order_of_the_files_stays(tmp_path):
    entered(tmp_path, files=("b.jsonl", "a.jsonl"))
    with pytest.raises(SpecError, match="started with the input files in another order"):
        entered(tmp_path, files=("a.jsonl", "b.jsonl"))


def test_a_folder_of_another_version_of_evalign_is_not_entered(tmp_path, monkeypatch):
    entered(tmp_path)
    monkeypatch.setattr(job_module, "__version__", "0.0.0")
    with pytest.raises(SpecError, match=rf'another value of evalign\'s version: "{__version__}", now "0\.0\.0"'):
        entered(tmp_path)


@pytest.mark.parametrize(("length", "shortened"), [(200, False), (201, True)])
def test_long_values_are_shortened_in_messages(tmp_path, monkeypatch, length, shortened):
    """The text is quoted: 200 characters are two quotes and 198 others."""
    version = "é" * (length - 2)
    monkeypatch.setattr(job_module, "__version__", version)
    entered(tmp_path)
    monkeypatch.setattr(job_module, "__version__", "2")
    quoted = f'"{version}…' if shortened else f'"{version}", now'
    with pytest.raises(SpecError, match=rf"version: {quoted}"):
        entered(tmp_path)


def with_libraries(monkeypatch, **versions):
    monkeypatch.setattr(job_module, "deciding_libraries", lambda: versions)


def test_changed_libraries_are_an_error_unless_they_are_accepted(tmp_path, monkeypatch):
    with_libraries(monkeypatch, numpy="1", scipy="1")
    entered(tmp_path)
    with_libraries(monkeypatch, numpy="1", scipy="2")
    with pytest.raises(SpecError, match=r"started with another scipy \(1, now 2\), which may change scores"):
        entered(tmp_path)
    entered(tmp_path, accept_changes=True)
    with_libraries(monkeypatch, numpy="3", scipy="2")
    entered(tmp_path, accept_changes=True)
    stored = read_job(open_folder(tmp_path / "out"))
    assert stored["changes"] == ["another scipy (1, now 2)", "another numpy (1, now 3)"]
    assert stored["libraries"] == {"numpy": "3", "scipy": "2"}
    entered(tmp_path)
    assert read_job(open_folder(tmp_path / "out")) == stored


def test_a_run_that_accepts_changes_is_stored_before_there_are_any(tmp_path):
    entered(tmp_path, accept_changes=True)
    stored = (tmp_path / "out" / JOB).read_bytes()
    assert read_job(open_folder(tmp_path / "out"))["changes"] == []
    assert StoredJob.open(open_folder(tmp_path / "out")).changes == []
    entered(tmp_path, accept_changes=True)
    assert (tmp_path / "out" / JOB).read_bytes() == stored


FLAGS = "avx avx2"
CHANGED_CONTENT = [
    ({"numpy": "1"}, {"numpy": "1"}, {}, {}, []),
    ({"numpy": "1"}, {"numpy": "2"}, {}, {}, ["another numpy (1, now 2)"]),
    ({"numpy": "1"}, {}, {}, {}, ["another numpy (1, now None)"]),
    ({}, {"numpy": "1"}, {}, {}, ["another numpy (None, now 1)"]),
    ({}, {}, {"chrf": {"model": "x"}}, {"chrf": {"model": "y"}}, ["another model of chrf (x, now y)"]),
    ({}, {}, {}, {"chrf": {"model": "y"}}, ["another model of chrf (None, now y)"]),
    ({}, {}, {"bleu": {"model": "x"}}, {}, []),
    ({}, {}, {"c": {"cpu": FLAGS}}, {"c": {"cpu": "avx"}}, ["another cpu of c (now without avx2)"]),
    ({}, {}, {"c": {"cpu": FLAGS}}, {"c": {"cpu": "avx avx2 vnni"}}, ["another cpu of c (now with vnni)"]),
    (
        {"numpy": "1"},
        {"numpy": "2"},
        {"c": {"cpu": FLAGS}},
        {"c": {"cpu": "sse neon"}},
        ["another numpy (1, now 2)", "another cpu of c (now without avx avx2 and with sse neon)"],
    ),
]


@pytest.mark.parametrize(("libraries", "libraries_now", "content", "content_now", "phrases"), CHANGED_CONTENT)
def test_each_change_of_content_is_a_phrase(libraries, libraries_now, content, content_now, phrases):
    stored = {"libraries": libraries, "content": content}
    assert content_changes(stored, {"libraries": libraries_now, "content": content_now}) == phrases


def test_a_job_file_keeps_other_scripts_readable(tmp_path):
    (tmp_path / "out").mkdir()
    content = signed_job({"evalign": "é", "a": 1})
    assert 'é"' in content.decode()
    assert json.loads(content) == {"evalign": "é", "a": 1, "sha256": json.loads(content)["sha256"]}


REFUSED_JOBS = {
    "no file": (None, "no batch job in this folder; start one with"),
    "another format": ({"format": "evalign.other"}, "expected evalign.batch version 1, the folder is of another"),
    "an earlier version": ({"version": 0}, "expected evalign.batch version 1, the folder is of another"),
    "a later version": ({"version": 2}, "expected evalign.batch version 1, the folder is of another"),
    "no version": ({"version": None}, "expected evalign.batch version 1, the folder is of another"),
    "a changed value": ({"shards": 2}, "changed or damaged, it does not fit its digest; restore it"),
    "a low digest": ({"sha256": "0" * 64}, "it does not fit its digest"),
    "a high digest": ({"sha256": "f" * 64}, "it does not fit its digest"),
}


@pytest.mark.parametrize("name", REFUSED_JOBS)
def test_a_job_file_that_cannot_be_trusted_is_refused(tmp_path, name):
    change, reason = REFUSED_JOBS[name]
    folder = open_folder(tmp_path / "out")
    (tmp_path / "out").mkdir()
    if change is not None:
        stored = json.loads(signed_job(batch_job(tmp_path).to_dict()))
        (tmp_path / "out" / JOB).write_text(json.dumps(stored | change))
    with pytest.raises(FileFormatError, match=reason):
        read_job(folder)


@pytest.mark.parametrize("removed", ["sha256", "format", "version"])
def test_a_job_file_without_a_key_is_refused(tmp_path, removed):
    (tmp_path / "out").mkdir()
    stored = json.loads(signed_job(batch_job(tmp_path).to_dict()))
    del stored[removed]
    (tmp_path / "out" / JOB).write_text(json.dumps(stored))
    with pytest.raises(FileFormatError, match=r"job\.json: "):
        read_job(open_folder(tmp_path / "out"))


def test_a_job_file_with_a_fitting_digest_but_other_fields_says_so(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / JOB).write_bytes(signed_job(batch_job(tmp_path).to_dict() | {"more": 1}))
    with pytest.raises(FileFormatError, match="it has other fields than a job; restore it"):
        read_job(open_folder(tmp_path / "out"))


def test_a_job_file_that_cannot_be_opened_is_a_sentence(tmp_path):
    (tmp_path / "out" / JOB).mkdir(parents=True)
    with pytest.raises(FileFormatError, match=r"job\.json: cannot be read \(.*directory"):
        read_job(open_folder(tmp_path / "out"))


RECORD = FileRecord.of("shards/000000.jsonl", b"content")
LINE = ManifestLine("score", 3, (RECORD,), 10, 20, 40, 1.5, {"chrf": "chrf|é"}, ("a note",))


def test_a_line_is_read_as_it_was_written():
    line = LINE.to_line()
    assert (line[-1:], line.count(b"\n")) == (b"\n", 1)
    assert ManifestLine.parse(line) == LINE
    plain = json.loads(line)
    assert (len(plain.pop("digest")), plain) == (16, json.loads(json.dumps(dataclasses.asdict(LINE))))
    assert "é".encode() in line


def test_rows_are_those_that_were_scored_flagged_or_failed():
    assert LINE.rows == 70
    counting = ManifestLine("idf", 0, ())
    assert (counting.rows, counting.scored, counting.flagged, counting.failed, counting.seconds) == (0, 0, 0, 0, 0.0)
    assert (dict(counting.signatures), counting.notes) == ({}, ())


@pytest.mark.parametrize("digest", ["0" * 16, "f" * 16, "", 1])
def test_a_line_with_another_digest_is_refused(digest):
    plain = json.loads(LINE.to_line()) | {"digest": digest}
    with pytest.raises(ValueError, match="does not fit its digest"):
        ManifestLine.parse(json.dumps(plain).encode())


def test_a_file_is_intact_only_with_the_content_that_was_written(tmp_path):
    folder = open_folder(tmp_path)
    (tmp_path / "shards").mkdir()
    path = tmp_path / RECORD.name
    assert (RECORD.size, RECORD.sha256) == (7, hashlib.sha256(b"content").hexdigest())
    assert not RECORD.intact(folder)
    with pytest.raises(FileFormatError, match=r"000000\.jsonl: No such file or directory; run the job's command again"):
        RECORD.read(folder)
    path.write_bytes(b"Content")
    assert not RECORD.intact(folder)
    with pytest.raises(FileFormatError, match=r"000000\.jsonl: damaged"):
        RECORD.read(folder)
    path.write_bytes(b"content")
    assert RECORD.intact(folder)
    assert RECORD.read(folder) == b"content"
    assert LINE.read(folder, RECORD.name) == b"content"
    assert LINE.read(folder, "shards/000001.jsonl") is None


@pytest.fixture
def manifest(tmp_path):
    """A manifest of two steps, whose files exist."""
    (tmp_path / "shards").mkdir()
    manifest = Manifest(open_folder(tmp_path))
    for number in (2, 0, 1):
        record = FileRecord.of(f"shards/{number:06}.jsonl", b"content %d" % number)
        (tmp_path / record.name).write_bytes(b"content %d" % number)
        manifest.append(ManifestLine("score", number, (record,), scored=number))
    manifest.append(ManifestLine("idf", 0, ()))
    return manifest


def test_finished_steps_are_those_of_the_log_and_of_this_run(tmp_path, manifest):
    for read in (manifest, Manifest(open_folder(tmp_path))):
        assert list(read.done("score")) == list(read.intact("score")) == [0, 1, 2]
        assert [read.done("score")[number].scored for number in range(3)] == [0, 1, 2]
        assert list(read.done("idf")) == [0]
        assert read.done("merge") == {}
        assert read.damaged == []


def test_a_step_is_done_if_its_files_have_their_sizes_and_intact_if_they_have_their_content(tmp_path, manifest):
    (tmp_path / "shards/000000.jsonl").unlink()
    (tmp_path / "shards/000001.jsonl").write_bytes(b"Content 1")
    assert list(manifest.done("score")) == [1, 2]
    assert list(manifest.intact("score")) == [2]
    assert manifest.damaged == ["shards/000001.jsonl"]
    for content in (b"conten", b"content 2, and more"):
        (tmp_path / "shards/000002.jsonl").write_bytes(content)
        assert list(manifest.done("score")) == [1]


def test_the_last_line_of_a_step_counts(tmp_path, manifest):
    manifest.append(dataclasses.replace(manifest.done("score")[1], scored=7))
    for read in (manifest, Manifest(open_folder(tmp_path))):
        assert read.done("score")[1].scored == 7


def test_damaged_lines_are_named_by_their_number_and_the_others_are_read(tmp_path, manifest):
    path = tmp_path / MANIFEST
    lines = path.read_bytes().splitlines(keepends=True)
    damaged = [b"[]\n", b"{}\n", b"not json\n", b'{"digest": "0"}\n', b"[" * 100_000 + b"\n"]
    path.write_bytes(b"".join([lines[0], *damaged, *lines[1:]]) + b'{"torn')
    read = Manifest(open_folder(tmp_path))
    assert read.damaged == [f"line {number} of manifest.jsonl" for number in range(2, 7)]
    assert list(read.done("score")) == [0, 1, 2]
    read.drop_torn_line()
    assert path.read_bytes().endswith(lines[-1])
