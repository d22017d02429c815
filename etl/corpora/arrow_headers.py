"""The headers of the record batches in an Arrow file.

pyarrow's reader of a batch would unpack it. The layout is that of Arrow's File.fbs and Message.fbs
(https://arrow.apache.org/docs/format/Columnar.html).
"""

import struct

import pyarrow as pa

ARROW_STREAM = b"\xff\xff\xff\xff"
"""The first bytes of an Arrow stream, and of each message in it or in a file."""


def rows_of_batches(stream: pa.NativeFile, count: int) -> list[int]:
    """The numbers of rows of the first `count` record batches of an Arrow file, from their headers.

    Raises:
        struct.error: the file is damaged.
    """
    end = stream.size() - 10  # behind it the size of the footer, and ARROW1
    (stated_size,) = struct.unpack("<I", stream.read_at(4, end))
    footer_size = min(end, stated_size)
    footer = stream.read_at(footer_size, end - footer_size)
    # The fourth field of the footer is the list of the batches: their number, then 24 bytes each.
    footer_table = _offset(footer, 0)
    blocks = _offset(footer, _field(footer, footer_table, 3)) + 4
    rows = []
    for number in range(count):
        place, size = struct.unpack_from("<qI", footer, blocks + 24 * number)
        message = stream.read_at(min(size, stream.size()), place)
        rows.append(_rows_of_message(message))
    return rows


def _rows_of_message(message: bytes) -> int:
    """The number of rows in the header of a record batch."""
    length_size = 8 if message.startswith(ARROW_STREAM) else 4
    content = message[length_size:]
    message_table = _offset(content, 0)
    # The third field of a message is its header, whose first field is the number of rows.
    header = _offset(content, _field(content, message_table, 2))
    (rows,) = struct.unpack_from("<q", content, _field(content, header, 0))
    return int(rows)


def _offset(buffer: bytes, place: int) -> int:
    """Where the offset at `place` of a flatbuffer leads."""
    return int(place + struct.unpack_from("<I", buffer, place)[0])


def _field(buffer: bytes, table: int, number: int) -> int:
    """The place of a field of a table in a flatbuffer."""
    (to_offsets,) = struct.unpack_from("<i", buffer, table)
    # The offsets of the fields follow two sizes of two bytes each.
    first_offset = table - to_offsets + 4
    (offset,) = struct.unpack_from("<H", buffer, first_offset + 2 * number)
    return int(table + offset)
