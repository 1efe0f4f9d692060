"""Random data in the formats of the original publishers, and a server for them."""

import io
import threading
import zipfile
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import numpy as np

from votedkernels.datasets.catalogue import CATALOGUE
from votedkernels.datasets.reading import Samples, content_hash

# The spelling of classes -1 and +1, the file in the archive, and the lines before the rows.
SPELT = {
    "breastcancer": ("2", "4"),
    "climate": ("0", "1"),
    "diabetes": ("tested_negative", "tested_positive"),
    "german": ("1", "2"),
    "ionosphere": ("b", "g"),
    "musk": ("0.", "1."),
    "phishing": ("-1", "1"),
    "retinopathy": ("0", "1"),
    "vertebral": ("Normal", "Abnormal"),
    "waveform01": ("0", "1"),
}
MEMBERS = {
    "breastcancer": "breast-cancer-wisconsin.data",
    "climate": "pop_failures.dat",
    "german": "german.data-numeric",
    "ionosphere": "ionosphere.data",
    "musk": "clean1.data.Z",
    "phishing": ".old.arff",
    "retinopathy": "messidor_features.arff",
    "vertebral": "column_2C_weka.arff",
    "waveform01": "waveform.data.Z",
}
PREFIXES = {"breastcancer": "1000025,", "climate": "   1   7   ", "musk": "MUSK-188,188_1+1,"}
ARFF = ("diabetes", "phishing", "retinopathy", "vertebral")


def invented(name, n_rows=12, seed=0):
    """Return random samples with the features of a data set, and a catalogue entry for them."""
    rng = np.random.default_rng(seed)
    facts = CATALOGUE[name]
    X = rng.integers(-40, 40, (n_rows, facts.n_features)) / 8
    if name == "breastcancer":
        X[2, 5] = np.nan
    y = np.where(np.arange(n_rows) % 3 == 0, 1, -1)
    return Samples(facts.feature_names, X, y), expecting(facts, X, y)


def expecting(facts, X, y):
    return replace(
        facts,
        n_negative=int(np.sum(y == -1)),
        n_positive=int(np.sum(y == 1)),
        content_sha256=content_hash(X, y),
    )


def table(name, samples, digits=6):
    """Return the text of an original with these rows."""
    separator = {"climate": "      ", "german": "   "}.get(name, ",")
    lines = []
    for row, label in zip(samples.X.tolist(), samples.y.tolist(), strict=True):
        fields = ["?" if value != value else f"{value:.{digits}g}" for value in row]
        fields.append(SPELT[name][label == 1])
        lines.append(PREFIXES.get(name, "") + separator.join(fields))
    if name == "climate":
        lines.insert(0, "Study Run " + " ".join(samples.feature_names) + " outcome")
        lines = [line + "   " for line in lines]
    if name == "waveform01":
        lines.insert(1, ",".join(["0.5"] * 21 + ["2"]))
    if name in ARFF:
        head = [f"@attribute '{feature}' real" for feature in samples.feature_names]
        head = ["% Title: x", f"@relation {name}", "", *head, "@attribute class {a, b}", "@DATA"]
        lines = [*head, *lines, "%", ""]
    return "\r\n".join(lines) + "\r\n"


def original(name, samples, digits=6):
    """Return the bytes at the address of a data set."""
    raw = table(name, samples, digits).encode()
    if name not in MEMBERS:
        return raw
    member = MEMBERS[name]
    return zipped({"Index": b"...", member: compressed(raw) if member[-2:] == ".Z" else raw})


def zipped(members):
    """Return a ZIP archive; names may be ZipInfo objects."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content, compress_type=zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def compressed(data, max_width=16, clear_after=None):
    """Return the data as compress(1) writes them; optionally, clear the table once."""
    out, width = bytearray([0x1F, 0x9D, 0x80 | max_width]), 9
    group: list[int] = []

    def flush(n_bytes=None):
        """Write the group; if the width changes, pad an incomplete group."""
        bits = sum(code << (width * i) for i, code in enumerate(group))
        if group:
            out.extend(bits.to_bytes(n_bytes or width, "little"))
        group.clear()

    def emit(code):
        group.append(code)
        if len(group) == 8:
            flush()

    table, word = {bytes([i]): i for i in range(256)}, b""
    n_codes, free = 0, 257
    for byte in data:
        longer = word + bytes([byte])
        if longer in table:
            word = longer
            continue
        emit(table[word])
        n_codes += 1
        if free < 1 << max_width:
            table[longer] = free
            free += 1
            # The reader's table is one entry behind, and so is the width of the codes.
            if free - 1 == 1 << width and width < max_width:
                flush()
                width += 1
        word = bytes([byte])
        if n_codes == clear_after:
            emit(256)
            flush()
            table, free, width = {bytes([i]): i for i in range(256)}, 257, 9
    if word:
        emit(table[word])
    flush((len(group) * width + 7) // 8)
    return bytes(out)


@contextmanager
def serving(pages):
    """Serve {path: bytes, or (status, bytes, headers)} locally; yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            page = pages.get(urlsplit(self.path).path, (404, b"", {}))
            status, body, headers = page if isinstance(page, tuple) else (200, page, {})
            self.send_response(status)
            for key, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
