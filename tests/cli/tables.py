"""Tables for commands to read, in the format of the file's ending."""

import pyarrow as pa
from pyarrow import csv, parquet


def write_columns(path, columns):
    """Write named columns as CSV, Parquet or a workbook."""
    table = pa.table(dict(columns))
    if path.suffix.lower() == ".parquet":
        parquet.write_table(table, path)
    elif path.suffix.lower() == ".xlsx":
        import openpyxl

        book = openpyxl.Workbook()
        for row in (table.column_names, *zip(*table.to_pydict().values(), strict=True)):
            book.active.append(row)
        book.save(path)
    else:
        csv.write_csv(table, path)
