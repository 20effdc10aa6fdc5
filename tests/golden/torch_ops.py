#!/usr/bin/env python3
"""Writes torch_ops.safetensors: values and gradients of PyTorch in float64.  The format is that of golden.h.

python3 tests/golden/torch_ops.py   (PyTorch 1.13)
"""
import json
import os
import struct

import torch
import torch.nn.functional as F

from make import write

torch.manual_seed(20)


def real(lo, hi, *shape):
    return (lo + (hi - lo) * torch.rand(shape, dtype=torch.float64)).requires_grad_()


def ids(n, *shape):
    return torch.randint(0, n, shape)


def packed(t):
    if t.dtype == torch.float64:
        return "F64", struct.pack("<%dd" % t.numel(), *t.detach().flatten().tolist())
    if t.dtype == torch.bool:
        return "BOOL", bytes(t.flatten().tolist())
    return "I64", struct.pack("<%dq" % t.numel(), *t.flatten().tolist())


def segments(x, ids, n, reduce, empty):
    return torch.stack([reduce(x[ids == s]) if (ids == s).any() else torch.full_like(x[0], empty) for s in range(n)])


def segment_softmax(x, ids, n):
    e = torch.exp(x)
    return e / torch.zeros(n, *x.shape[1:], dtype=x.dtype).index_add(0, ids, e)[ids]


def with_zeros(x, *places):
    with torch.no_grad():
        for p in places:
            x.view(-1)[p] = 0
    return x


def unary():
    spans = [("log1p", -0.9, 3), ("expm1", -2, 2), ("tan", -1.4, 1.4), ("asin", -0.95, 0.95), ("acos", -0.95, 0.95),
             ("atan", -3, 3), ("sinh", -3, 3), ("cosh", -3, 3), ("asinh", -9, 9), ("acosh", 1.1, 9),
             ("atanh", -0.95, 0.95), ("lgamma", 0.1, 9), ("lgamma", -3.9, -3.1), ("digamma", 0.1, 9),
             ("digamma", -3.9, -3.1)]
    for k, (op, lo, hi) in enumerate(spans):
        x = real(lo, hi, 2, 4)
        if op == "digamma":
            x.requires_grad_(False)  # PyTorch's trigamma is right to 5e-10 only: see functions.py
        yield "%s.%d" % (op, k), op, {}, {"x": x}, getattr(torch, op)
    for n in (2, 4):
        yield "polygamma.%d" % n, "polygamma", {"n": n}, {"x": real(0.2, 9, 2, 4)}, lambda x, n=n: torch.polygamma(n, x)
    odd = torch.tensor([0.0, float("inf"), -float("inf"), float("nan"), -1.5], dtype=torch.float64)
    for op in ("isnan", "isinf", "isfinite"):
        yield op, op, {}, {"x": odd}, getattr(torch, op)


def binary():
    yield "atan2", "atan2", {}, {"a": real(-2, 2, 3, 4), "b": real(-2, 2, 4)}, lambda a, b: torch.atan2(a, b)
    yield ("remainder.float", "remainder", {}, {"a": real(-9, 9, 3, 8), "b": real(-4, 4, 8)},
           lambda a, b: torch.remainder(a, b))
    yield ("remainder.int", "remainder", {}, {"a": ids(41, 3, 8) - 20, "b": torch.tensor([1, -1, 2, -2, 3, -3, 7, -7])},
           lambda a, b: torch.remainder(a, b))


def along():
    for op in ("any", "all"):
        for axis, keep in ((0, False), (-1, True)):
            x = torch.rand(4, 2, 3) < (0.3 if op == "any" else 0.7)
            yield ("%s.%d" % (op, axis), op, {"axis": axis, "keepdim": keep}, {"x": x},
                   lambda x, op=op, a=axis, k=keep: getattr(torch, op)(x, dim=a, keepdim=k))
    for axis in (0, 1):
        at = {"axis": axis}
        yield ("cumprod.%d" % axis, "cumprod", at, {"x": real(-2, 2, 5, 4)}, lambda x, a=axis: x.cumprod(a))
        yield ("cumprod.zeros.%d" % axis, "cumprod", at, {"x": with_zeros(real(-2, 2, 4, 5), 2, 7, 8, 11, 15, 19)},
               lambda x, a=axis: x.cumprod(a))
        for op in ("cummax", "cummin"):
            yield ("%s.%d" % (op, axis), op, at, {"x": real(-2, 2, 5, 6)},
                   lambda x, a=axis, op=op: list(getattr(x, op)(a)))
        for down in (False, True):
            at = {"axis": axis, "descending": down}
            yield ("sort.%d.%d" % (axis, down), "sort", at, {"x": real(-2, 2, 7, 5)},
                   lambda x, a=axis, d=down: list(torch.sort(x, dim=a, descending=d, stable=True)))
            yield ("sort.ties.%d.%d" % (axis, down), "sort", at, {"x": ids(4, 9, 9)},
                   lambda x, a=axis, d=down: list(torch.sort(x, dim=a, descending=d, stable=True)))
    odd = torch.tensor([2, float("nan"), -1, float("inf"), float("nan"), -float("inf"), 0.5], dtype=torch.float64)
    for down in (False, True):
        yield ("sort.nan.%d" % down, "sort", {"axis": 0, "descending": down}, {"x": odd},
               lambda x, d=down: list(torch.sort(x, dim=0, descending=d, stable=True)))


def scatters():
    for axis in (0, 1):
        at = {"axis": axis}
        # no id twice in a line: what wins then PyTorch leaves open
        some = {"x": real(-2, 2, 6, 6), "index": torch.stack([torch.randperm(6)[:4] for _ in range(4)]),
                "src": real(-2, 2, 4, 4)}
        if axis == 0:
            some["index"] = some["index"].T.contiguous()
        yield ("scatter.%d" % axis, "scatter", at, some, lambda x, index, src, a=axis: x.scatter(a, index, src))
        for reduce in ("amax", "amin"):
            if axis == 0:
                case = {"x": real(-2, 2, 4, 3), "index": ids(4, 6, 3), "src": real(-2, 2, 6, 3)}
            else:
                case = {"x": real(-2, 2, 4, 6), "index": ids(6, 3, 8), "src": real(-2, 2, 3, 8)}
            yield ("scatter_reduce.%s.%d" % (reduce, axis), "scatter_reduce", dict(at, reduce=reduce), case,
                   lambda x, index, src, a=axis, r=reduce: x.scatter_reduce(a, index, src, r))


def by_segment():
    i = torch.tensor([3, 0, 3, 3, 1, 0, 1, 3])
    kinds = [("sum", lambda x: x.sum(0), 0), ("mean", lambda x: x.mean(0), 0),
             ("max", lambda x: x.amax(0), -float("inf")), ("min", lambda x: x.amin(0), float("inf"))]
    for op, f, empty in kinds:
        for shape in ((8,), (8, 3)):
            yield ("segment_%s.%d" % (op, len(shape)), "segment_" + op, {"num_segments": 5},
                   {"x": real(-2, 2, *shape), "ids": i},
                   lambda x, ids, f=f, e=empty: segments(x, ids, 5, f, e))
    for shape in ((8,), (8, 3)):
        yield ("segment_softmax.%d" % len(shape), "segment_softmax", {"num_segments": 5},
               {"x": real(-2, 2, *shape), "ids": i}, lambda x, ids: segment_softmax(x, ids, 5))


def windows():
    for mode in ("reflect", "replicate", "circular"):
        for pad in ([1, 2, 2, 0], [0, 3, 1, 1]):
            yield ("pad.%s.%d" % (mode, pad[0]), "pad", {"mode": mode, "pad": pad}, {"x": real(-2, 2, 1, 2, 3, 4)},
                   lambda x, m=mode, p=pad: F.pad(x, p, mode=m))
    start = torch.tensor([1, 0, 2])
    yield ("dynamic_slice", "dynamic_slice", {"size": [2, 3, 2]}, {"x": real(-2, 2, 3, 3, 5), "start": start},
           lambda x, start: x[1:3, 0:3, 2:4])

    def update(x, start, update):
        y = x.clone()
        y[1:3, 0:3, 2:4] = update
        return y
    yield ("dynamic_update_slice", "dynamic_update_slice", {},
           {"x": real(-2, 2, 3, 3, 5), "start": start, "update": real(-2, 2, 2, 3, 2)}, update)


def spectra():
    """Complex numbers are pairs: torch.view_as_real."""
    for k, (shape, dim) in enumerate((((2, 8), -1), ((5, 3), 0), ((2, 6, 2), 1), ((1,), 0), ((2, 7), -1))):
        yield ("rfft.%d" % k, "rfft", {"dim": dim}, {"x": real(-2, 2, *shape)},
               lambda x, d=dim: torch.view_as_real(torch.fft.rfft(x, dim=d)))
        for op in ("fft", "ifft"):
            yield ("%s.%d" % (op, k), op, {"dim": dim}, {"x": real(-2, 2, *shape, 2)},
                   lambda x, d=dim, op=op: torch.view_as_real(getattr(torch.fft, op)(torch.view_as_complex(x), dim=d)))
    for k, (shape, dim, n) in enumerate((((2, 5, 2), -1, 8), ((3, 3, 2), 0, 5), ((2, 4, 2, 2), 1, 0), ((1, 2), 0, 1))):
        yield ("irfft.%d" % k, "irfft", {"dim": dim, "n": n}, {"x": real(-2, 2, *shape)},
               lambda x, d=dim, n=n: torch.fft.irfft(torch.view_as_complex(x), n or None, dim=d))
    yield ("complex_mul", "complex_mul", {}, {"a": real(-2, 2, 4, 1, 2), "b": real(-2, 2, 3, 2)},
           lambda a, b: torch.view_as_real(torch.view_as_complex(a) * torch.view_as_complex(b)))


def bits():
    def whole(*shape):
        return torch.randint(-2 ** 52, 2 ** 52, shape)  # exact in f64, by which they are compared
    cases = [("bitwise_not", "bitwise_not", {}, {"x": whole(3, 4)})]
    for op in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        cases.append((op, op, {}, {"a": whole(3, 1, 5), "b": whole(4, 1)}))
        cases.append((op + ".bool", op, {}, {"a": torch.rand(3, 4) < 0.5, "b": torch.rand(4) < 0.5}))
    for op in ("bitwise_left_shift", "bitwise_right_shift"):
        cases.append((op, op, {}, {"a": ids(2 ** 20, 3, 1, 8) - 2 ** 19, "b": ids(33, 3, 8)}))
    cases.append(("pow.int", "pow", {}, {"a": ids(41, 3, 12) - 20, "b": torch.arange(12)}))
    for name, op, attrs, inputs in cases:
        yield name, op, attrs, inputs, lambda op=op, **given: getattr(torch, op)(*given.values())
    for k, bounds in enumerate(({"min": -7, "max": 9}, {"max": 9}, {"min": -7})):
        yield "clamp.int.%d" % k, "clamp", bounds, {"x": ids(41, 3, 8) - 20}, lambda x, b=bounds: torch.clamp(x, **b)


def weighted_losses():
    for k, (reduction, smoothing, ignore) in enumerate((("mean", 0, -100), ("mean", 0.1, 2), ("sum", 0.2, -100),
                                                        ("none", 0.1, 1), ("sum", 0, 3), ("none", 0, -100))):
        shape = ((6, 5), (3, 5, 4))[k % 2]
        given = {"reduction": reduction, "label_smoothing": smoothing, "ignore_index": ignore}
        yield ("weighted_cross_entropy.%d" % k, "weighted_cross_entropy", given,
               {"x": real(-3, 3, *shape), "t": ids(5, shape[0], *shape[2:]), "weight": real(0.2, 3, 5).detach()},
               lambda x, t, weight, given=given: F.cross_entropy(x, t, weight, **given))
    for k, (reduction, wide) in enumerate((("mean", (4,)), ("sum", ()), ("none", (3, 1)))):
        yield ("weighted_bce_with_logits.%d" % k, "weighted_bce_with_logits", {"reduction": reduction},
               {"x": with_zeros(real(-9, 9, 2, 3, 4), 1), "t": real(0, 1, 2, 3, 4), "pos_weight": real(0.2, 3, *wide).detach()},
               lambda x, t, pos_weight, r=reduction: F.binary_cross_entropy_with_logits(x, t, reduction=r, pos_weight=pos_weight))


def resampled():
    """Sizes, not scales: PyTorch takes the positions from a scale, where it has one."""
    cases = (("linear", (2, 3, 5), ((8,), (3,), (1,), (5,))), ("linear", (1, 2, 1), ((4,),)),
             ("nearest", (2, 3, 5), ((8,), (3,))),
             ("bilinear", (1, 2, 5, 4), ((5, 9), (3, 4))),
             ("bicubic", (2, 2, 4, 5), ((8, 10), (7, 3), (1, 6), (4, 5))), ("bicubic", (1, 2, 1, 3), ((3, 7),)),
             ("bicubic", (1, 1, 9, 7), ((4, 2), (9, 3))),
             ("trilinear", (1, 2, 3, 4, 5), ((5, 7, 9), (2, 3, 4), (3, 4, 8), (7, 4, 5), (1, 1, 1))),
             ("trilinear", (2, 1, 1, 2, 1), ((3, 4, 2),)),
             ("nearest", (1, 2, 3, 4, 5), ((5, 7, 9), (2, 4, 3))))
    count = 0
    for mode, shape, sizes in cases:
        for size in sizes:
            for align in (False, True) if mode != "nearest" else (False,):
                yield ("interpolate.%d" % count, "interpolate",
                       {"mode": mode, "size": list(size), "align_corners": align}, {"x": real(-2, 2, *shape)},
                       lambda x, m=mode, s=size, a=align: F.interpolate(
                           x, size=s, mode=m, align_corners=a if m != "nearest" else None))
                count += 1
    for k, (mode, shape, scale) in enumerate((("linear", (1, 2, 4), [2.5]), ("bicubic", (1, 2, 4, 6), [1.5, 0.5]),
                                              ("trilinear", (1, 1, 2, 4, 4), [1.5, 1.75, 0.25]))):
        yield ("interpolate.scale.%d" % k, "interpolate", {"mode": mode, "scale_factor": scale},
               {"x": real(-2, 2, *shape)},
               lambda x, m=mode, f=scale: F.interpolate(x, scale_factor=f, mode=m, align_corners=False))


def pooled():
    three = (((1, 2, 4, 5, 6), {"kernel_size": 2}), ((2, 1, 4, 3, 5), {"kernel_size": [3, 2, 1], "stride": [1, 2, 2],
                                                                    "padding": [1, 1, 0]}),
             ((1, 1, 5, 4, 6), {"kernel_size": [2, 3, 2], "stride": 2, "padding": [1, 1, 0], "ceil_mode": True}))
    for k, (shape, o) in enumerate(three):
        yield "max_pool3d.%d" % k, "max_pool3d", o, {"x": real(-2, 2, *shape)}, lambda x, o=o: F.max_pool3d(x, **o)
        for include in (False, True):
            p = dict(o, count_include_pad=include)
            yield ("avg_pool3d.%d.%d" % (k, include), "avg_pool3d", p, {"x": real(-2, 2, *shape)},
                   lambda x, p=p: F.avg_pool3d(x, **p))
    yield ("max_pool3d.dilated", "max_pool3d", {"kernel_size": 2, "dilation": [2, 1, 3], "stride": 1},
           {"x": real(-2, 2, 1, 2, 4, 3, 5)}, lambda x: F.max_pool3d(x, 2, stride=1, dilation=(2, 1, 3)))
    two = (((2, 2, 5, 6), {"kernel_size": 2, "stride": 2}), ((1, 2, 6, 7), {"kernel_size": [3, 4], "stride": [2, 3],
                                                                       "padding": [1, 2]}),
           ((1, 1, 4, 5), {"kernel_size": 2, "stride": 3, "padding": 1}),
           ((1, 2, 2, 3), {"kernel_size": 3, "stride": 2}))  # drops the last window; larger than x
    for k, (shape, o) in enumerate(two):
        o = dict(o, ceil_mode=True)
        yield ("max_pool2d.ceil.%d" % k, "max_pool2d", o, {"x": real(-2, 2, *shape)},
               lambda x, o=o: F.max_pool2d(x, **o, return_indices=True))
        for include in (False, True):
            p = dict(o, count_include_pad=include)
            yield ("avg_pool2d.ceil.%d.%d" % (k, include), "avg_pool2d", p, {"x": real(-2, 2, *shape)},
                   lambda x, p=p: F.avg_pool2d(x, **p))
    o = {"kernel_size": 3, "stride": 2, "ceil_mode": True}
    yield "max_pool1d.ceil", "max_pool1d", o, {"x": real(-2, 2, 2, 2, 6)}, lambda x: F.max_pool1d(x, **o)
    yield "avg_pool1d.ceil", "avg_pool1d", o, {"x": real(-2, 2, 2, 2, 6)}, lambda x: F.avg_pool1d(x, **o)
    cases = (((2, 2, 7), ([3], [7], [10], [1], [5])), ((1, 2, 6, 7), ([3, 1], [4, 7], [5, 9], [1, 1], [2, 3])),
             ((2, 1, 4, 5, 6), ([2, 5, 3], [3, 2, 4], [1, 1, 1])), ((1, 2, 1, 3), ([2, 2],)))
    for shape, sizes in cases:
        for size in sizes:
            for op in ("adaptive_avg_pool%dd" % len(size), "adaptive_max_pool%dd" % len(size)):
                name = "%s.%s.%s" % (op, "x".join(map(str, shape[2:])), "x".join(map(str, size)))
                yield (name, op, {"output_size": size}, {"x": real(-2, 2, *shape)},
                       lambda x, op=op, s=size: getattr(F, op)(x, s[0] if len(s) == 1 else s))


def run(name, op, attrs, inputs, compute):
    y = compute(**inputs)
    y = list(y) if isinstance(y, (list, tuple)) else [y]
    tensors = {name + "/in." + k: (t.shape,) + packed(t) for k, t in inputs.items()}
    pairs = []
    for k, v in enumerate(y):
        label = "y" if k == 0 else str(k)
        tensors["%s/out.%s" % (name, label)] = (v.shape,) + packed(v)
        if v.requires_grad:
            cot = torch.rand_like(v) * 2 - 1
            cot = torch.where(torch.isinf(v), torch.zeros_like(cot), cot)
            pairs.append((v, cot))
            tensors["%s/cot.%s" % (name, label)] = (v.shape,) + packed(cot)
    if pairs:
        wrt = {k: t for k, t in inputs.items() if t.requires_grad}
        grads = torch.autograd.grad([v for v, _ in pairs], list(wrt.values()), [c for _, c in pairs])
        for k, g in zip(wrt, grads):
            tensors[name + "/grad." + k] = (g.shape,) + packed(g)
    return tensors, json.dumps(dict(op=op, **attrs))


def main():
    tensors, notes = {}, {}
    for part in (unary, binary, along, scatters, by_segment, windows, spectra, bits, weighted_losses, resampled,
                 pooled):
        for name, op, attrs, inputs, compute in part():
            assert name not in notes, name
            more, notes[name] = run(name, op, attrs, inputs, compute)
            tensors.update(more)
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_ops.safetensors")
    write(path, tensors, notes)
    print("%d cases, %d tensors, %d bytes" % (len(notes), len(tensors), os.path.getsize(path)))


if __name__ == "__main__":
    main()
