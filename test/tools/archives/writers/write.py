"""Packs a folder: write.py KIND FOLDER, the archive to standard output. KIND is zip, zip64,
stream, stream64, ustar, gnu or pax."""

import io
import os
import shutil
import sys
import tarfile
import zipfile

kind, folder = sys.argv[1:]
formats = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}


class Pipe(io.RawIOBase):
    """Cannot seek."""

    def writable(self):
        return True

    def write(self, data):
        return sys.stdout.buffer.write(data)


def files():
    for place, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            path = os.path.join(place, name)
            yield path, os.path.relpath(path, folder)


def pack_zip(target):
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, name in files():
            if not kind.endswith("64"):
                archive.write(path, name)
                continue
            entry = zipfile.ZipInfo.from_file(path, name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            with open(path, "rb") as source, archive.open(entry, "w", force_zip64=True) as packed:
                shutil.copyfileobj(source, packed)


if kind.startswith("stream"):
    pack_zip(Pipe())
elif kind.startswith("zip"):
    made = io.BytesIO()
    pack_zip(made)
    sys.stdout.buffer.write(made.getvalue())
else:
    with tarfile.open(fileobj=sys.stdout.buffer, mode="w|", format=formats[kind]) as archive:
        archive.add(folder, ".")
