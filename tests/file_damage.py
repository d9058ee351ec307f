"""Ways to damage files, by a random generator: bytes, JSON values, and members of archives."""

import copy
import io
import json
import struct
import zipfile

import numpy as np

#: What a number, string or list of a JSON file may be replaced by.
JUNK = (
    None, True, False, 0, -1, 1, 3, 2**31, 2**63, -(2**63), 10**19, 0.5, -0.0, 1e308, -1e308, 5e-324, float("nan"),
    float("inf"), float("-inf"), "", "x", "[", "nan", "header", [], {}, [[]], [None], [1e308, -1e308],
    {"array": "header"}, {"array": "nothing"}, {"dict": []}, {"list": [1]}, {"tuple": []}, {"a": 1, "b": 2},
    {"set": ["Box", {"dict": [["rho", -1]]}]},
)  # fmt: skip


def damaged_bytes(whole: bytes, rng: np.random.Generator) -> bytes:
    """A few bytes changed, lost, doubled, or made zero."""
    data = bytearray(whole)
    for _ in range(int(rng.integers(1, 4))):
        if not data:
            break
        at, length = int(rng.integers(len(data))), int(rng.choice([1, 2, 8, 64, 1000]))
        kind = rng.integers(6)
        if kind == 0:
            data[at] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            data[at : at + length] = rng.integers(256, size=len(data[at : at + length]), dtype=np.uint8).tobytes()
        elif kind == 2:
            data[at : at + length] = bytes(len(data[at : at + length]))
        elif kind == 3:
            del data[at : at + length]
        elif kind == 4:
            data[at:at] = data[at : at + length]
        else:
            del data[at:]
    return bytes(data)


def damaged_value(value, rng: np.random.Generator):
    """A JSON value with one to three of its parts, at any depth, replaced, removed, doubled or swapped with others."""
    value = json.loads(json.dumps(value))
    for _ in range(int(rng.integers(1, 4))):
        holder, key = _some_place(value, rng)
        if holder is None:
            return JUNK[rng.integers(len(JUNK))]
        kind = rng.integers(8)
        if kind == 0:
            del holder[key]
        elif kind == 1 and isinstance(holder, list):
            holder.insert(key, holder[key])
        elif kind == 2:
            other, place = _some_place(value, rng)
            holder[key] = json.loads(json.dumps(other[place]))
        elif kind == 3:
            holder[key] = [holder[key]]
        elif kind == 4 and isinstance(holder[key], int | float) and not isinstance(holder[key], bool):
            holder[key] = holder[key] * float(rng.choice([-1.0, 0.5, 1.0 + 1e-15, 2.0, 1e10]))
        elif kind == 5 and isinstance(holder[key], list):
            holder[key] = holder[key][::-1]
        else:
            holder[key] = copy.deepcopy(JUNK[rng.integers(len(JUNK))])
    return value


def _some_place(value, rng: np.random.Generator):
    """A list or dict within a JSON value and one of its keys; (None, None) where there is none."""
    holder, key = None, None
    while isinstance(value, list | dict) and value:
        keys = list(value) if isinstance(value, dict) else range(len(value))
        holder, key = value, keys[rng.integers(len(keys))]
        value = holder[key]
        if rng.random() < 0.15:
            break
    return holder, key


def damaged_archive(whole: bytes, rng: np.random.Generator) -> bytes:
    """An .npz file whose checksums are right and whose content is not."""
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    names = list(members)
    name = names[rng.integers(len(names))]
    kind = rng.integers(8)
    if kind < 4:
        header = json.loads(members["header.npy"][128:])
        members["header.npy"] = npy_bytes(np.frombuffer(json.dumps(damaged_value(header, rng)).encode(), np.uint8))
    elif kind == 4:
        members[name] = damaged_bytes(members[name], rng)
    elif kind == 5:
        del members[name]
    elif kind == 6:
        members[name] = members[names[rng.integers(len(names))]]
    else:
        strange = (np.zeros(3), np.float64(1.0), np.full((2, 2), np.nan), np.array("x"))
        members[name] = npy_bytes(strange[rng.integers(4)])
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED if rng.random() < 0.5 else zipfile.ZIP_STORED) as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    data = bytearray(out.getvalue())
    if rng.random() < 0.2:  # sizes, flags and ways of packing in the directory
        entry = data.find(b"PK\x01\x02")
        field, form = [(8, "<H"), (10, "<H"), (20, "<I"), (24, "<I"), (42, "<I")][rng.integers(5)]
        struct.pack_into(form, data, entry + field, int(rng.choice([0, 1, 9, 12, 14, 0x7FFF])))
    return bytes(data)


def npy_bytes(array) -> bytes:
    out = io.BytesIO()
    np.save(out, np.asarray(array))
    return out.getvalue()
