"""Tensors of scalars that remember how they were computed: the plainest reverse-mode differentiation there is.

Nothing here is shared with the library: each op of the golden vectors is written as loops over scalars (cases.py), and
its gradient follows from the chain rule on + * / and a few functions of one variable.
"""
import itertools
import math


class Scalar:
    """A number, and how it changes with those that it was made of: (scalar, partial derivative) pairs."""

    def __init__(self, value, parts=()):
        self.value, self.parts, self.grad = value, parts, 0.0

    def __add__(self, other):
        other = scalar(other)
        return Scalar(self.value + other.value, ((self, 1.0), (other, 1.0)))

    def __mul__(self, other):
        other = scalar(other)
        return Scalar(self.value * other.value, ((self, other.value), (other, self.value)))

    def __truediv__(self, other):
        other = scalar(other)
        y = self.value / other.value
        return Scalar(y, ((self, 1 / other.value), (other, -y / other.value)))

    def __neg__(self):
        return Scalar(-self.value, ((self, -1.0),))

    def __sub__(self, other):
        return self + -scalar(other)

    def __rsub__(self, other):
        return scalar(other) - self

    def __rtruediv__(self, other):
        return scalar(other) / self

    __radd__, __rmul__ = __add__, __mul__


def scalar(x):
    return x if isinstance(x, Scalar) else Scalar(float(x))


def function(f, derivative):
    """A function of one variable, from its value and its derivative(x, y)."""
    def apply(x):
        x = scalar(x)
        y = f(x.value)
        return Scalar(y, ((x, derivative(x.value, y)),))
    return apply


exp = function(math.exp, lambda x, y: y)
log = function(math.log, lambda x, y: 1 / x)
sqrt = function(math.sqrt, lambda x, y: 0.5 / y)
sin = function(math.sin, lambda x, y: math.cos(x))
cos = function(math.cos, lambda x, y: -math.sin(x))
tanh = function(math.tanh, lambda x, y: 1 - y * y)
erf = function(math.erf, lambda x, y: 2 / math.sqrt(math.pi) * math.exp(-x * x))
absolute = function(abs, lambda x, y: math.copysign(1, x))


def sigmoid(x):
    return 1 / (1 + exp(-x))


def largest(xs):
    """The first of the largest; the derivative goes to it alone."""
    return max(xs, key=lambda x: x.value)


def total(xs):
    s = Scalar(0.0)
    for x in xs:
        s = s + x
    return s


def indices(shape):
    return itertools.product(*(range(n) for n in shape))


class Tensor:
    """A shape and its elements (scalars, or plain numbers for integers) by index tuple."""

    def __init__(self, shape, element):
        self.shape = tuple(shape)
        self.at = {i: element(i) for i in indices(self.shape)}

    def __getitem__(self, i):
        return self.at[i if isinstance(i, tuple) else (i,)]

    def values(self):
        return [x.value if isinstance(x, Scalar) else x for x in (self.at[i] for i in indices(self.shape))]


def backward(outputs):
    """Adds to .grad of every scalar the derivative of the sum of cotangent * scalar over `outputs`."""
    order, seen = [], set()
    stack = [(y, False) for y, _ in outputs]
    while stack:
        s, done = stack.pop()
        if done:
            order.append(s)
        elif id(s) not in seen:
            seen.add(id(s))
            stack.append((s, True))
            stack.extend((p, False) for p, _ in s.parts)
    for y, cotangent in outputs:
        y.grad += cotangent
    for s in reversed(order):
        for part, derivative in s.parts:
            part.grad += s.grad * derivative
