"""The scored rows of all shards as one file in input order, shard by shard: no more than one is held at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from evalign.atomic_files import whole_file
from evalign.batch.job import StoredJob
from evalign.batch.outputs import import_pyarrow
from evalign.batch.summary import shard_file


def merge_shards(job: StoredJob, target: Path) -> None:
    """Writes the file, whole or not at all."""
    with whole_file(target, binary=True) as stream:
        MERGERS[job.form]([shard_file(job, number) for number in range(job.shards)], stream)


def _merge_jsonl(shards: Sequence[Path], stream: IO[bytes]) -> None:
    for shard in shards:
        stream.write(shard.read_bytes())


def _merge_parquet(shards: Sequence[Path], stream: IO[bytes]) -> None:
    """Columns are those of all shards: one whose rows all failed under a metric has none of its fields."""
    arrow = import_pyarrow("writing Parquet")
    schema = arrow.unify_schemas([arrow.parquet.read_schema(shard) for shard in shards])
    with arrow.parquet.ParquetWriter(stream, schema) as writer:
        for shard in shards:
            table = arrow.parquet.read_table(shard)
            missing = [field for field in schema if field.name not in table.column_names]
            for field in missing:
                table = table.append_column(field, arrow.nulls(len(table), field.type))
            writer.write_table(table.select(schema.names))


MERGERS: dict[str, Callable[[Sequence[Path], IO[bytes]], None]] = {"jsonl": _merge_jsonl, "parquet": _merge_parquet}
