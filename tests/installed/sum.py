"""d/dw sum(w x) = x, from Python: sum.py LIBRARY.  The graph is a text; ctypes needs no more than pointers."""
import ctypes
import sys

TEXT = b"""wengert-graph 1
%x = input() : f32[2] 'x'
%w = input() : f32[2] 'w'
%p = mul(%x, %w)
%y = sum(%p) : f32[]
output 'y' = %y
"""

lib = ctypes.CDLL(sys.argv[1])
pointer = ctypes.c_void_p
lib.wg_graph_find.restype = lib.wg_graph_output.restype = lib.wg_plan_f32.restype = pointer
lib.wg_plan_scalar.restype = ctypes.c_double
lib.wg_graph_message.restype = lib.wg_plan_message.restype = ctypes.c_char_p

graph, plan = pointer(), pointer()
if lib.wg_graph_parse(ctypes.byref(graph), TEXT, ctypes.c_size_t(len(TEXT)), None, None) != 0:
    sys.exit("the graph is refused")
y = pointer(lib.wg_graph_output(graph, ctypes.c_size_t(0)))
x, w = (pointer(lib.wg_graph_find(graph, name)) for name in (b"x", b"w"))
dw = pointer()
if lib.wg_grad(b"sum.py", y, ctypes.byref(w), ctypes.c_size_t(1), ctypes.byref(dw)) != 0:
    sys.exit(lib.wg_graph_message(graph))
lib.wg_output(dw, b"dw")
if lib.wg_plan_create(ctypes.byref(plan), graph, None) != 0:
    sys.exit(lib.wg_graph_message(graph))


def numbers(value):
    return ctypes.cast(lib.wg_plan_f32(plan, value), ctypes.POINTER(ctypes.c_float))


for i, number in enumerate((2, 3)):
    numbers(x)[i] = number
    numbers(w)[i] = 1
if lib.wg_plan_run(plan, ctypes.c_uint64(0)) != 0:
    sys.exit(lib.wg_plan_message(plan))
right = lib.wg_plan_scalar(plan, y) == 5 and list(numbers(dw)[:2]) == [2, 3]
print("Python:", "right" if right else "wrong")
lib.wg_plan_free(plan)
lib.wg_graph_free(graph)
sys.exit(0 if right else 1)
