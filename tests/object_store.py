"""A local server that speaks S3, for tests of jobs whose folder is a URL."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def s3_server() -> Iterator[str]:
    """Run the server, point S3 clients to it, and yield the URL of a bucket; the server ends with the block."""
    pytest.importorskip("s3fs")
    server_module = pytest.importorskip("moto.server")
    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    logging.getLogger("werkzeug").setLevel(logging.WARNING)  # it tells every request
    host, port = server.get_host_and_port()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
            patch.setenv("AWS_ACCESS_KEY_ID", "test")
            patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
            patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
            patch.setenv("AWS_MAX_ATTEMPTS", "1")  # tests without a server need not wait
            import fsspec

            fsspec.filesystem("s3", skip_instance_cache=True).mkdir("scores")
            yield "s3://scores"
    finally:
        server.stop()
