#!/usr/bin/env python3
"""Writes the golden vectors of two small Transformers: python3 transformer.py  (only the standard library).

The format is in ../golden_model.h.  Like the ops (cases.py), the model is written as loops over scalars that remember
how they were computed; a vector is a list of scalars, a matrix [out, in] a list of rows, a sequence a list of vectors.
"""
import math
import os
import random
import struct

from make import write
from tape import Scalar, backward, erf, exp, log, scalar, sigmoid, sqrt, total

PAD, BOS = 0, 1
ACTIVATIONS = {
    "relu": lambda x: x if x.value > 0 else 0 * x,
    "gelu": lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2))),
    "silu": lambda x: x * sigmoid(x),
}


# ---- layers --------------------------------------------------------------------------------------

def linear(x, weight, bias=None):
    return [total(a * b for a, b in zip(x, row)) + (bias[i] if bias else 0) for i, row in enumerate(weight)]


def softmax(scores):
    most = max(s.value for s in scores)
    parts = [exp(s - most) for s in scores]
    whole = total(parts)
    return [p / whole for p in parts]


def norm(x, p, name):
    mean = total(x) / len(x)
    variance = total((a - mean) * (a - mean) for a in x) / len(x)
    scale = 1 / sqrt(variance + 1e-5)
    return [(a - mean) * scale * g + b for a, g, b in zip(x, p[name + ".weight"], p[name + ".bias"])]


def attention(queries, keys, sees, p, name, heads):
    """sees(t, s): may query t look at key s?  Projections q, k, v are the thirds of in_proj_weight."""
    d = len(queries[0])
    width = d // heads
    weight, bias = p[name + ".in_proj_weight"], p.get(name + ".in_proj_bias")

    def third(i, xs):
        return [linear(x, weight[i * d:(i + 1) * d], bias and bias[i * d:(i + 1) * d]) for x in xs]

    q, k, v = third(0, queries), third(1, keys), third(2, keys)
    ys = []
    for t in range(len(q)):
        y = []
        seen = [s for s in range(len(k)) if sees(t, s)]
        for h in range(heads):
            part = range(h * width, (h + 1) * width)
            w = softmax([total(q[t][i] * k[s][i] for i in part) / math.sqrt(width) for s in seen])
            y += [total(w[j] * v[s][i] for j, s in enumerate(seen)) for i in part]
        ys.append(linear(y, p[name + ".out_proj.weight"], p.get(name + ".out_proj.bias")))
    return ys


def feed_forward(xs, p, name, activation):
    return [linear([activation(h) for h in linear(x, p[name + ".linear1.weight"], p[name + ".linear1.bias"])],
                   p[name + ".linear2.weight"], p[name + ".linear2.bias"]) for x in xs]


def sublayer(xs, p, name, norm_first, f):
    """x + f(norm(x)), or norm(x + f(x))"""
    ys = f([norm(x, p, name) for x in xs] if norm_first else xs)
    ys = [[a + b for a, b in zip(x, y)] for x, y in zip(xs, ys)]
    return ys if norm_first else [norm(y, p, name) for y in ys]


# ---- the model -----------------------------------------------------------------------------------

def position(t, i, d, kind):
    if kind == "interleaved":
        angle = t / 10000 ** (2 * (i // 2) / d)
        return math.cos(angle) if i % 2 else math.sin(angle)
    angle = t / 10000 ** (i % (d // 2) / (d // 2 - 1))
    return math.cos(angle) if i >= d // 2 else math.sin(angle)


def embed(ids, p, c):
    d = c["d"]
    return [[p["embedding.weight"][w][i] * math.sqrt(d) + position(t, i, d, c["positions"]) for i in range(d)]
            for t, w in enumerate(ids)]


def stack(xs, p, c, name, memory=None, sees=None, sees_memory=None):
    for layer in range(c["layers"]):
        at = "%s.layers.%d" % (name, layer)
        xs = sublayer(xs, p, at + ".norm1", c["norm_first"],
                      lambda x: attention(x, x, sees, p, at + ".self_attn", c["heads"]))
        if memory:
            xs = sublayer(xs, p, at + ".norm2", c["norm_first"],
                          lambda x: attention(x, memory, sees_memory, p, at + ".multihead_attn", c["heads"]))
        xs = sublayer(xs, p, at + (".norm3" if memory else ".norm2"), c["norm_first"],
                      lambda x: feed_forward(x, p, at, ACTIVATIONS[c["activation"]]))
    return [norm(x, p, name + ".norm") for x in xs] if c["norm_first"] else xs


def logits(source, target, p, c):
    s, t = sum(w != PAD for w in source), sum(w != PAD for w in target)
    memory = stack(embed(source, p, c), p, c, "encoder", sees=lambda a, b: b < s)
    states = stack(embed(target, p, c), p, c, "decoder", memory, sees=lambda a, b: b <= a and b < t,
                   sees_memory=lambda a, b: b < s)
    return [linear(x, p["embedding.weight"]) for x in states]


def loss(all_logits, targets, eps):
    parts = []
    for rows, ids in zip(all_logits, targets):
        for y, w in zip(rows, ids):
            if w != PAD:
                most = max(a.value for a in y)
                norm_log = log(total(exp(a - most) for a in y)) + most
                log_p = [a - norm_log for a in y]
                parts.append(-((1 - eps) * log_p[w] + eps * (total(log_p) / len(y))))
    return total(parts) / len(parts)


# ---- parameters ----------------------------------------------------------------------------------

def shapes(c):
    d, ff = c["d"], c["ff"]
    yield "embedding.weight", (c["vocab"], d)
    for name, norms in (("encoder", 2), ("decoder", 3)):
        for layer in range(c["layers"]):
            at = "%s.layers.%d." % (name, layer)
            for a in ("self_attn.", "multihead_attn.")[:norms - 1]:
                yield at + a + "in_proj_weight", (3 * d, d)
                yield at + a + "out_proj.weight", (d, d)
                if c["attention_bias"]:
                    yield at + a + "in_proj_bias", (3 * d,)
                    yield at + a + "out_proj.bias", (d,)
            yield at + "linear1.weight", (ff, d)
            yield at + "linear1.bias", (ff,)
            yield at + "linear2.weight", (d, ff)
            yield at + "linear2.bias", (d,)
            for i in range(norms):
                yield at + "norm%d.weight" % (i + 1), (d,)
                yield at + "norm%d.bias" % (i + 1), (d,)
        if c["norm_first"]:
            yield name + ".norm.weight", (d,)
            yield name + ".norm.bias", (d,)


def draw(name, shape, rng):
    if len(shape) == 2:
        bound = math.sqrt(6 / sum(shape))
        return [[rng.uniform(-bound, bound) for _ in range(shape[1])] for _ in range(shape[0])]
    middle = 1 if "norm" in name and name.endswith("weight") else 0
    return [middle + rng.uniform(-0.1, 0.1) for _ in range(shape[0])]


def flat(x):
    return [b for a in x for b in flat(a)] if isinstance(x, list) else [x]


def scalars(x):
    return [scalars(a) for a in x] if isinstance(x, list) else Scalar(x)


def like(x, numbers):
    return [like(a, numbers) for a in x] if isinstance(x, list) else next(numbers)


# ---- the file ------------------------------------------------------------------------------------

def derive(values, batch, c):
    """loss, logits and gradients by name at these values"""
    p = {k: scalars(v) for k, v in values.items()}
    ys = [logits(s, t, p, c) for s, t in zip(batch["src"], batch["tgt_in"])]
    y = loss(ys, batch["tgt_out"], c["smoothing"])
    backward([(y, 1.0)])
    return y.value, [a.value for a in flat(ys)], {k: [a.grad for a in flat(v)] for k, v in p.items()}


def adam(value, gradient, m, v, rate, t, beta1=0.9, beta2=0.98, eps=1e-9):
    for i, g in enumerate(gradient):
        m[i] = beta1 * m[i] + (1 - beta1) * g
        v[i] = beta2 * v[i] + (1 - beta2) * g * g
        value[i] -= rate * (m[i] / (1 - beta1 ** t)) / (math.sqrt(v[i] / (1 - beta2 ** t)) + eps)


def make_batch(c, rng):
    def words(n, longest):
        return [rng.randrange(3, c["vocab"]) for _ in range(n)] + [PAD] * (longest - n)
    source = [words(n, c["src"]) for n in c["source_lengths"]]
    target = [words(n, c["tgt"]) for n in c["target_lengths"]]
    return {"src": source, "tgt_in": [[BOS] + t[:n - 1] + [PAD] * (c["tgt"] - n)
                                      for t, n in zip(target, c["target_lengths"])], "tgt_out": target}


def make(name, c):
    rng = random.Random(name)
    values = {k: draw(k, shape, rng) for k, shape in shapes(c)}
    batch = make_batch(c, rng)
    tensors = {"in." + k: ((len(v), len(v[0])), "I64", struct.pack("<%dq" % len(flat(v)), *flat(v)))
               for k, v in batch.items()}

    def put(key, shape, numbers):
        tensors[key] = (shape, "F64", struct.pack("<%dd" % len(numbers), *numbers))

    sizes = dict(shapes(c))
    rates, losses = [0.05 * min((t + 1) / 4, 2 / math.sqrt(t + 1)) for t in range(c["steps"])], []
    moments = {k: ([0.0] * len(flat(v)), [0.0] * len(flat(v))) for k, v in values.items()}
    for k, v in values.items():
        put("param." + k, sizes[k], flat(v))
    for t, rate in enumerate(rates):
        y, ys, gradients = derive(values, batch, c)
        losses.append(y)
        if t == 0:
            put("out.loss", (), [y])
            put("out.logits", (len(batch["src"]), c["tgt"], c["vocab"]), ys)
            for k, g in gradients.items():
                put("grad." + k, sizes[k], g)
        for k in values:
            numbers = flat(values[k])
            adam(numbers, gradients[k], *moments[k], rate, t + 1)
            values[k] = like(values[k], iter(numbers))
    for k, v in values.items():
        put("after." + k, sizes[k], flat(v))
    put("train.lr", (len(rates),), rates)
    put("train.loss_before_step", (len(losses),), losses)
    notes = {k: str(c[k]) for k in ("vocab", "d", "heads", "ff", "layers", "src", "tgt", "steps", "activation",
                                    "norm_first", "smoothing", "positions")}
    notes.update(pad=str(PAD), bos=str(BOS), batch=str(len(batch["src"])), adam="beta1=0.9 beta2=0.98 eps=1e-9",
                 loss="mean over non-pad target tokens, smoothing uniform over all V")
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".safetensors")
    write(path, tensors, notes)
    print("%s: loss %.6f to %.6f, %d bytes" % (name, losses[0], losses[-1], os.path.getsize(path)))


def main():
    common = dict(vocab=11, src=4, tgt=4, steps=10, layers=1, smoothing=0.1)
    make("transformer_postnorm", dict(common, d=8, heads=2, ff=12, activation="relu", norm_first=False,
                                      positions="interleaved", attention_bias=True, source_lengths=[4, 2],
                                      target_lengths=[3, 4]))
    make("transformer_prenorm", dict(common, d=6, heads=3, ff=10, activation="silu", norm_first=True,
                                     positions="halves", attention_bias=False, source_lengths=[3, 4],
                                     target_lengths=[4, 2]))


if __name__ == "__main__":
    main()
