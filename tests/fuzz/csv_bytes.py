"""Tables as people's programs write them, and the same tables with bytes that went wrong."""

import csv
import gzip
import io

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st
from pyarrow import parquet

#: What a cell of text may hold and still has to come back as it was.
CELLS = (
    "a", "00123", "", " ", "x y", "ü", "日本", "a,b", "a;b", 'say "hi"', "line\nbreak",
    "cr\r\nlf", "old\rmac", "tab\there", "pipe|", "=1+1", "+1", "-1", "@SUM(A1)", "NA", "NaN",
    "null", "None", "true", "1e5", "0x1F", "1.50", "'", '"', '""', "\x1b[31m", "\u202e", "\x7f",
    "é", "#N/A", "sep=;", "—", "🙂", "\ufeff", "  led", "12345678901234567890", "0.1",
    "2020-01-01", "\\n", "\\", "%", "1%", "1,5",
)  # fmt: skip
#: What a column may be called; some as ours are.
NAMES = (
    "note", "abstain", "prediction", "gain", "reason", "threshold", "policy", "p_0", "p_1",
    "row", "abstain_gain", "a b", "ü", "a,b", "x;y", "=1", "site", "two\nlines", "a.b", "1",
    "__index_level_0__",
)  # fmt: skip
SEPARATORS = (",", ";", "\t", "|")
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "windows-1252")


@st.composite
def tables(draw):
    """Columns by name: scores, labels, ids, and others that are none of our business."""
    rows = draw(st.integers(2, 25))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cells = draw(st.lists(st.sampled_from(CELLS), min_size=1, max_size=8))

    def texts():
        return [cells[k] for k in rng.integers(len(cells), size=rows)]

    score = draw(st.sampled_from(["p", "p_ill", "the score"]))
    y = rng.integers(2, size=rows)
    y[:2] = 0, 1
    columns = {
        "id": [f"{text}{k}" for k, text in enumerate(texts())] if draw(st.booleans()) else texts(),
        score: np.round(rng.uniform(size=rows), draw(st.integers(2, 17))).tolist(),
        "ill": y.tolist(),
    }
    for name in draw(st.lists(st.sampled_from(NAMES), max_size=4, unique=True)):
        columns[name] = texts()
    order = draw(st.permutations(list(columns)))
    return score, {name: columns[name] for name in order}


@st.composite
def dialects(draw):
    """How a text file is written."""
    return {
        "separator": draw(st.sampled_from(SEPARATORS)),
        "quoting": draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])),
        "end": draw(st.sampled_from(["\n", "\r\n", "\r"])),
        "encoding": draw(st.sampled_from(ENCODINGS)),
        "above": draw(st.sampled_from(["", "", "", "\n", "\n\n", "sep"])),
        "below": draw(st.sampled_from(["", "", "\n", "\n\n\n"])),
        "cut": draw(st.booleans()),
    }


def as_text(columns, dialect):
    """Return a table as the bytes of a text file; None where its encoding lacks a character."""
    buffer = io.StringIO(newline="")
    end = dialect["end"]
    above = dialect["above"].replace("\n", end).replace("sep", f"sep={dialect['separator']}{end}")
    buffer.write(above)
    writer = csv.writer(
        buffer, delimiter=dialect["separator"], quoting=dialect["quoting"], lineterminator=end
    )
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    text = buffer.getvalue()
    # Old programs end the last line, or do not; some add empty ones.
    text = text.removesuffix(end) if dialect["cut"] else text + dialect["below"].replace("\n", end)
    try:
        return text.encode(dialect["encoding"])
    except UnicodeEncodeError:
        return None


def as_parquet(columns):
    """Return a table as the bytes of a Parquet file."""
    buffer = io.BytesIO()
    parquet.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


def as_workbook(columns):
    """Return a table as the bytes of a workbook; None where Excel has no such text."""
    import openpyxl
    from openpyxl.utils.exceptions import IllegalCharacterError

    book = openpyxl.Workbook()
    sheet = book.active
    try:
        for row in (list(columns), *zip(*columns.values(), strict=True)):
            sheet.append([*row])
            for cell in sheet[sheet.max_row]:
                if isinstance(cell.value, str):
                    cell.data_type = "s"
    except IllegalCharacterError:
        return None
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


INSERTED = (
    b'"', b'""', b"\0", b"\n", b"\r", b"\r\n", b",", b";", b"\t", b"\xef\xbb\xbf", b"\xff\xfe",
    b"\x1b", b"PAR1", b"PK\x03\x04", b"\x1f\x8b", b"\xff", b"\x81", b"-", b"e999", b"nan", b"%",
    b"\x1a", b"'", b"9" * 400, b"<!DOCTYPE x>", b"\xed\xa0\x80", b",,,,,,,,", b"x" * 70_000,
)  # fmt: skip


@st.composite
def mutations(draw):
    """What happens to bytes: places as fractions of the length, so that they fit any file."""
    place = st.floats(0, 1)
    one = st.one_of(
        st.tuples(st.just("insert"), place, st.sampled_from(INSERTED)),
        st.tuples(st.just("delete"), place, st.integers(1, 40)),
        st.tuples(st.just("flip"), place, st.integers(1, 255)),
        st.tuples(st.just("cut"), place),
        st.tuples(st.just("repeat"), place, st.integers(1, 200)),
        st.tuples(st.just("swap"), place, place),
    )
    return draw(st.lists(one, min_size=1, max_size=4))


def mutated(raw, changes):
    """Return bytes with all of the changes made to them."""
    data = bytearray(raw)
    for what, place, *more in changes:
        at = int(place * len(data))
        if what == "insert":
            data[at:at] = more[0]
        elif what == "delete":
            del data[at : at + more[0]]
        elif what == "flip" and at < len(data):
            data[at] ^= more[0]
        elif what == "cut":
            del data[at:]
        elif what == "repeat":
            data[at:at] = data[at : at + more[0]]
        elif what == "swap" and data:
            other = min(int(more[0] * len(data)), len(data) - 1)
            at = min(at, len(data) - 1)
            data[at], data[other] = data[other], data[at]
    return bytes(data)


def packed(raw):
    """Return bytes as gzip packs them."""
    return gzip.compress(raw, 1)
