"""Writes every table of every SQLite file in a folder as CSV: OUT/<database>/<table>.csv.

    python3 export_sqlite.py sqleval/databases OUT
"""
import csv
import pathlib
import sqlite3
import sys

source, out = map(pathlib.Path, sys.argv[1:3])
for path in sorted(source.glob("*.sqlite")):
    database = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    folder = out / path.stem
    folder.mkdir(parents=True, exist_ok=True)
    for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        quoted = name.replace('"', '""')
        rows = database.execute(f'SELECT * FROM "{quoted}"')
        with open(folder / f"{name}.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow([column[0] for column in rows.description])
            writer.writerows(rows)
