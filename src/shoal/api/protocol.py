"""uvicorn's HTTP protocol, with a limit on the head of a request.

Behind this parser uvicorn keeps whatever headers come, without end; so a stranger could fill the
memory before any of our code is asked.
"""

from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LONGEST_HEAD = 64 * 1024

REFUSAL = (
    f"HTTP/1.1 431 {HTTPStatus(431).phrase}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
).encode()


class BoundedHeadProtocol(HttpToolsProtocol):
    _head_bytes = 0
    _in_head = True

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._in_head or self.transport.is_closing():
            return
        # Counted after parsing: what came with the end of a head may be a long body. What one
        # read brings is bounded by the event loop (256 KiB).
        self._head_bytes += len(data)
        if self._head_bytes > LONGEST_HEAD:
            self.transport.write(REFUSAL)
            self.transport.close()

    def on_message_begin(self) -> None:
        self._head_bytes = 0
        self._in_head = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # trailers of a chunked body are nobody's business
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()
