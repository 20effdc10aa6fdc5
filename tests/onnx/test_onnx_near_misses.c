/* What nearly spells out an activation, a norm or attention stays as it is, and what does so in an
 * odd way becomes one op; both compute what the file says. */
#include "tests/onnx/spelled.h"
#include "tests/onnx/text.h"

#define TWO " <float[] two = {2}, float[] low = {-inf}, float[2] scales = {2, 2}>\n"
#define QKV "(float[2,3,4,4] q, float[2,3,4,4] k, float[2,3,4,4] v) => (float[2,3,4,4] y)" TWO
#define QKVM                                                                                       \
    "(float[2,3,4,4] q, float[2,3,4,4] k, float[2,3,4,4] v, float[2,1,4,4] m)\n"                   \
    "=> (float[2,3,4,4] y)" TWO
#define SCORES "kt = Transpose <perm = [0, 1, 3, 2]> (k) s = MatMul (q, kt) a = Div (s, two) "

#define ROWS                                                                                       \
    "(float[4,4] x, float[4,4] z) => (float[4,4] y)\n"                                             \
    "<float[] one = {1}, float[] two = {2}, float[] half = {0.5}, float[] less = {-1},\n"          \
    " float[] root = {0.7071067811865476}, float[] eps = {0.001}>\n"
#define ERF "a = Mul (x, root) b = Erf (a) "
#define CENTRED "m = ReduceMean <axes = [-1]> (x) d = Sub (x, m) "
#define DEVIATION "q = Mul (d, d) v = ReduceMean <axes = [-1]> (q) e = Add (v, eps) s = Sqrt (e) "

typedef struct near_miss {
    const wg_op *op;
    size_t times; /* how often the import finds it */
    const char *name, *head, *nodes;
} near_miss;

static void only_what_is_spelled_out_is_one_op(void **state)
{
    (void)state;
    static const char path[] = "near_miss.onnx";
    const near_miss all[] = {
#include "tests/onnx/near_misses.def"
    };
    for (int i = 0; i < WG_COUNT(all); i++) {
        char text[2000];
        made m;
        made_begin(&m);
        snprintf(text, sizeof text, "%s{ %s }", all[i].head, all[i].nodes);
        ox_graph_proto *g = onnx_text(&m, text);
        g->output[0]->type = NULL; /* its sizes are not the point */
        onnx_write(g, 17, path);
        made_free(&m);
        wg_graph_free(check_spelled(path, all[i].name, all[i].op, all[i].times));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_is_spelled_out_is_one_op),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
