#!/usr/bin/env python3
"""Writes ops.safetensors, the golden vectors of this project: python3 make.py  (only the standard library).

The cases are in cases.py, the format in ../golden.h.  The same script gives the same bytes.
"""
import json
import os
import random
import struct

from cases import cases
from tape import Scalar, Tensor, backward, indices


def draw(kind, shape, rng):
    """kind: (lo, hi) floats; "lo:hi" integers; "bool"."""
    if kind == "bool":
        return Tensor(shape, lambda i: rng.randrange(2) == 1)
    if isinstance(kind, str):
        lo, hi = (int(x) for x in kind.split(":"))
        return Tensor(shape, lambda i: rng.randrange(lo, hi))
    return Tensor(shape, lambda i: Scalar(rng.uniform(*kind)))


def is_float(t):
    return all(isinstance(x, Scalar) for x in t.at.values())


def packed(t, numbers=None):
    """dtype and bytes"""
    if numbers is not None or is_float(t):
        return "F64", struct.pack("<%dd" % len(t.at), *(numbers if numbers is not None else t.values()))
    if all(isinstance(x, bool) for x in t.at.values()):
        return "BOOL", bytes(t.values())
    return "I64", struct.pack("<%dq" % len(t.at), *t.values())


def run(name, op, attrs, inputs, compute):
    rng = random.Random(name)
    ins = {k: draw(kind, shape, rng) for k, (kind, shape) in inputs.items()}
    outs = compute(**ins)
    outs = outs if isinstance(outs, list) else [outs]
    tensors = {name + "/in." + k: (t.shape,) + packed(t) for k, t in ins.items()}
    pairs = []
    for k, y in enumerate(outs):
        label = "y" if k == 0 else str(k)
        tensors["%s/out.%s" % (name, label)] = (y.shape,) + packed(y)
        if is_float(y):
            cot = [rng.uniform(-1, 1) for _ in y.at]
            pairs += [(y[i], c) for i, c in zip(indices(y.shape), cot)]
            tensors["%s/cot.%s" % (name, label)] = (y.shape,) + packed(y, cot)
    backward(pairs)
    if pairs:
        for k, t in ins.items():
            if is_float(t):
                tensors[name + "/grad." + k] = (t.shape,) + packed(t, [t[i].grad for i in indices(t.shape)])
    return tensors, json.dumps(dict(op=op, **attrs))


def write(path, tensors, notes):
    header, data = {"__metadata__": notes}, b""
    for name, (shape, dtype, raw) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def main():
    tensors, notes = {}, {}
    for name, op, attrs, inputs, compute in cases():
        assert name not in notes, name
        more, notes[name] = run(name, op, attrs, inputs, compute)
        tensors.update(more)
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ops.safetensors")
    write(path, tensors, notes)
    print("%d cases, %d tensors, %d bytes" % (len(notes), len(tensors), os.path.getsize(path)))


if __name__ == "__main__":
    main()
