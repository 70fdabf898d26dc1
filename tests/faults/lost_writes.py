"""A disk that forgets: what a folder holds after the machine lost power, at every point of a recorded run.

`Recorder` notes the system calls below a folder. `images` replays them up to every point and drops what had not been
synced: data since the last fsync of a file, names since the last fsync of their folder.
"""

import os
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

POLICIES = ("names and data", "data", "half of the data")  # what is lost of what was not synced


class Recorder:
    """The changes of files below a folder, in order, while it is active."""

    def __init__(self, folder):
        self.folder, self.calls, self._handles = str(folder), [], {}

    def __enter__(self):
        self._patches = ExitStack()
        for name in ("open", "write", "fsync", "close", "replace", "unlink", "mkdir", "truncate"):
            real = getattr(os, name)
            self._patches.enter_context(mock.patch.object(os, name, getattr(self, f"_{name}")(real)))
        return self

    def __exit__(self, *error):
        self._patches.close()

    def _inside(self, path):
        return isinstance(path, str | os.PathLike) and (os.fspath(path) + "/").startswith(self.folder + "/")

    def _open(self, real):
        def call(path, flags, *rest, **options):
            is_new = not os.path.exists(path)
            handle = real(path, flags, *rest, **options)
            if self._inside(path):
                self._handles[handle] = os.fspath(path)
                if flags & (os.O_WRONLY | os.O_RDWR) and (is_new or flags & os.O_TRUNC):
                    self.calls.append(("create", os.fspath(path)))
            return handle

        return call

    def _write(self, real):
        def call(handle, content):
            count = real(handle, content)
            if handle in self._handles:
                self.calls.append(("append", self._handles[handle], bytes(content[:count])))
            return count

        return call

    def _fsync(self, real):
        def call(handle):
            real(handle)
            if handle in self._handles:
                self.calls.append(("sync", self._handles[handle]))

        return call

    def _close(self, real):
        def call(handle):
            self._handles.pop(handle, None)
            real(handle)

        return call

    def _replace(self, real):
        return self._paths(real, "replace")

    def _unlink(self, real):
        return self._paths(real, "unlink")

    def _mkdir(self, real):
        return self._paths(real, "mkdir")

    def _truncate(self, real):
        return self._paths(real, "truncate")

    def _paths(self, real, name):
        def call(path, *rest, **options):
            real(path, *rest, **options)
            if self._inside(path):
                self.calls.append((name, os.fspath(path), *map(str, rest[:1])))

        return call


@dataclass
class File:
    """The content of a file, and as much of it as was synced."""

    content: bytes = b""
    synced: bytes = b""


@dataclass
class Disk:
    """Files by path, and the names in each folder that were synced."""

    files: dict = field(default_factory=dict)
    folders: set = field(default_factory=set)
    synced_names: dict = field(default_factory=dict)  # by folder: its files and folders

    def apply(self, name, path, *rest):
        """Do what a recorded call did."""
        getattr(self, f"_{name}")(path, *rest)

    def image(self, policy):
        """Return what is left of the disk: path -> content, None for a folder."""
        if policy == "names and data":
            return dict(self._synced_below(min(self.folders, key=len)))
        left = dict.fromkeys(self.folders)
        for path, file in self.files.items():
            lost = len(file.content) - len(file.synced)
            left[path] = file.synced if policy == "data" else file.content[: len(file.content) - lost // 2 - lost % 2]
        return left

    def _synced_below(self, folder):
        yield folder, None
        for path, node in self.synced_names.get(folder, {}).items():
            if node is None:
                yield from self._synced_below(path)
            else:
                yield path, node.synced

    def _create(self, path):
        self.files[path] = File()

    def _append(self, path, content):
        self.files[path].content += content

    def _sync(self, path):
        if path in self.folders:
            names = {
                name: self.files.get(name) for name in (*self.files, *self.folders) if Path(name).parent == Path(path)
            }
            self.synced_names[path] = names
        else:
            self.files[path].synced = self.files[path].content

    def _replace(self, path, target):
        self.files[target] = self.files.pop(path)

    def _unlink(self, path):
        self.files.pop(path, None)

    def _mkdir(self, path, *_):
        self.folders.add(path)

    def _truncate(self, path, size):
        self.files[path].content = self.files[path].content[: int(size)]


def images(calls):
    """Yield (number of calls, policy, image) after each call that changes what its policy leaves."""
    disk, seen = Disk(), set()
    for number, call in enumerate(calls, 1):
        disk.apply(*call)
        for policy in POLICIES:
            image = disk.image(policy) if disk.folders else {}
            key = policy, tuple(sorted(image.items()))
            if key not in seen:
                seen.add(key)
                yield number, policy, image


def restore(image, before, after):
    """Write an image of the folder `before` as the folder `after`."""
    for path, content in sorted(image.items(), key=lambda item: len(item[0])):
        target = Path(str(after) + path.removeprefix(str(before)))
        if content is None:
            target.mkdir(exist_ok=True)
        else:
            target.write_bytes(content)
