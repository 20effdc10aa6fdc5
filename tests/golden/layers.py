#!/usr/bin/env python3
"""Writes layers.h: what PyTorch computes for layers, in double, for tests/models/test_golden_layers.c.

    python3 layers.py > layers.h

Element k of parameter j, in the order in which the library creates them, is 0.5 sin(0.7 k + j + 1); element k of input j
is cos(0.3 k + j), scaled as `drawn` says.  The loss is the sum over all results y of y[k] cos(0.9 k).
"""
import textwrap

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

torch.set_default_dtype(torch.float64)
BATCH, STEPS, INPUTS, UNITS, LENGTHS = 3, 4, 2, 2, [2, 4, 1]


def drawn(j, *shape, scale=1.0):
    count = torch.Size(shape).numel()
    return (scale * torch.cos(0.3 * torch.arange(count, dtype=torch.float64) + j)).reshape(shape)


def parameter(j, p):
    values = 0.5 * torch.sin(0.7 * torch.arange(p.numel(), dtype=torch.float64) + j + 1)
    with torch.no_grad():
        p.copy_(values.reshape(p.shape))


def weighted(y):
    return (y.reshape(-1) * torch.cos(0.9 * torch.arange(y.numel(), dtype=torch.float64))).sum()


def table(name, x):
    numbers = ", ".join(f"{v:.17g}" for v in x.detach().reshape(-1).tolist())
    print(f"static const double {name}[] = {{")
    print(textwrap.fill(numbers, 100, initial_indent="    ", subsequent_indent="    ") + "};")


def recurrent(name, net, layers, both, gru):
    """The second bias of LSTM and RNN is 0: the library has one."""
    j = 0
    for layer in range(layers):
        for direction in ("", "_reverse") if both else ("",):
            for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                p = getattr(net, f"{kind}_l{layer}{direction}")
                if kind == "bias_hh" and not gru:
                    nn.init.zeros_(p)
                else:
                    parameter(j, p)
                    j += 1
    states = layers * (2 if both else 1)
    x = drawn(0, BATCH, STEPS, INPUTS).requires_grad_()
    h = drawn(1, states, BATCH, UNITS).requires_grad_()
    c = drawn(2, states, BATCH, UNITS).requires_grad_()
    packed = pack_padded_sequence(x, torch.tensor(LENGTHS), batch_first=True, enforce_sorted=False)
    lstm = isinstance(net, nn.LSTM)
    y, last = net(packed, (h, c) if lstm else h)
    y = pad_packed_sequence(y, batch_first=True, total_length=STEPS)[0]
    results = [y, last[0], last[1]] if lstm else [y, last]
    sum(weighted(r) for r in results).backward()
    for what, v in zip(("y", "h", "c"), results):
        table(f"{name}_{what}", v)
    table(f"{name}_dx", x.grad)
    table(f"{name}_dh", h.grad)


def attention(name, bias_shape, see):
    """softmax(q k' / sqrt(d) + bias + mask) v in PyTorch's words; see(t, s) tells which keys count."""
    q, k, v = (drawn(0, 2, 4, 3, 2, scale=2.0).requires_grad_(), drawn(1, 2, 2, 5, 2, scale=2.0).requires_grad_(),
               drawn(2, 2, 2, 5, 2).requires_grad_())
    bias = drawn(3, *bias_shape).requires_grad_()
    mask = torch.tensor([[0.0 if see(t, s) else -float("inf") for s in range(5)] for t in range(3)])
    grouped = [a.repeat_interleave(2, dim=1) for a in (k, v)]
    w = torch.softmax(q @ grouped[0].transpose(-1, -2) / 2 ** 0.5 + bias + mask, dim=-1)
    y = w @ grouped[1]
    weighted(y).backward()
    for what, value in (("y", y), ("dq", q.grad), ("dk", k.grad), ("dv", v.grad), ("dbias", bias.grad)):
        table(f"{name}_{what}", value)


def batchnorm():
    net = nn.BatchNorm2d(2, momentum=0.3)
    parameter(0, net.weight)
    parameter(1, net.bias)
    x = drawn(0, 3, 2, 2, 2).requires_grad_()
    y = net(x)
    weighted(y).backward()
    table("batchnorm_y", y)
    table("batchnorm_dx", x.grad)
    table("batchnorm_mean", net.running_mean)
    table("batchnorm_var", net.running_var)
    table("batchnorm_evaluated", net.eval()(x))


print("/* Made by layers.py with PyTorch %s: not to be edited. */" % torch.__version__.split("a")[0])
print("#ifndef WG_TESTS_GOLDEN_LAYERS_H\n#define WG_TESTS_GOLDEN_LAYERS_H\n\n/* clang-format off */")
recurrent("lstm", nn.LSTM(INPUTS, UNITS, 2, batch_first=True, bidirectional=True), 2, True, False)
recurrent("gru", nn.GRU(INPUTS, UNITS, 2, batch_first=True, bidirectional=True), 2, True, True)
recurrent("rnn", nn.RNN(INPUTS, UNITS, 1, nonlinearity="relu", batch_first=True), 1, False, False)
attention("biased", (1, 4, 3, 5), lambda t, s: True)
attention("windowed", (2, 1, 1, 5), lambda t, s: t - 1 <= s <= t + 2)
batchnorm()
print("/* clang-format on */\n\n#endif")
