"""The library from Python, by ctypes alone: the line y = w x + b, fitted to noisy points.

    python3 line.py [libwengert.so]

Exits with 0 if w and b are found."""
import random, sys
from ctypes import *

F32, N = 1, 200  # WG_F32
random.seed(1)
wg = CDLL(sys.argv[1] if len(sys.argv) > 1 else "libwengert.so")

class Shape(Structure):
    _fields_ = [("rank", c_int), ("dim", c_int64 * 8)]

class Axes(Structure):
    _fields_ = [("count", c_int), ("axis", c_int * 8)]

class Init(Structure):  # all zero: the parameter begins as zeros
    _fields_ = [("kind", c_int), ("scale", c_double), ("values", c_void_p), ("bytes", c_size_t)]

class Gradients(Structure):
    _fields_ = [("params", POINTER(c_void_p)), ("grads", POINTER(c_void_p)), ("n", c_size_t)]

class Value:
    """A tensor of the graph.  Operators build nodes."""
    def __init__(self, address): self._as_parameter_ = c_void_p(address)
    def __add__(self, other): return op("wg_add", self, other)
    def __sub__(self, other): return op("wg_sub", self, other)
    def __mul__(self, other):
        return op("wg_mul", self, other) if isinstance(other, Value) else op("wg_scale", self, c_double(other))

def function(name, result, *arguments):
    f = getattr(wg, name)
    f.restype = result
    return f(*arguments)

def op(name, *arguments):
    """A builder, whose hidden first argument is the caller's place: errors name the line in this file."""
    caller = sys._getframe(1)
    while caller.f_code.co_name.startswith("__"): caller = caller.f_back  # an operator: where it stands
    place = f"{caller.f_code.co_filename}:{caller.f_lineno}".encode()
    return Value(function(name, c_void_p, place, *arguments))

g = c_void_p(function("wg_graph_new", c_void_p))
x, y = (op("wg_input", g, name, F32, Shape(1, (N,))) for name in (b"x", b"y"))
w, b = (op("wg_parameter", g, name, F32, Shape(0), Init()) for name in (b"w", b"b"))
error = w * x + b - y
loss = op("wg_mean", error * error, Axes(0), 0)
function("wg_output", c_void_p, loss, b"loss")
d = function("wg_grad_all", Gradients, f"{__file__}".encode(), loss)
for i in range(d.n):  # gradient descent: p <- p - grad / 2
    p, grad = Value(d.params[i]), Value(d.grads[i])
    function("wg_assign", None, __file__.encode(), p, p - grad * 0.5)

plan = c_void_p()
if function("wg_plan_create", c_int, byref(plan), g, None) != 0:
    sys.exit(function("wg_graph_message", c_char_p, g).decode())
xs, ys = (function("wg_plan_f32", POINTER(c_float), plan, v) for v in (x, y))
for i in range(N):
    xs[i] = random.uniform(-1, 1)
    ys[i] = 3 * xs[i] - 2 + random.gauss(0, 0.05)
for step in range(41):
    if function("wg_plan_run", c_int, plan, c_uint64(step)) != 0:
        sys.exit(function("wg_plan_message", c_char_p, plan).decode())
    if step % 10 == 0:
        print(f"step {step:2}  loss {function('wg_plan_scalar', c_double, plan, loss):.6f}")
found = [function("wg_plan_scalar", c_double, plan, v) for v in (w, b)]
print("y = %.3f x + %.3f" % tuple(found))
wg.wg_plan_free(plan)
wg.wg_graph_free(g)
sys.exit(0 if abs(found[0] - 3) < 0.05 and abs(found[1] + 2) < 0.05 else "the line was not found")
