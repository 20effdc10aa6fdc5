#!/usr/bin/env python3
"""Writes ../ops/function_values.def: functions of one variable and their derivatives to 20 digits, by mpmath.

python3 tests/golden/functions.py

The points are numbers that f32 holds exactly.
"""
import os
import struct

from mpmath import mp, mpf

mp.dps = 60
POINTS = [1e-30, 1e-10, 1e-3, 0.1, 0.3, 0.7, 0.99, 1.25, 1.5, 2.5, 4.75, 10.5, 50.25, 1e4, 1e30]
BOTH = POINTS + [-x for x in POINTS]

FUNCTIONS = [  # builder, function, derivative, where it is defined
    ("log1p", mp.log1p, lambda x: 1 / (1 + x), lambda x: x > -1),
    ("expm1", mp.expm1, mp.exp, None),
    ("tan", mp.tan, lambda x: 1 / mp.cos(x) ** 2, None),
    ("asin", mp.asin, lambda x: 1 / mp.sqrt(1 - x * x), lambda x: abs(x) < 1),
    ("acos", mp.acos, lambda x: -1 / mp.sqrt(1 - x * x), lambda x: abs(x) < 1),
    ("atan", mp.atan, lambda x: 1 / (1 + x * x), None),
    ("sinh", mp.sinh, mp.cosh, None),
    ("cosh", mp.cosh, mp.sinh, None),
    ("asinh", mp.asinh, lambda x: 1 / mp.sqrt(1 + x * x), None),
    ("acosh", mp.acosh, lambda x: 1 / mp.sqrt(x * x - 1), lambda x: x > 1),
    ("atanh", mp.atanh, lambda x: 1 / (1 - x * x), lambda x: abs(x) < 1),
    ("lgamma", lambda x: mp.log(abs(mp.gamma(x))) if x < 1e5 else mp.loggamma(x), lambda x: mp.psi(0, x), None),
    ("digamma", lambda x: mp.psi(0, x), lambda x: mp.psi(1, x), None),
    ("polygamma_1", lambda x: mp.psi(1, x), lambda x: mp.psi(2, x), None),
    ("polygamma_2", lambda x: mp.psi(2, x), lambda x: mp.psi(3, x), None),
    ("polygamma_5", lambda x: mp.psi(5, x), lambda x: mp.psi(6, x), None),
    ("polygamma_29", lambda x: mp.psi(29, x), lambda x: mp.psi(30, x), None),
]


def as_f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def rows():
    for name, f, slope, defined in FUNCTIONS:
        gamma = "gamma" in name
        for x in BOTH:
            x = mpf(as_f32(x))
            pole = gamma and x <= 0 and x == mp.floor(x)
            if pole or (defined and not defined(x)):
                continue
            y, d = (v if abs(v) > mpf(10) ** -300 else mpf(0) for v in (f(x), slope(x)))
            if max(abs(y), abs(d)) < mpf(10) ** 300:
                yield "{%s, %s, %s, %s}," % (name if "_" in name else "wg_" + name, *(mp.nstr(v, n, strip_zeros=False) for v, n in
                                                          [(x, 17), (y, 20), (d, 20)]))


def main():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ops", "function_values.def")
    with open(path, "w") as f:
        f.write("/* Rows of f, x, f(x), f'(x).  Written by tests/golden/functions.py. */\n")
        f.write("\n".join(rows()) + "\n")


main()
