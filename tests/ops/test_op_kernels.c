/* The reference kernel of every op, called without a plan. */
#include "tests/sample.h"
#include "wengert/backends/backend.h"

enum { GUARD = 64 };

typedef struct kernel_run {
    unsigned char *out[16]; /* GUARD bytes, the result, GUARD bytes */
    bool ran;
} kernel_run;

static void *aligned(size_t bytes)
{
    return aligned_alloc(64, (bytes + 127) / 64 * 64);
}

/* Runs the reference kernel of b's node; `in_place` is the operand that result 0 overwrites, or -1.
 */
static kernel_run run_kernel(const sample_graph *b, int threads, int in_place)
{
    kernel_run r = {{NULL}, false};
    const wg_backend *cpu = wg_cpu_backend();
    const wg_node *n = b->node;
    const void *in[WG_MAX_SAMPLE_OPERANDS];
    void *own[WG_MAX_SAMPLE_OPERANDS], *out[16], *backend = NULL;
    char message[WG_CALL_MESSAGE] = "";
    assert_int_equal(cpu->open(&backend, &(wg_backend_config){.threads = threads}), WG_OK);
    if (cpu->refuses(backend, n)) {
        cpu->close(backend);
        return r;
    }
    for (int i = 0; i < n->n_in; i++) {
        in[i] = own[i] = aligned(wg_value_bytes(n->in[i]));
        memcpy(own[i], b->data[i], wg_value_bytes(n->in[i]));
    }
    for (int i = 0; i < n->n_out; i++) {
        size_t bytes = wg_value_bytes(n->out[i]);
        r.out[i] = aligned(bytes + 2 * GUARD);
        memset(r.out[i], 0xa5, bytes + 2 * GUARD);
        out[i] = r.out[i] + GUARD;
    }
    if (in_place >= 0)
        out[0] = own[in_place];
    wg_kernel k = {0};
    assert_int_equal(cpu->prepare(backend, n, &k), WG_OK);
    void *scratch = aligned(k.scratch);
    wg_call call = {.node = n,
                    .in = in,
                    .out = out,
                    .state = k.state,
                    .scratch = scratch,
                    .threads = threads,
                    .seed = 9,
                    .step = 4,
                    .message = message};
    k.run(&call);
    check_that(call.status == WG_OK, "%s: %s", n->op->name, message);
    r.ran = true;
    if (in_place >= 0)
        memcpy(r.out[0] + GUARD, own[in_place], wg_value_bytes(n->out[0]));
    for (int i = 0; i < n->n_out; i++)
        for (int g = 0; g < GUARD; g++)
            check_that(r.out[i][g] == 0xa5 &&
                           r.out[i][GUARD + wg_value_bytes(n->out[i]) + (size_t)g] == 0xa5,
                       "%s writes outside result %d", n->op->name, i);
    for (int i = 0; i < n->n_in; i++) {
        if (i != in_place)
            check_that(memcmp(own[i], b->data[i], wg_value_bytes(n->in[i])) == 0,
                       "%s changes operand %d", n->op->name, i);
        free(own[i]);
    }
    free(scratch);
    if (cpu->finish)
        cpu->finish(backend, &k);
    cpu->close(backend);
    return r;
}

static void free_run(kernel_run *r)
{
    for (int i = 0; i < 16; i++)
        free(r->out[i]);
}

static void check_same_bits(const sample_graph *b, const kernel_run *a, const kernel_run *c,
                            const char *what)
{
    for (int i = 0; i < b->node->n_out; i++)
        check_that(memcmp(a->out[i] + GUARD, c->out[i] + GUARD, wg_value_bytes(b->node->out[i])) ==
                       0,
                   "%s: result %d differs %s", b->node->op->name, i, what);
}

static void kernels_of_f32_and_f64_agree(void **state)
{
    (void)state;
    int compared = 0;
    int64_t elements = 0;
    FOR_EACH_SAMPLE(op, s)
    {
        sample_graph wide = sample_build(op, s, WG_F64, 1), narrow = sample_build(op, s, WG_F32, 1);
        if (wide.node && narrow.node) {
            kernel_run a = run_kernel(&narrow, 1, -1), b = run_kernel(&wide, 1, -1);
            check_that(a.ran == b.ran, "%s has a kernel for one float only", op->name);
            for (int i = 0; a.ran && i < wide.node->n_out; i++) {
                const wg_value *x = narrow.node->out[i], *y = wide.node->out[i];
                double d = sample_distance(a.out[i] + GUARD, x->dtype, b.out[i] + GUARD, y->dtype,
                                           wg_value_count(y));
                check_that(d <= 1e-5, "%s, %s: result %d of f32 and f64 differ by %g", op->name,
                           sample_name(s), i, d);
                elements += wg_value_count(y);
            }
            compared += a.ran;
            free_run(&a);
            free_run(&b);
        }
        sample_free(&wide);
        sample_free(&narrow);
    }
    print_message("%lld elements of %d samples\n", (long long)elements, compared);
    assert_true(compared > 40 && elements > 400);
}

static void in_place_gives_the_same_bits(void **state)
{
    (void)state;
    int compared = 0;
    FOR_EACH_SAMPLE(op, s)
    {
        for (wg_dtype real = WG_F32; real <= WG_F64; real++) {
            sample_graph b = sample_build(op, s, real, 1);
            kernel_run apart = b.node ? run_kernel(&b, 1, -1) : (kernel_run){{NULL}, false};
            for (int i = 0; apart.ran && i < b.n_in; i++)
                if (op->inplace >> i & 1 &&
                    wg_value_bytes(b.node->in[i]) == wg_value_bytes(b.node->out[0])) {
                    kernel_run over = run_kernel(&b, 1, i);
                    check_same_bits(&b, &apart, &over, "in place");
                    free_run(&over);
                    compared++;
                }
            free_run(&apart);
            sample_free(&b);
        }
    }
    print_message("%d in-place runs\n", compared);
    assert_true(compared > 20);
}

/* Moves every float operand by about 1e-9 of its size; returns how many elements moved. */
static int64_t nudge(sample_graph *b, uint64_t *state)
{
    int64_t moved = 0;
    for (int i = 0; i < b->n_in; i++)
        for (int64_t k = 0; b->in[i]->dtype == WG_F64 && k < wg_value_count(b->in[i]); k++) {
            double *x = (double *)b->data[i] + k, before = *x;
            *x += (wgi_splitmix64(state) >> 63 ? 1e-9 : -1e-9) * (before != 0 ? before : 1);
            moved += *x != before;
        }
    return moved;
}

/* Gradient rules of discrete ops are never asked: the gradient check takes the zeros for granted.
 * stop_gradient, a view without a kernel, is discrete by decree. */
static void results_of_discrete_ops_are_locally_constant(void **state)
{
    (void)state;
    int compared = 0;
    FOR_EACH_SAMPLE(op, s)
    {
        if (!(op->flags & WG_OP_DISCRETE) || op->flags & WG_OP_VIEW)
            continue;
        sample_graph b = sample_build(op, s, WG_F64, 1);
        kernel_run here = b.node ? run_kernel(&b, 1, -1) : (kernel_run){{NULL}, false};
        uint64_t seed = 7;
        for (int times = 0; here.ran && times < 8 && nudge(&b, &seed); times++, compared++) {
            kernel_run there = run_kernel(&b, 1, -1);
            check_same_bits(&b, &here, &there, "close by, though the op is discrete");
            free_run(&there);
        }
        free_run(&here);
        sample_free(&b);
    }
    print_message("%d nudges\n", compared);
    assert_true(compared > 100);
}

static double bytes_of(const wg_node *n) /* views count here, unlike in wg_node_bytes */
{
    double bytes = 0;
    for (int i = 0; i < n->n_in; i++)
        bytes += (double)wg_value_bytes(n->in[i]);
    for (int i = 0; i < n->n_out; i++)
        bytes += (double)wg_value_bytes(n->out[i]);
    return bytes;
}

/* Samples are too small for several threads, so all sizes are multiplied, as far as the shape rule
 * allows. */
static int64_t enlargement(const wg_op *op, const wg_sample *s)
{
    int64_t times = 1;
    for (int64_t next = 2; next <= 4096; next *= 2) {
        sample_graph t = sample_shapes(op, s, WG_F32, next);
        bool fits = t.node && bytes_of(t.node) < 1e6 && wg_node_flops(t.node) < 1e7;
        sample_free(&t);
        if (!fits)
            break;
        times = next;
    }
    return times;
}

static uint64_t bits_of(const sample_graph *b, const kernel_run *r)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (int i = 0; i < b->node->n_out; i++)
        for (size_t k = 0, bytes = wg_value_bytes(b->node->out[i]); k < bytes; k++)
            h = (h ^ r->out[i][GUARD + k]) * UINT64_C(0x100000001b3);
    return h;
}

/* All samples at one number of threads before the next: OpenMP starts new threads when the number
 * changes. */
static void results_do_not_depend_on_the_number_of_threads(void **state)
{
    (void)state;
    enum { MAX = 4096 };
    uint64_t *bits = calloc(MAX, sizeof *bits);
    int compared = 0, large = 0;
    for (int threads = 1; threads <= 4; threads *= 2) {
        int place = 0;
        FOR_EACH_SAMPLE(op, s)
        {
            sample_graph b =
                sample_build(op, s, WG_F32, enlargement(op, s)); /* f64 is the same source */
            kernel_run r = b.node ? run_kernel(&b, threads, -1) : (kernel_run){{NULL}, false};
            assert_true(place < MAX);
            if (r.ran && threads == 1) {
                bits[place] = bits_of(&b, &r);
            } else if (r.ran) {
                check_that(bits[place] == bits_of(&b, &r), "%s, %s: other bits with %d threads",
                           op->name, sample_name(s), threads);
                compared++;
                large += bytes_of(b.node) > 1 << 17;
            }
            place++;
            free_run(&r);
            sample_free(&b);
        }
    }
    free(bits);
    print_message("%d comparisons, %d of them of large samples\n", compared, large);
    assert_true(compared > 80 && large > 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_of_f32_and_f64_agree),
        cmocka_unit_test(in_place_gives_the_same_bits),
        cmocka_unit_test(results_of_discrete_ops_are_locally_constant),
        cmocka_unit_test(results_do_not_depend_on_the_number_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
