#!/usr/bin/env python3
"""Writes linalg.safetensors, golden vectors of linear algebra from PyTorch (1.13): python3 linalg.py

Values and gradients in f64 of torch.linalg; the format is that of ../golden.h.  The same PyTorch gives the same bytes.
"""
import json
import os

import torch

from make import write


def matrix(rng, *shape, dominant=True):
    """A random matrix; dominant: with rows out of order, so that elimination exchanges them."""
    a = torch.rand(*shape, dtype=torch.float64, generator=rng) * 2 - 1
    return a + (shape[-1] * torch.eye(shape[-1], dtype=torch.float64)).roll(1, 0) if dominant else a


def positive(rng, *shape):
    a = matrix(rng, *shape, dominant=False)
    return a @ a.mT + torch.eye(shape[-1], dtype=torch.float64)


def signs(v):
    """Of the columns: of the components that are at least 0.99 times as large as the largest, the first is positive."""
    size = v.detach().abs()
    first = (size >= 0.99 * size.amax(-2, keepdim=True)).to(torch.int8).argmax(-2, keepdim=True)
    return v.detach().gather(-2, first).sign()


def eigh(a):
    w, v = torch.linalg.eigh((a + a.mT) / 2)
    return w, v * signs(v)


def svd(a):
    u, s, vt = torch.linalg.svd(a, full_matrices=False)
    return u * signs(u), s, vt * signs(u).mT


def qr(a):
    q, r = torch.linalg.qr(a)
    sign = r.detach().diagonal(dim1=-2, dim2=-1).sign()
    return q * sign.unsqueeze(-2), r * sign.unsqueeze(-1)


def cases():
    """name, op, attributes, inputs, function"""
    rng = torch.Generator().manual_seed(1)
    linalg = torch.linalg
    for upper in (False, True):
        word = "upper" if upper else "lower"
        attrs = {"upper": upper}
        for k, shape in enumerate(((4, 4), (2, 3, 5, 5), (1, 1))):
            yield ("cholesky.%s.%d" % (word, k), "linalg.cholesky", attrs,
                   {"a": positive(rng, *shape)}, lambda a, u=upper: linalg.cholesky(a, upper=u))
        for unit in (False, True):
            yield ("solve_triangular.%s.%s" % (word, "unit" if unit else "plain"), "linalg.solve_triangular",
                   dict(attrs, unitriangular=unit),
                   {"a": matrix(rng, 2, 1, 4, 4, dominant=False) + 4 * torch.eye(4), "b": matrix(rng, 3, 4, 4)},
                   lambda a, b, u=upper, d=unit: linalg.solve_triangular(a, b, upper=u, unitriangular=d))
        half = torch.triu if upper else torch.tril  # cholesky_solve reads one half, but has a gradient for both
        yield ("cholesky_solve.%s" % word, "cholesky_solve", attrs,
               {"b": matrix(rng, 2, 3, 3), "factor": linalg.cholesky(positive(rng, 2, 3, 3), upper=upper)},
               lambda b, factor, u=upper, half=half: torch.cholesky_solve(b, half(factor), upper=u))
    for k, (a, b) in enumerate((((4, 4), (4, 4)), ((3, 3), (3,)), ((2, 1, 3, 3), (3, 3, 3)), ((5, 2, 2), (2, 2)))):
        yield ("solve.%d" % k, "linalg.solve", {},
               {"a": matrix(rng, *a), "b": torch.rand(*b, dtype=torch.float64, generator=rng)}, linalg.solve)
    for k, shape in enumerate(((4, 4), (3, 2, 2), (1, 1), (2, 3, 7, 7))):
        yield "inv.%d" % k, "linalg.inv", {}, {"a": matrix(rng, *shape)}, linalg.inv
        yield "slogdet.%d" % k, "linalg.slogdet", {}, {"a": matrix(rng, *shape)}, linalg.slogdet
        yield ("lu.%d" % k, "linalg.lu_factor", {}, {"a": matrix(rng, *shape)}, lambda a: linalg.lu_factor(a)[:1])
    for op, f in (("tril", torch.tril), ("triu", torch.triu)):
        for diagonal in (-2, 0, 1):
            yield ("%s.%d" % (op, diagonal), op, {"diagonal": diagonal}, {"x": matrix(rng, 2, 3, 4, dominant=False)},
                   lambda x, f=f, d=diagonal: f(x, d))
    for k, shape in enumerate(((4, 4), (2, 3, 5, 5), (1, 1))):
        yield "eigh.%d" % k, "linalg.eigh", {}, {"a": matrix(rng, *shape, dominant=False)}, eigh
    for k, shape in enumerate(((4, 4), (2, 5, 3), (3, 6), (2, 1, 1, 3))):
        yield "svd.%d" % k, "linalg.svd", {}, {"a": matrix(rng, *shape, dominant=False)}, svd
        yield "qr.%d" % k, "linalg.qr", {}, {"a": matrix(rng, *shape, dominant=False)}, qr
    for k, shape in enumerate(((4, 4), (2, 5, 3), (3, 6))):
        yield ("pinv.%d" % k, "linalg.pinv", {}, {"a": matrix(rng, *shape, dominant=False)}, linalg.pinv)
        yield ("lstsq.%d" % k, "linalg.lstsq", {},
               {"a": matrix(rng, *shape, dominant=False),
                "b": torch.rand(*shape[:-1], 2, dtype=torch.float64, generator=rng)},
               lambda a, b: linalg.lstsq(a, b, driver="gelsd").solution)
    for k, (shape, scale) in enumerate((((3, 3), 0.1), ((2, 4, 4), 1), ((5, 5), 6), ((1, 1), 3))):
        yield ("matrix_exp.%d" % k, "linalg.matrix_exp", {},
               {"a": scale * matrix(rng, *shape, dominant=False)}, linalg.matrix_exp)


def packed(t):
    t = t.detach().contiguous()
    return tuple(t.shape), "F64", t.numpy().astype("<f8").tobytes()


def run(name, inputs, f, rng):
    """The tensors of a case; outputs without a gradient, such as a sign, have no cotangent."""
    leaves = {k: x.to(torch.float64).requires_grad_() for k, x in inputs.items()}
    outs = f(*leaves.values())
    outs = [outs] if isinstance(outs, torch.Tensor) else list(outs)
    tensors = {name + "/in." + k: packed(x) for k, x in leaves.items()}
    y, dy = [], []
    for k, out in enumerate(outs):
        label = "y" if k == 0 else str(k)
        tensors["%s/out.%s" % (name, label)] = packed(out)
        if out.requires_grad:
            y.append(out)
            dy.append(torch.rand(out.shape, dtype=torch.float64, generator=rng) * 2 - 1)
            tensors["%s/cot.%s" % (name, label)] = packed(dy[-1])
    for (k, x), dx in zip(leaves.items(), torch.autograd.grad(y, list(leaves.values()), dy)):
        tensors[name + "/grad." + k] = packed(dx)
    return tensors


def main():
    tensors, notes = {}, {}
    rng = torch.Generator().manual_seed(2)
    for name, op, attrs, inputs, f in cases():
        assert name not in notes, name
        notes[name] = json.dumps(dict(op=op, **attrs))
        tensors.update(run(name, inputs, f, rng))
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "linalg.safetensors")
    write(path, tensors, notes)
    print("%d cases, %d tensors, %d bytes" % (len(notes), len(tensors), os.path.getsize(path)))


if __name__ == "__main__":
    main()
