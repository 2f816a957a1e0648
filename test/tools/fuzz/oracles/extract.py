"""Unpacks archives as Python programs do: a line `format TAB archive TAB folder` in, a line with `ok` or the error out."""

import sys
import tarfile
import zipfile


def unpack(kind, archive, folder):
    if kind == "zip":
        with zipfile.ZipFile(archive) as opened:
            opened.extractall(folder)
    else:
        with tarfile.open(archive) as opened:
            opened.extractall(folder)


for line in sys.stdin:
    try:
        unpack(*line.rstrip("\n").split("\t"))
        answer = "ok"
    except Exception as error:
        answer = f"{type(error).__name__}: {error}".encode("ascii", "backslashreplace").decode().replace("\n", " ")
    print(answer, flush=True)
