"""Parser of HTTP/1 that refuses what others read differently, and bodies that consist of little but chunk headers.

h11 parses; this checks the heads and counts the chunks of a request. Each refusal is an ApiError in `refusal`.
"""

from __future__ import annotations

from typing import TypeAlias

import h11

from evalign.server.errors import ApiError

MAX_HEAD_BYTES = 16_384
MAX_HEADERS = 100
MAX_CHUNKS = 10_000  # of a body: parsing them takes 0.1 s in the event loop
MAX_FRAMING_BYTES = 2**17  # of a body: sizes, extensions and line ends of its chunks
CHUNK_READ_BYTES = 2_048  # per read of a head or of chunks: 340 chunks at most, so other connections get their turn
BODY_READ_BYTES = 2**16  # per read of a body with a Content-Length, which is not parsed
VERSIONS = (b"1.0", b"1.1")
HTTPEvent: TypeAlias = h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]


class StrictParser(h11.Connection):
    """State of a connection; `refusal` says why `next_event` raised."""

    def __init__(self) -> None:
        super().__init__(h11.SERVER, MAX_HEAD_BYTES)
        self.refusal: ApiError | None = None
        self.is_head = False  # whether the request at work is a HEAD, whose answer has no body
        self._chunked = False
        self._announced = 0  # bytes of the body by Content-Length
        self._received = self._body = self._chunks = 0  # of this request, after its head

    @property
    def read_bytes(self) -> int:
        """Return how many bytes to read at once."""
        return max(CHUNK_READ_BYTES, min(BODY_READ_BYTES, self._announced - self._body))

    def receive_data(self, data: bytes) -> None:
        """Count and store bytes."""
        self._received += len(data)
        super().receive_data(data)

    def next_event(self) -> HTTPEvent:
        """Return the next event, or raise h11.RemoteProtocolError."""
        try:
            event = super().next_event()
        except h11.RemoteProtocolError as error:
            self.refusal = _refusal(error)
            raise
        if isinstance(event, h11.Request):
            self._begin(event)
        elif isinstance(event, h11.Data):
            self._count(event)
        return event

    def start_next_cycle(self) -> None:
        """Forget the request that was answered."""
        super().start_next_cycle()
        self.is_head = False

    def _begin(self, request: h11.Request) -> None:
        self.is_head = request.method == b"HEAD"
        lengths = [value for name, value in request.headers if name == b"content-length"]
        self._chunked = any(name == b"transfer-encoding" for name, _ in request.headers)
        self._announced = int(lengths[0]) if lengths else 0
        self._received, self._body, self._chunks = len(self.trailing_data[0]), 0, 0
        if request.http_version not in VERSIONS:
            self._refuse(400, "bad-http", "this server speaks HTTP/1.1 and HTTP/1.0")
        if self._chunked and (lengths or request.http_version != b"1.1"):
            self._refuse(400, "bad-http", "send either Content-Length or, in HTTP/1.1, Transfer-Encoding")
        if len(request.headers) > MAX_HEADERS:
            self._refuse(431, "head-too-large", f"send at most {MAX_HEADERS} headers")

    def _count(self, data: h11.Data) -> None:
        self._body += len(data.data)
        self._chunks += data.chunk_end  # h11 reports no start of a chunk whose size came with an earlier read
        if self._chunks > MAX_CHUNKS:
            self._refuse(413, "too-many-chunks", f"the body has more than {MAX_CHUNKS:,} chunks; send larger ones")
        if self._chunked and self._received - self._body > MAX_FRAMING_BYTES + CHUNK_READ_BYTES:
            message = f"the chunk headers of the body have more than {MAX_FRAMING_BYTES:,} bytes; send larger chunks"
            self._refuse(413, "too-many-chunks", message)

    def _refuse(self, status: int, code: str, message: str) -> None:
        self.refusal = ApiError(status, code, message)
        raise h11.RemoteProtocolError(message, status)


def _refusal(error: h11.RemoteProtocolError) -> ApiError:
    if error.error_status_hint == 431:
        return ApiError(431, "head-too-large", f"the head is larger than {MAX_HEAD_BYTES:,} bytes")
    return ApiError(400, "bad-http", "this is no HTTP request that the server can read")
