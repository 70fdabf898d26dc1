"""Finished steps: found again by everything that decides them, made again when damaged, never half written."""

import json

import numpy as np
import pytest

from evalign.research.studies.inputs import Steps, digest_of

KEY = {"model": "a@1", "texts": "x"}


def counted(value):
    calls = []

    def make():
        calls.append(1)
        return value

    return make, calls


@pytest.mark.parametrize("kind", ["arrays", "values"])
def test_a_step_is_made_once_and_found_again(tmp_path, kind):
    value = {"scores": np.array([0.1, 1 / 3])} if kind == "arrays" else {"share": 1 / 3, "names": ["a"]}
    make, calls = counted(value)
    steps = Steps(tmp_path / "new" / "folder")
    first, second = (getattr(steps, kind)(KEY, make) for _ in range(2))
    assert len(calls) == 1
    assert np.array_equal(first["scores"], second["scores"]) if kind == "arrays" else first == second == value


@pytest.mark.parametrize("change", [{"model": "a@2"}, {"texts": "y"}, {"seed": 1}])
def test_another_key_is_another_step(tmp_path, change):
    make, calls = counted({"a": np.zeros(1)})
    for key in (KEY, KEY | change):
        Steps(tmp_path).arrays(key, make)
    assert len(calls) == 2


def test_another_version_is_another_step(tmp_path, monkeypatch):
    make, calls = counted({"a": np.zeros(1)})
    Steps(tmp_path).arrays(KEY, make)
    monkeypatch.setattr("evalign.research.studies.inputs.__version__", "99")
    Steps(tmp_path).arrays(KEY, make)
    assert len(calls) == 2


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04nothing", "half", "other key", "changed byte"])
@pytest.mark.parametrize("kind", ["arrays", "values"])
def test_a_damaged_file_is_made_again(tmp_path, kind, damage):
    make, calls = counted({"a": np.arange(50.0)} if kind == "arrays" else {"a": 1})
    steps = Steps(tmp_path)
    getattr(steps, kind)(KEY, make)
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    if damage == "half":
        file.write_bytes(whole[: len(whole) // 2])
    elif damage == "changed byte":
        file.write_bytes(
            whole.replace(b'"value": {"a": 1}', b'"value": {"a": 2}') if kind == "values" else _flipped(whole)
        )
        assert file.read_bytes() != whole
    elif damage == "other key":
        getattr(steps, kind)({"other": 1}, make)
        (other,) = (one for one in tmp_path.iterdir() if one != file)
        file.write_bytes(other.read_bytes())
    else:
        file.write_bytes(damage)
    made = len(calls)
    getattr(steps, kind)(KEY, make)
    assert len(calls) == made + 1
    assert file.read_bytes() == whole


def _flipped(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def test_a_step_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(ZeroDivisionError):
        Steps(tmp_path).arrays(KEY, lambda: {"a": np.array(1 // 0)})
    assert list(tmp_path.iterdir()) == []


def test_without_a_folder_nothing_is_kept(tmp_path):
    make, calls = counted({"a": np.zeros(1)})
    for _ in range(2):
        Steps(None).arrays(KEY, make)
    assert len(calls) == 2


def test_a_folder_that_cannot_be_written_stops_nobody(tmp_path):
    (tmp_path / "file").write_text("")
    make, calls = counted({"a": np.ones(2)})
    assert Steps(tmp_path / "file").arrays(KEY, make)["a"].tolist() == [1, 1]
    assert calls == [1]


def test_digests_tell_texts_apart():
    assert digest_of(["ab", "c"]) != digest_of(["a", "bc"])
    assert digest_of({"a": 1, "b": 2}) == digest_of(json.loads('{"b": 2, "a": 1}'))
