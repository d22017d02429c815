"""WARC records for tests."""


def record(
    url: str, text: str | bytes, *, kind: str = "conversion", length: object = None, more: str = ""
) -> bytes:
    """A record; `length` replaces its true length, `more` is a further header line."""
    data = text.encode() if isinstance(text, str) else text
    lines = [
        "WARC/1.0",
        f"WARC-Type: {kind}",
        f"WARC-Target-URI: {url}",
        "WARC-Date: 2024-01-01T00:00:00Z",
        "WARC-Record-ID: <urn:uuid:1>",
        *([more] if more else []),
        "Content-Type: text/plain",
        f"Content-Length: {len(data) if length is None else length}",
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + data + b"\r\n\r\n"
