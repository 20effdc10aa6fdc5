"""The cases of ops.safetensors: (name, op, attributes in PyTorch's terms, inputs, the op as loops over scalars).

An input is (kind, shape), with kind (lo, hi) for floats, "lo:hi" for integers, "bool".
"""
import math

from tape import (Scalar, Tensor, absolute, cos, erf, exp, indices, largest, log, scalar, sigmoid, sin, sqrt, tanh,
                  total)

ANY, POSITIVE = (-2.0, 2.0), (0.3, 2.5)


def plain(x):
    return scalar(x).value


# ---- elementwise ---------------------------------------------------------------------------------

def gelu_tanh(x):
    return 0.5 * x * (1 + tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def elu(alpha):
    return lambda x: x if x.value > 0 else alpha * (exp(x) - 1)


UNARY = [  # op, attributes, range, function
    ("neg", {}, ANY, lambda x: -x),
    ("abs", {}, ANY, absolute),
    ("exp", {}, ANY, exp),
    ("log", {}, POSITIVE, log),
    ("sqrt", {}, POSITIVE, sqrt),
    ("rsqrt", {}, POSITIVE, lambda x: 1 / sqrt(x)),
    ("reciprocal", {}, POSITIVE, lambda x: 1 / x),
    ("square", {}, ANY, lambda x: x * x),
    ("sin", {}, ANY, sin),
    ("cos", {}, ANY, cos),
    ("erf", {}, ANY, erf),
    ("relu", {}, ANY, lambda x: x if x.value > 0 else 0 * x),
    ("sigmoid", {}, ANY, sigmoid),
    ("tanh", {}, ANY, tanh),
    ("silu", {}, ANY, lambda x: x * sigmoid(x)),
    ("softplus", {}, ANY, lambda x: log(1 + exp(x))),
    ("softplus", {"beta": 2.5}, ANY, lambda x: log(1 + exp(2.5 * x)) / 2.5),
    ("leaky_relu", {"slope": 0.05}, ANY, lambda x: x if x.value > 0 else 0.05 * x),
    ("elu", {"alpha": 0.7}, ANY, elu(0.7)),
    ("gelu", {"approximate": "none"}, ANY, lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2)))),
    ("gelu", {"approximate": "tanh"}, ANY, gelu_tanh),
    ("clamp", {"min": -0.5, "max": 0.7}, ANY,
     lambda x: x if -0.5 < x.value < 0.7 else scalar(min(max(x.value, -0.5), 0.7))),
    ("clamp", {"max": 0.2}, ANY, lambda x: x if x.value < 0.2 else scalar(0.2)),
    ("hardswish", {}, (-6.0, 6.0),
     lambda x: x * (x + 3) / 6 if -3 < x.value < 3 else x if x.value > 0 else 0 * x),
]

BINARY = [
    ("add", lambda a, b: a + b),
    ("sub", lambda a, b: a - b),
    ("mul", lambda a, b: a * b),
    ("div", lambda a, b: a / b),
    ("maximum", lambda a, b: a if a.value > b.value else b),
    ("minimum", lambda a, b: a if a.value < b.value else b),
    ("pow", lambda a, b: exp(b * log(a))),
]


def broadcast(shape, *tensors):
    """For each index of `shape`, the elements of the tensors there."""
    def pick(t, i):
        i = i[len(i) - len(t.shape):]
        return t[tuple(0 if n == 1 else k for n, k in zip(t.shape, i))]
    return lambda i: [pick(t, i) for t in tensors]


def elementwise():
    for k, (op, attrs, span, f) in enumerate(UNARY):
        yield "%s.%d" % (op, k), op, attrs, {"x": (span, (2, 3))}, lambda x, f=f: Tensor(x.shape, lambda i: f(x[i]))
    shapes = [((2, 3), (2, 3), (2, 3)), ((2, 1, 3), (4, 1), (2, 4, 3)), ((), (3,), (3,)), ((0, 2), (1,), (0, 2))]
    for op, f in BINARY:
        for k, (a, b, y) in enumerate(shapes):
            def both(a, b, f=f, y=y):
                pair = broadcast(y, a, b)
                return Tensor(y, lambda i: f(*pair(i)))
            yield "%s.%d" % (op, k), op, {}, {"a": (POSITIVE, a), "b": (POSITIVE, b)}, both
    for op, f in [("lt", lambda a, b: a < b), ("eq", lambda a, b: a == b), ("ge", lambda a, b: a >= b)]:
        yield (op, op, {}, {"a": ("0:3", (2, 4)), "b": ("0:3", (4,))},
               lambda a, b, f=f: Tensor(a.shape, lambda i: f(a[i], b[i[1:]])))
    yield ("where", "where", {}, {"c": ("bool", (3, 1)), "a": (ANY, (3, 4)), "b": (ANY, (4,))},
           lambda c, a, b: Tensor(a.shape, lambda i: a[i] if c[i[0], 0] else b[i[1:]]))


# ---- reductions ----------------------------------------------------------------------------------

def mean(xs):
    return total(xs) / len(xs)


def product(xs):
    p = scalar(1)
    for x in xs:
        p = p * x
    return p


def variance(correction):
    def f(xs):
        m = mean(xs)
        return total((x - m) * (x - m) for x in xs) / (len(xs) - correction)
    return f


def log_sum_exp(xs):
    return log(total(exp(x) for x in xs))


def reduced(x, axes, keep, f):
    rank = len(x.shape)
    axes = sorted(a % rank for a in (range(rank) if axes is None else axes if isinstance(axes, list) else [axes]))
    groups = {}
    for i in indices(x.shape):
        groups.setdefault(tuple(k for a, k in enumerate(i) if a not in axes), []).append(x[i])
    shape = [1 if a in axes else n for a, n in enumerate(x.shape) if keep or a not in axes]
    free = [a for a in range(rank) if a not in axes]
    return Tensor(shape, lambda i: f(groups[tuple(i[a] for a in free) if keep else i]))


def argmax(xs):
    return max(range(len(xs)), key=lambda i: xs[i].value)


def reductions():
    kinds = [("sum", {}, total), ("mean", {}, mean), ("amax", {}, largest),
             ("amin", {}, lambda xs: min(xs, key=lambda x: x.value)), ("prod", {}, product),
             ("logsumexp", {}, log_sum_exp), ("var", {"unbiased": False}, variance(0)),
             ("var", {"unbiased": True}, variance(1)), ("var", {"correction": 2}, variance(2)),
             ("norm", {"p": 2}, lambda xs: sqrt(total(x * x for x in xs)))]
    for k, (op, attrs, f) in enumerate(kinds):
        for axis, keep in [(0, False), (-1, True), ([0, 2], False), ([-1, 1], True), (None, False)]:
            name = "%s.%d.axis%s%s" % (op, k, axis, ".keep" if keep else "")
            more = dict(attrs, keepdim=keep, **({} if axis is None else {"axis": axis}))
            yield name, op, more, {"x": (ANY, (3, 4, 3))}, lambda x, a=axis, kp=keep, f=f: reduced(x, a, kp, f)
    for axis, keep in [(1, False), (0, True)]:
        yield ("argmax.%d" % axis, "argmax", {"axis": axis, "keepdim": keep}, {"x": (ANY, (3, 5))},
               lambda x, a=axis, kp=keep: reduced(x, a, kp, argmax))
        yield ("cumsum.%d" % axis, "cumsum", {"axis": axis}, {"x": (ANY, (3, 4))},
               lambda x, a=axis: Tensor(x.shape, lambda i: total(
                   x[tuple(k if d == a else i[d] for d in range(2))] for k in range(i[a] + 1))))


# ---- linear algebra ------------------------------------------------------------------------------

def matmul(a, b, ta=False, tb=False):
    def rows(t, transposed):
        return t.shape[-2:][::-1] if transposed else t.shape[-2:]
    (m, k), (_, n) = rows(a, ta), rows(b, tb)
    lead = max(a.shape[:-2], b.shape[:-2], key=len)
    shape = tuple(max((t.shape[:-2][d - len(lead)] for t in (a, b) if len(t.shape) - 2 >= len(lead) - d), default=1)
                  for d in range(len(lead)))

    def element(i):
        batch, r, s = i[:-2], i[-2], i[-1]

        def at(t, p, q):
            own = batch[len(batch) - (len(t.shape) - 2):]
            return t[tuple(0 if size == 1 else x for size, x in zip(t.shape, own)) + (p, q)]
        return total(at(a, *((j, r) if ta else (r, j))) * at(b, *((s, j) if tb else (j, s))) for j in range(k))
    return Tensor(shape + (m, n), element)


def linear_algebra():
    for name, a, b, ta, tb in [("nn", (3, 4), (4, 2), False, False), ("tn", (4, 3), (4, 2), True, False),
                               ("nt", (3, 4), (2, 4), False, True), ("tt", (4, 3), (2, 4), True, True),
                               ("batch", (2, 2, 3), (2, 3, 2), False, False),
                               ("broadcast", (2, 1, 2, 3), (3, 3, 2), False, False),
                               ("row", (1, 5), (5, 1), False, False), ("empty", (3, 0), (0, 2), False, False)]:
        yield ("matmul." + name, "matmul", {"transpose_a": ta, "transpose_b": tb}, {"a": (ANY, a), "b": (ANY, b)},
               lambda a, b, ta=ta, tb=tb: matmul(a, b, ta, tb))
    yield ("linear", "linear", {"weight_layout": "out,in"},
           {"x": (ANY, (2, 3, 4)), "w": (ANY, (5, 4)), "b": (ANY, (5,))},
           lambda x, w, b: Tensor(
               (2, 3, 5), lambda i: b[i[2]] + total(x[i[0], i[1], k] * w[i[2], k] for k in range(4))))
    yield ("linear.no_bias", "linear", {}, {"x": (ANY, (4,) * 2), "w": (ANY, (3, 4))},
           lambda x, w: Tensor((4, 3), lambda i: total(x[i[0], k] * w[i[1], k] for k in range(4))))
    yield ("einsum", "einsum", {"equation": "bij,bkj->bik"}, {"a": (ANY, (2, 3, 4)), "b": (ANY, (2, 2, 4))},
           lambda a, b: matmul(a, b, False, True))


# ---- movement and indices ------------------------------------------------------------------------

def reshaped(x, shape):
    flat = [x[i] for i in indices(x.shape)]
    place = {i: k for k, i in enumerate(indices(shape))}
    return Tensor(shape, lambda i: flat[place[i]])


def movement():
    x = {"x": (ANY, (3, 4, 2))}
    yield "reshape", "reshape", {"shape": [2, -1, 3]}, x, lambda x: reshaped(x, (2, 4, 3))
    yield "permute", "permute", {"perm": [2, 0, 1]}, x, lambda x: Tensor((2, 3, 4), lambda i: x[i[1], i[2], i[0]])
    yield "transpose", "transpose", {"dim0": 0, "dim1": -1}, x, lambda x: Tensor((2, 4, 3), lambda i: x[i[::-1]])
    yield ("expand", "expand", {"shape": [5, -1, 3]}, {"x": (ANY, (2, 1))},
           lambda x: Tensor((5, 2, 3), lambda i: x[i[1], 0]))
    for k, (axis, start, stop, step) in enumerate([(1, 1, 4, 2), (0, -2, None, 1), (1, None, None, -1), (1, 3, 0, -2)]):
        given = {"axis": axis, "step": step}
        given.update({n: v for n, v in (("start", start), ("stop", stop)) if v is not None})
        kept = list(range((3, 4)[axis]))[start:stop:step]
        shape = (len(kept), 4) if axis == 0 else (3, len(kept))
        yield ("slice.%d" % k, "slice", given, {"x": (ANY, (3, 4))},
               lambda x, a=axis, s=shape, kept=kept: Tensor(
                   s, lambda i: x[(kept[i[0]], i[1]) if a == 0 else (i[0], kept[i[1]])]))
    yield ("concat", "concat", {"axis": -1}, {"a": (ANY, (2, 1)), "b": (ANY, (2, 3)), "c": (ANY, (2, 0))},
           lambda a, b, c: Tensor((2, 4), lambda i: a[i] if i[1] == 0 else b[i[0], i[1] - 1]))
    yield ("stack", "stack", {"axis": 1}, {"a": (ANY, (2, 3)), "b": (ANY, (2, 3))},
           lambda a, b: Tensor((2, 2, 3), lambda i: (a, b)[i[1]][i[0], i[2]]))
    yield ("split", "split", {"split_size": 2, "axis": 1}, {"x": (ANY, (2, 5))},
           lambda x: [Tensor((2, n), lambda i, s=s: x[i[0], s + i[1]]) for s, n in ((0, 2), (2, 2), (4, 1))])
    yield ("pad", "pad", {"before": [1, 0], "after": [0, 2], "value": 0.5}, {"x": (ANY, (2, 3))},
           lambda x: Tensor((3, 5), lambda i: x[i[0] - 1, i[1]] if i[0] >= 1 and i[1] < 3 else scalar(0.5)))
    yield ("pad.pairs", "pad", {"pad": [1, 2]}, {"x": (ANY, (2, 3))},
           lambda x: Tensor((2, 6), lambda i: x[i[0], i[1] - 1] if 1 <= i[1] < 4 else scalar(0)))
    yield ("flip", "flip", {"dims": [0, -1]}, x, lambda x: Tensor(x.shape, lambda i: x[2 - i[0], i[1], 1 - i[2]]))
    yield ("roll", "roll", {"shifts": [1, -2], "dims": [0, 1]}, {"x": (ANY, (3, 4))},
           lambda x: Tensor(x.shape, lambda i: x[(i[0] - 1) % 3, (i[1] + 2) % 4]))
    yield ("embedding", "embedding", {}, {"w": (ANY, (5, 3)), "i": ("0:5", (2, 4))},
           lambda w, i: Tensor((2, 4, 3), lambda k: w[i[k[:2]], k[2]]))
    yield ("embedding.padding", "embedding", {"padding_idx": 1}, {"w": (ANY, (3, 2)), "i": ("0:3", (8,))},
           lambda w, i: Tensor((8, 2), lambda k: w[i[k[0]], k[1]] if i[k[0]] != 1 else scalar(plain(w[1, k[1]]))))
    yield ("gather", "gather", {"axis": 0}, {"x": (ANY, (4, 3)), "i": ("0:4", (5, 2))},
           lambda x, i: Tensor((5, 2), lambda k: x[i[k], k[1]]))
    yield ("index_select", "index_select", {"axis": 1}, {"x": (ANY, (2, 4)), "i": ("0:4", (6,))},
           lambda x, i: Tensor((2, 6), lambda k: x[k[0], i[k[1]]]))
    yield ("scatter_add", "scatter_add", {"axis": 1}, {"x": (ANY, (2, 3)), "i": ("0:3", (2, 5)), "src": (ANY, (2, 5))},
           lambda x, i, src: Tensor((2, 3), lambda k: x[k] + total(
               src[k[0], j] for j in range(5) if i[k[0], j] == k[1])))
    yield ("masked_fill", "masked_fill", {"value": -3.0}, {"x": (ANY, (3, 4)), "mask": ("bool", (4,))},
           lambda x, mask: Tensor(x.shape, lambda i: scalar(-3) if mask[i[1]] else x[i]))


# ---- softmax, normalisation, losses --------------------------------------------------------------

def log_softmax(xs):
    z = log_sum_exp(xs)
    return [x - z for x in xs]


def normal(xs, eps):
    m, v = mean(xs), variance(0)(xs)
    return [(x - m) / sqrt(v + eps) for x in xs]


def by_group(x, key, f):
    """x with each group of elements (those of equal key(index)) replaced by f(group)."""
    groups = {}
    for i in indices(x.shape):
        groups.setdefault(key(i), []).append(i)
    at = {}
    for members in groups.values():
        at.update(zip(members, f([x[i] for i in members])))
    return Tensor(x.shape, lambda i: at[i])


def affine(x, axes, g, b):
    return Tensor(x.shape, lambda i: x[i] * g[tuple(i[a] for a in axes)] + b[tuple(i[a] for a in axes)])


def normalisation():
    for axis in (0, -1):
        key = (lambda i: i[1:]) if axis == 0 else (lambda i: i[:-1])
        x = {"x": (ANY, (4, 2, 3))}
        yield ("softmax.%d" % axis, "softmax", {"axis": axis}, x,
               lambda x, key=key: by_group(x, key, lambda xs: [exp(y) for y in log_softmax(xs)]))
        yield ("log_softmax.%d" % axis, "log_softmax", {"axis": axis}, x,
               lambda x, key=key: by_group(x, key, log_softmax))
    yield ("layernorm", "layernorm", {"eps": 1e-5}, {"x": (ANY, (2, 3, 4)), "g": (ANY, (4,)), "b": (ANY, (4,))},
           lambda x, g, b: affine(by_group(x, lambda i: i[:2], lambda xs: normal(xs, 1e-5)), (2,), g, b))
    yield ("layernorm.two_axes", "layernorm", {"eps": 0.01, "normalized_shape": [3, 4]},
           {"x": (ANY, (2, 3, 4)), "g": (ANY, (3, 4)), "b": (ANY, (3, 4))},
           lambda x, g, b: affine(by_group(x, lambda i: i[:1], lambda xs: normal(xs, 0.01)), (1, 2), g, b))
    yield ("rmsnorm", "rmsnorm", {"eps": 1e-6}, {"x": (ANY, (2, 5)), "g": (ANY, (5,))},
           lambda x, g: Tensor(x.shape, lambda i: x[i] * g[i[1]] / sqrt(
               mean([x[i[0], k] * x[i[0], k] for k in range(5)]) + 1e-6)))
    yield ("batchnorm.train", "batchnorm", {"eps": 1e-5, "training": True},
           {"x": (ANY, (3, 2, 2, 2)), "g": (ANY, (2,)), "b": (ANY, (2,))},
           lambda x, g, b: affine(by_group(x, lambda i: i[1], lambda xs: normal(xs, 1e-5)), (1,), g, b))
    yield ("batchnorm.eval", "batchnorm", {"eps": 1e-3, "training": False},
           {"x": (ANY, (3, 2, 2)), "g": (ANY, (2,)), "b": (ANY, (2,)), "mean": (ANY, (2,)), "var": (POSITIVE, (2,))},
           lambda x, g, b, mean, var: Tensor(
               x.shape, lambda i: (x[i] - mean[i[1]]) / sqrt(var[i[1]] + 1e-3) * g[i[1]] + b[i[1]]))
    yield ("groupnorm", "groupnorm", {"eps": 1e-5, "groups": 2},
           {"x": (ANY, (2, 4, 3)), "g": (ANY, (4,)), "b": (ANY, (4,))},
           lambda x, g, b: affine(by_group(x, lambda i: (i[0], i[1] // 2), lambda xs: normal(xs, 1e-5)), (1,), g, b))


def loss(elements, reduction):
    """elements: a tensor of losses"""
    if reduction == "none":
        return elements
    xs = list(elements.at.values())
    y = total(xs) if reduction == "sum" else mean(xs)
    return Tensor((), lambda i: y)


def cross_entropy(x, t, smoothing, ignore, reduction):
    classes = x.shape[1]

    def one(i):
        if t[i] == ignore:
            return scalar(0)
        row = log_softmax([x[(i[0], c) + i[1:]] for c in range(classes)])
        return -(1 - smoothing) * row[t[i]] - smoothing / classes * total(row)
    each = Tensor(t.shape, one)
    if reduction != "mean":
        return loss(each, reduction)
    kept = sum(t[i] != ignore for i in indices(t.shape))
    return Tensor((), lambda i: total(each.at.values()) / kept)


def huber(delta):
    def f(a, b):
        d = absolute(a - b)
        return 0.5 * d * d if d.value <= delta else delta * (d - 0.5 * delta)
    return f


def ctc(x, targets, frames, labels, blank, reduction, zero_infinity):
    """By trying every path; x [T,N,C] are log-probabilities after log_softmax."""
    _, N, C = x.shape

    def one(n):
        T, wanted = frames[n,], [targets[n, s] for s in range(labels[n,])]
        rows = [log_softmax([x[t, n, c] for c in range(C)]) for t in range(T)]
        paths = []
        for path in indices((C,) * T):
            merged = [c for t, c in enumerate(path) if t == 0 or c != path[t - 1]]
            if [c for c in merged if c != blank] == wanted:
                paths.append(exp(total(rows[t][c] for t, c in enumerate(path))))
        if not paths:
            return scalar(0 if zero_infinity else math.inf)
        y = -log(total(paths))
        return y / max(1, len(wanted)) if reduction == "mean" else y
    return loss(Tensor((N,), lambda i: one(i[0])), reduction)


def losses():
    for k, (classes, labels, blank, reduction, shape) in enumerate([
            (3, "1:3", 0, "mean", (2, 2)), (3, "0:2", 2, "sum", (2, 2)), (3, "1:3", 0, "none", (3, 3)),
            (4, "1:2", 0, "none", (3, 2)), (3, "1:3", 0, "sum", (4, 1))]):
        attrs = {"blank": blank, "reduction": reduction, "zero_infinity": shape == (3, 3)}
        examples, most = shape
        yield ("ctc_loss.%d" % k, "ctc_loss", attrs,
               {"x": (ANY, (5, examples, classes)), "targets": (labels, shape),
                "input_lengths": ("%d:6" % (2 if shape == (3, 3) else 3), (examples,)),
                "target_lengths": ("0:%d" % (most + 1), (examples,))},
               lambda x, targets, input_lengths, target_lengths, a=attrs: ctc(
                   x, targets, input_lengths, target_lengths, **a))
    for k, (smoothing, reduction, shape) in enumerate([(0.0, "mean", (5, 4)), (0.1, "sum", (5, 4)),
                                                       (0.2, "none", (5, 4)), (0.1, "mean", (2, 4, 3))]):
        yield ("cross_entropy.%d" % k, "cross_entropy",
               {"label_smoothing": smoothing, "ignore_index": 1, "reduction": reduction},
               {"x": (ANY, shape), "t": ("0:4", shape[:1] + shape[2:])},
               lambda x, t, s=smoothing, r=reduction: cross_entropy(x, t, s, 1, r))
    pairs = [("mse", {}, lambda a, b: (a - b) * (a - b)), ("huber", {"delta": 0.6}, huber(0.6)),
             ("smooth_l1", {"beta": 0.5}, lambda a, b: huber(0.5)(a, b) / 0.5),
             ("l1", {}, lambda a, b: absolute(a - b))]
    for reduction in ("none", "mean", "sum"):
        for op, attrs, f in pairs:
            yield ("%s.%s" % (op, reduction), op, dict(attrs, reduction=reduction),
                   {"a": (ANY, (2, 3)), "b": (ANY, (2, 3))},
                   lambda a, b, f=f, r=reduction: loss(Tensor(a.shape, lambda i: f(a[i], b[i])), r))
        yield ("bce_with_logits." + reduction, "bce_with_logits", {"reduction": reduction},
               {"x": (ANY, (5,)), "t": ((0.1, 0.9), (5,))},
               lambda x, t, r=reduction: loss(Tensor(x.shape, lambda i: -t[i] * log(sigmoid(x[i])) - (1 - t[i]) * log(
                   1 - sigmoid(x[i]))), r))
        yield ("kl." + reduction, "kl", {"reduction": reduction}, {"x": (ANY, (2, 3)), "t": ((0.1, 0.9), (2, 3))},
               lambda x, t, r=reduction: loss(Tensor(x.shape, lambda i: t[i] * (log(t[i]) - x[i])), r))


# ---- attention -----------------------------------------------------------------------------------

def attention(q, k, v, causal, lengths):
    """q [B,H,T,d]; k, v [B,Hk,S,d]"""
    (B, H, T, d), (_, Hk, S, _) = q.shape, k.shape

    def row(b, h, t):
        seen = [s for s in range(S) if (not causal or s <= t) and (lengths is None or s < lengths[b])]
        if not seen:
            return [scalar(0) for _ in range(v.shape[3])]
        g = h // (H // Hk)
        w = log_softmax([total(q[b, h, t, c] * k[b, g, s, c] for c in range(d)) / math.sqrt(d) for s in seen])
        return [total(exp(p) * v[b, g, s, c] for p, s in zip(w, seen)) for c in range(v.shape[3])]
    rows = {i: row(*i) for i in indices((B, H, T))}
    return Tensor((B, H, T, v.shape[3]), lambda i: rows[i[:3]][i[3]])


def attentions():
    full = {"q": (ANY, (2, 2, 3, 4)), "k": (ANY, (2, 2, 5, 4)), "v": (ANY, (2, 2, 5, 3))}
    grouped = {"q": (ANY, (1, 4, 3, 2)), "k": (ANY, (1, 2, 3, 2)), "v": (ANY, (1, 2, 3, 2))}
    yield "attention", "attention", {"causal": False, "layout": "B,H,T,D"}, full, lambda q, k, v: attention(
        q, k, v, False, None)
    yield ("attention.causal.lengths", "attention", {"causal": True, "key_lengths": [5, 2], "layout": "B,H,T,D"}, full,
           lambda q, k, v: attention(q, k, v, True, [5, 2]))
    yield ("attention.no_key", "attention", {"causal": False, "key_lengths": [0, 5], "layout": "B,H,T,D"}, full,
           lambda q, k, v: attention(q, k, v, False, [0, 5]))
    yield "attention.grouped", "attention", {"causal": True, "layout": "B,H,T,D"}, grouped, lambda q, k, v: attention(
        q, k, v, True, None)

    def swapped(q, k, v):
        q, k, v = (Tensor((t.shape[0], t.shape[2], t.shape[1], t.shape[3]), lambda i, t=t: t[i[0], i[2], i[1], i[3]])
                   for t in (q, k, v))
        y = attention(q, k, v, True, None)
        return Tensor((1, 3, 2, 2), lambda i: y[i[0], i[2], i[1], i[3]])
    yield ("attention.layout", "attention", {"causal": True, "layout": "B,T,H,D"},
           {n: (ANY, (1, 3, 2, 2)) for n in "qkv"}, swapped)


# ---- convolution, pooling ------------------------------------------------------------------------

def pair(n):
    return n if isinstance(n, list) else [n, n]


def each(n, axes):
    return n if isinstance(n, list) else [n] * axes


def conv(x, w, b, stride, padding, dilation, groups):
    """Along the axes after the second, however many there are."""
    (N, C, *X), (O, I, *K) = x.shape, w.shape
    s, p, d = (each(n, len(X)) for n in (stride, padding, dilation))
    Y = [(X[a] + 2 * p[a] - d[a] * (K[a] - 1) - 1) // s[a] + 1 for a in range(len(X))]

    def element(i):
        n, o, *window = i
        y = b[o] if b else scalar(0)
        for c, *tap in indices((I, *K)):
            at = [q * s[a] - p[a] + k * d[a] for a, (q, k) in enumerate(zip(window, tap))]
            if all(0 <= i < size for i, size in zip(at, X)):
                y = y + x[(n, o // (O // groups) * I + c, *at)] * w[(o, c, *tap)]
        return y
    return Tensor((N, O, *Y), element)


def conv_transpose(x, w, b, stride, padding, more, groups):
    """Along the axes after the second; one stride, padding and output padding for all of them."""
    (N, C, *X), (_, O, *K) = x.shape, w.shape
    Y = [(n - 1) * stride - 2 * padding + k - 1 + more + 1 for n, k in zip(X, K)]
    at = {i: b[i[1]] for i in indices((N, O * groups, *Y))}
    for n, c, *rest in indices((N, C, *X, O, *K)):
        place, o, tap = rest[:len(X)], rest[len(X)], rest[len(X) + 1:]
        i = (n, c // (C // groups) * O + o, *(q * stride - padding + k for q, k in zip(place, tap)))
        if i in at:
            at[i] = at[i] + x[(n, c, *place)] * w[(c, o, *tap)]
    return Tensor((N, O * groups, *Y), lambda i: at[i])


def pool2d(x, kernel, stride, padding, f):
    (kh, kw), (sh, sw), (ph, pw) = pair(kernel), pair(stride), pair(padding)
    N, C, H, W = x.shape

    def element(i):
        n, c, p, q = i
        places = [(p * sh - ph + k, q * sw - pw + l) for k in range(kh) for l in range(kw)]
        return f([x[n, c, r, s] for r, s in places if 0 <= r < H and 0 <= s < W], kh * kw)
    return Tensor((N, C, (H + 2 * ph - kh) // sh + 1, (W + 2 * pw - kw) // sw + 1), element)


def convolution():
    for k, (attrs, x, w) in enumerate([
            ({"stride": 1, "padding": 1, "dilation": 1, "groups": 1}, (2, 2, 4, 3), (3, 2, 3, 3)),
            ({"stride": [2, 1], "padding": [0, 2], "dilation": [1, 2], "groups": 1}, (1, 2, 5, 4), (2, 2, 2, 3)),
            ({"stride": 2, "padding": 1, "dilation": 1, "groups": 2}, (1, 4, 5, 5), (6, 2, 3, 2))]):
        yield ("conv2d.%d" % k, "conv2d", attrs, {"x": (ANY, x), "w": (ANY, w), "b": (ANY, w[:1])},
               lambda x, w, b, a=attrs: conv(x, w, b, **a))
    yield ("conv2d.no_bias", "conv2d", {}, {"x": (ANY, (1, 2, 3, 3)), "w": (ANY, (2, 2, 2, 2))},
           lambda x, w: conv(x, w, None, 1, 0, 1, 1))
    yield ("conv1d", "conv1d", {"stride": 2, "padding": 1, "dilation": 2},
           {"x": (ANY, (2, 2, 7)), "w": (ANY, (3, 2, 3)), "b": (ANY, (3,))},
           lambda x, w, b: conv(x, w, b, 2, 1, 2, 1))
    for k, (attrs, x, w) in enumerate([
            ({"stride": 1, "padding": 1, "dilation": 1, "groups": 1}, (1, 2, 2, 3, 2), (2, 2, 3, 2, 3)),
            ({"stride": [2, 1, 1], "padding": [0, 1, 2], "dilation": [1, 1, 2], "groups": 1}, (2, 1, 5, 2, 2),
             (2, 1, 2, 3, 2)),
            ({"stride": [1, 2, 2], "padding": 1, "dilation": [2, 1, 1], "groups": 2}, (1, 4, 3, 3, 4),
             (4, 2, 2, 2, 3))]):
        yield ("conv3d.%d" % k, "conv3d", attrs, {"x": (ANY, x), "w": (ANY, w), "b": (ANY, w[:1])},
               lambda x, w, b, a=attrs: conv(x, w, b, **a))
    for k, (stride, padding, more, groups) in enumerate([(2, 1, 0, 1), (2, 0, 1, 2), (1, 1, 0, 1)]):
        w = (4, 3, 3, 2)
        yield ("conv_transpose2d.%d" % k, "conv_transpose2d",
               {"stride": stride, "padding": padding, "output_padding": more, "groups": groups},
               {"x": (ANY, (1, 4, 3, 3)), "w": (ANY, w), "b": (ANY, (3 * groups,))},
               lambda x, w, b, a=(stride, padding, more, groups): conv_transpose(x, w, b, *a))
    for k, (stride, padding, more, groups) in enumerate([(2, 1, 1, 2), (1, 0, 0, 1)]):
        yield ("conv_transpose3d.%d" % k, "conv_transpose3d",
               {"stride": stride, "padding": padding, "output_padding": more, "groups": groups},
               {"x": (ANY, (1, 2, 2, 3, 2)), "w": (ANY, (2, 1, 3, 2, 2)), "b": (ANY, (groups,))},
               lambda x, w, b, a=(stride, padding, more, groups): conv_transpose(x, w, b, *a))
    x = {"x": (ANY, (2, 2, 5, 4))}
    yield "max_pool2d", "max_pool2d", {"kernel": 2, "stride": 2}, x, lambda x: pool2d(
        x, 2, 2, 0, lambda xs, n: largest(xs))
    yield ("max_pool2d.overlap", "max_pool2d", {"kernel": [3, 2], "stride": [1, 2], "padding": [1, 0]}, x,
           lambda x: pool2d(x, [3, 2], [1, 2], [1, 0], lambda xs, n: largest(xs)))
    yield ("avg_pool2d", "avg_pool2d", {"kernel": 3, "stride": 2, "padding": 1, "count_include_pad": True}, x,
           lambda x: pool2d(x, 3, 2, 1, lambda xs, n: total(xs) / n))
    yield "avg_pool2d.inside", "avg_pool2d", {"kernel": 3, "stride": 2, "padding": 1, "count_include_pad": False}, x, \
        lambda x: pool2d(x, 3, 2, 1, lambda xs, n: total(xs) / len(xs))


# ---- recurrence ----------------------------------------------------------------------------------

def dense(w, x, b, rows):
    return [total(w[r, k] * x[k] for k in range(len(x))) + b[r] for r in rows]


def lstm(x, wi, wh, bi, bh):
    """x [B,T,C]; gates in the order i, f, g, o"""
    B, T, C = x.shape
    n = wh.shape[1]
    y = {}
    for b in range(B):
        h, c = [scalar(0)] * n, [scalar(0)] * n
        for t in range(T):
            row = [x[b, t, k] for k in range(C)]
            z = [p + q for p, q in zip(dense(wi, row, bi, range(4 * n)), dense(wh, h, bh, range(4 * n)))]
            c = [sigmoid(z[n + j]) * c[j] + sigmoid(z[j]) * tanh(z[2 * n + j]) for j in range(n)]
            h = [sigmoid(z[3 * n + j]) * tanh(c[j]) for j in range(n)]
            y.update({(b, t, j): h[j] for j in range(n)})
    return Tensor((B, T, n), lambda i: y[i])


def gru(x, wi, wh, bi, bh):
    """gates in the order r, z, n; n = tanh(wi x + bi + r (wh h + bh))"""
    B, T, C = x.shape
    n = wh.shape[1]
    y = {}
    for b in range(B):
        h = [scalar(0)] * n
        for t in range(T):
            u = dense(wi, [x[b, t, k] for k in range(C)], bi, range(3 * n))
            v = dense(wh, h, bh, range(3 * n))
            r, z = ([sigmoid(u[g * n + j] + v[g * n + j]) for j in range(n)] for g in (0, 1))
            new = [tanh(u[2 * n + j] + r[j] * v[2 * n + j]) for j in range(n)]
            h = [(1 - z[j]) * new[j] + z[j] * h[j] for j in range(n)]
            y.update({(b, t, j): h[j] for j in range(n)})
    return Tensor((B, T, n), lambda i: y[i])


def linear_scan(reverse):
    """y[t] = a[t] y[t-1] + x[t] over axis 1 of [B, T, C], from the state `initial` [B, C]"""
    def f(a, x, initial):
        B, T, C = x.shape
        y = {}
        for b in range(B):
            for c in range(C):
                state = initial[b, c]
                for t in reversed(range(T)) if reverse else range(T):
                    state = a[b, t, c] * state + x[b, t, c]
                    y[b, t, c] = state
        return Tensor((B, T, C), lambda i: y[i])
    return f


def time_first(f):
    """The same for x and y with time before the batch."""
    def swap(t):
        return Tensor((t.shape[1], t.shape[0], t.shape[2]), lambda i: t[i[1], i[0], i[2]])
    return lambda x, **more: swap(f(swap(x), **more))


def recurrence():
    for op, f, gates, order in (("lstm", lstm, 4, "i,f,g,o"), ("gru", gru, 3, "r,z,n")):
        for layout, g, x in (("B,T,C", f, (2, 4, 3)), ("T,B,C", time_first(f), (3, 2, 2))):
            n = 2
            yield ("%s.%s" % (op, layout.replace(",", "")), op,
                   {"gate_order": order, "hidden": n, "layout": layout, "initial_state": "zero"},
                   {"x": (ANY, x), "wi": (ANY, (gates * n, x[2])), "wh": (ANY, (gates * n, n)),
                    "bi": (ANY, (gates * n,)), "bh": (ANY, (gates * n,))}, g)


    for name, reverse in (("forward", False), ("reverse", True)):
        yield ("linear_scan." + name, "linear_scan", {"axis": 1, "reverse": reverse},
               {"a": (ANY, (2, 5, 3)), "x": (ANY, (2, 5, 3)), "initial": (ANY, (2, 3))}, linear_scan(reverse))


def cases():
    for family in (elementwise, reductions, linear_algebra, movement, normalisation, losses, attentions, convolution,
                   recurrence):
        yield from family()
