/* Ranks that are threads: sums have the bits of the tree, in whatever order messages and buckets
 * come; what else ranks exchange; who is silent is given up. */
#include "distributed/tree_sum.h"
#include "tests/distributed/local.h"
#include "tests/plans.h"
#include "wengert/autograd/grad.h"
#include "wengert/autograd/vmap.h"
#include "wengert/graph/half.h"
#include "wengert/ops/ops.h"

#include <math.h>
#include <sys/wait.h>

/* ---- the tree -------------------------------------------------------------------------------- */

static double tree_of(const double *x, int n)
{
    int m = 1;
    if (n == 1)
        return x[0];
    while (2 * m < n)
        m *= 2;
    return tree_of(x, m) + tree_of(x + m, n - m);
}

static float tree_of_floats(const float *x, int n)
{
    int m = 1;
    if (n == 1)
        return x[0];
    while (2 * m < n)
        m *= 2;
    return tree_of_floats(x, m) + tree_of_floats(x + m, n - m);
}

static float number(uint32_t *s)
{
    *s = *s * 1664525 + 1013904223;
    return ((float)(*s >> 8) / (1 << 23) - 1) * powf(10, (float)(*s >> 5 & 7) - 3);
}

static void sums_are_those_of_the_tree(void **state)
{
    enum { MOST = 13, COUNT = 600 };
    static float f[MOST][COUNT], sum[COUNT];
    static double d[MOST][COUNT], wide[COUNT];
    uint32_t s = 1;
    int compared = 0;
    (void)state;
    for (int n = 1; n <= MOST; n++) {
        const void *x[MOST], *y[MOST];
        for (int r = 0; r < n; r++) {
            for (int i = 0; i < COUNT; i++)
                d[r][i] = f[r][i] = number(&s);
            x[r] = f[r];
            y[r] = d[r];
        }
        wgi_tree_sum(WG_F32, sum, x, n, COUNT);
        wgi_tree_sum(WG_F64, wide, y, n, COUNT);
        for (int i = 0; i < COUNT; i++, compared++) {
            float of[MOST];
            double wide_of[MOST];
            for (int r = 0; r < n; r++) {
                of[r] = f[r][i];
                wide_of[r] = d[r][i];
            }
            assert_true(sum[i] == tree_of_floats(of, n));
            assert_true(wide[i] == tree_of(wide_of, n));
        }
        wgi_tree_sum(WG_F32, f[n / 2], x, n, COUNT); /* over one of the operands */
        assert_memory_equal(f[n / 2], sum, sizeof sum);
    }
    assert_int_equal(compared, MOST * COUNT);
}

/* Of numbers that were rounded to bf16, in f32, and rounded once. */
static void sums_of_bf16_are_added_in_f32(void **state)
{
    enum { MOST = 9, COUNT = 300 };
    static uint16_t b[MOST][COUNT], sum[COUNT];
    uint32_t s = 3;
    int compared = 0, other = 0;
    (void)state;
    for (int n = 1; n <= MOST; n++) {
        const void *x[MOST];
        for (int r = 0; r < n; r++) {
            for (int i = 0; i < COUNT; i++)
                b[r][i] = wg_bf16_from_f32(number(&s));
            x[r] = b[r];
        }
        wgi_tree_sum(WG_BF16, sum, x, n, COUNT);
        for (int i = 0; i < COUNT; i++, compared++) {
            float of[MOST], chain = 0;
            for (int r = 0; r < n; r++) {
                of[r] = wg_bf16_to_f32(b[r][i]);
                chain = wg_bf16_to_f32(wg_bf16_from_f32(chain + of[r]));
            }
            assert_true(sum[i] == wg_bf16_from_f32(tree_of_floats(of, n)));
            other += chain != wg_bf16_to_f32(sum[i]); /* sums in bf16 are others */
        }
    }
    assert_int_equal(compared, MOST * COUNT);
    assert_true(other > COUNT);
}

/* ---- sums in plans --------------------------------------------------------------------------- */

enum { TENSORS = 4 };
static const int sizes[TENSORS] = {700, 1, 0, 33};

static float element(int rank, int tensor, int i, int run)
{
    uint32_t s = (uint32_t)(rank * 7919 + tensor * 104729 + i * 31 + run * 17 + 5);
    number(&s);
    return number(&s);
}

/* Two buckets, begun in an order that depends on the rank, with a product between them. */
typedef struct sums {
    wg_graph *g;
    wg_value *x[TENSORS], *y[TENSORS];
} sums;

static sums build_sums(int rank)
{
    sums s = {.g = wg_graph_new()};
    char name[8];
    for (int k = 0; k < TENSORS; k++) {
        snprintf(name, sizeof name, "x%d", k);
        s.x[k] = wg_input(s.g, name, WG_F32, WG_SHAPE(sizes[k]));
    }
    for (int b = 0; b < 2; b++) {
        int bucket = (b + rank) % 2;
        wg_value *scaled[] = {wg_scale(s.x[2 * bucket], 2), wg_scale(s.x[2 * bucket + 1], 2)};
        wg_all_reduce(scaled, 2, bucket, s.y + (ptrdiff_t)2 * bucket);
    }
    for (int k = 0; k < TENSORS; k++)
        wg_output(s.y[k], NULL);
    return s;
}

static void fill_and_compare(wg_ranks *r, const sums *s, wg_plan *p, int run)
{
    const int n = wg_ranks_count(r), me = wg_ranks_rank(r);
    int compared = 0;
    for (int k = 0; k < TENSORS; k++)
        for (int i = 0; i < sizes[k]; i++)
            ((float *)wg_plan_data(p, s->x[k]))[i] = element(me, k, i, run);
    insist(wg_plan_run(p, 0) == WG_OK, "%s", wg_plan_message(p));
    for (int k = 0; k < TENSORS; k++)
        for (int i = 0; i < sizes[k]; i++, compared++) {
            float of[LOCAL_MOST];
            for (int q = 0; q < n; q++)
                of[q] = element(q, k, i, run) * 2;
            float want = tree_of_floats(of, n), got = ((float *)wg_plan_data(p, s->y[k]))[i];
            insist(got == want, "rank %d of %d, tensor %d, element %d: %a, expected %a", me, n, k,
                   i, (double)got, (double)want);
        }
    insist(compared == 734, "%d compared", compared);
}

static void sum_in_plans(wg_ranks *r, void *context)
{
    (void)context;
    wg_backend_list list = wg_ranks_backends(r);
    for (int poison = 0; poison < 2; poison++) {
        sums s = build_sums(wg_ranks_rank(r));
        wg_plan *p;
        wg_status status = wg_plan_create(&p, s.g,
                                          &(wg_plan_options){.backends = list.backend,
                                                             .n_backends = list.count,
                                                             .threads = 1,
                                                             .poison = poison});
        insist(status == WG_OK, "%s", wg_graph_message(s.g));
        insist(wg_plan_check(p) == WG_OK, "%s", wg_plan_message(p));
        for (int run = 0; run < 10; run++)
            fill_and_compare(r, &s, p, run);
        wg_plan_free(p);
        wg_graph_free(s.g);
    }
}

/* x becomes the sum over ranks of x rounded to bf16, rounded; alone it stays as it is. */
static void sum_rounded(wg_ranks *r, void *context)
{
    const int n = wg_ranks_count(r), me = wg_ranks_rank(r);
    wg_backend_list list = wg_ranks_backends(r);
    wg_graph *g = wg_graph_new();
    wg_value *x[2], *y[2];
    wg_plan *p;
    int compared = 0;
    (void)context;
    for (int k = 0; k < 2; k++)
        y[k] = x[k] = wg_input(g, k ? "b" : "a", WG_F32, WG_SHAPE(sizes[k]));
    int64_t next = wg_all_reduce_gradients(
        y, 2, &(wg_reduce_options){.bucket_bytes = 1 << 20, .wire = WG_BF16});
    insist(next == 2, "%d buckets", (int)next - 1);
    for (int k = 0; k < 2; k++)
        wg_output(y[k], NULL);
    wg_status status = wg_plan_create(
        &p, g, &(wg_plan_options){.backends = list.backend, .n_backends = list.count});
    insist(status == WG_OK, "%s", wg_graph_message(g));
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < sizes[k]; i++)
            ((float *)wg_plan_data(p, x[k]))[i] = element(me, k, i, 0);
    insist(wg_plan_run(p, 0) == WG_OK, "%s", wg_plan_message(p));
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < sizes[k]; i++, compared++) {
            float of[LOCAL_MOST], got = ((float *)wg_plan_data(p, y[k]))[i];
            for (int q = 0; q < n; q++)
                of[q] = wg_bf16_to_f32(wg_bf16_from_f32(element(q, k, i, 0)));
            float want = n == 1 ? element(0, k, i, 0)
                                : wg_bf16_to_f32(wg_bf16_from_f32(tree_of_floats(of, n)));
            insist(got == want, "rank %d of %d, element %d: %a, expected %a", me, n, i, (double)got,
                   (double)want);
        }
    insist(compared == 701, "%d compared", compared);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void messages_may_be_bf16(void **state)
{
    (void)state;
    for (int n = 1; n <= 4; n++) {
        local_world *w = local_world_new(n);
        local_run(w, 0, sum_rounded, NULL);
        local_world_free(w);
    }
}

static void plans_sum_over_ranks(void **state)
{
    (void)state;
    for (int n = 1; n <= 5; n++) {
        local_world *w = local_world_new(n);
        local_run(w, 0, sum_in_plans, NULL);
        local_world_free(w);
    }
}

/* The loss is the sum over ranks of c_r y^2 with y = sum over ranks of x_r, so
 * dx_r = sum over ranks of 2 c_r y. */
static void differentiate(wg_ranks *r, void *context)
{
    const int n = wg_ranks_count(r), me = wg_ranks_rank(r);
    wg_backend_list list = wg_ranks_backends(r);
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(3)), *y, *dx = NULL;
    wg_plan *p;
    double sum[3] = {0}, factors = 0;
    (void)context;
    wg_all_reduce(&x, 1, 3, &y);
    wg_value *loss = wg_sum(wg_scale(wg_square(y), me + 1), WG_ALL_AXES, WG_DROP);
    insist(wg_grad(loss, &x, 1, &dx) == WG_OK, "%s", wg_graph_message(g));
    wg_output(dx, "dx");
    insist(wg_plan_create(&p, g,
                          &(wg_plan_options){.backends = list.backend, .n_backends = list.count}) ==
               WG_OK,
           "%s", wg_graph_message(g));
    for (int q = 0; q < n; q++) {
        factors += 2 * (q + 1);
        for (int i = 0; i < 3; i++)
            sum[i] += 0.1 * i - 0.3 * q;
    }
    for (int i = 0; i < 3; i++)
        ((double *)wg_plan_data(p, x))[i] = 0.1 * i - 0.3 * me;
    insist(wg_plan_run(p, 0) == WG_OK, "%s", wg_plan_message(p));
    for (int i = 0; i < 3; i++)
        insist(fabs(((double *)wg_plan_data(p, dx))[i] - factors * sum[i]) <= 1e-12, "dx[%d]", i);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void the_gradient_is_a_sum_over_ranks(void **state)
{
    (void)state;
    for (int n = 1; n <= 3; n++) {
        local_world *w = local_world_new(n);
        local_run(w, 0, differentiate, NULL);
        local_world_free(w);
    }
}

/* For a batch of x there is one sum, of all its rows. */
static void sum_a_batch(wg_ranks *r, void *context)
{
    enum { K = 4, COUNT = 3 };
    const int n = wg_ranks_count(r), me = wg_ranks_rank(r);
    wg_backend_list list = wg_ranks_backends(r);
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(COUNT)), *y, *yb;
    wg_value *xb = wg_input(g, "xb", WG_F64, WG_SHAPE(K, COUNT));
    wg_plan *p;
    (void)context;
    wg_all_reduce(&x, 1, 3, &y);
    y = wg_square(y);
    insist(wg_vmap(&y, 1, &x, &xb, 1, &yb) == WG_OK, "%s", wg_graph_message(g));
    wg_output(yb, "yb");
    insist(wg_plan_create(&p, g,
                          &(wg_plan_options){.backends = list.backend, .n_backends = list.count}) ==
               WG_OK,
           "%s", wg_graph_message(g));
    for (int i = 0; i < K * COUNT; i++)
        ((double *)wg_plan_data(p, xb))[i] = i + 100 * me;
    insist(wg_plan_run(p, 0) == WG_OK, "%s", wg_plan_message(p));
    for (int i = 0; i < K * COUNT; i++) {
        const double sum = n * i + 50 * n * (n - 1);
        insist(((double *)wg_plan_data(p, yb))[i] == sum * sum, "yb[%d]", i);
    }
    wg_plan_free(p);
    wg_graph_free(g);
}

static void a_batch_has_one_sum(void **state)
{
    local_world *w = local_world_new(3);
    (void)state;
    local_run(w, 0, sum_a_batch, NULL);
    local_world_free(w);
}

/* Two sums of one bucket at once would mix their messages. */
static void repeat_a_bucket(wg_ranks *r, void *context)
{
    wg_backend_list list = wg_ranks_backends(r);
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(3)), *y[2], *both[2] = {x, wg_neg(x)};
    wg_plan *p;
    (void)context;
    wg_all_reduce(both, 1, 3, y);
    wg_all_reduce(both + 1, 1, 3, y + 1);
    wg_output(wg_add(y[0], y[1]), NULL);
    insist(wg_plan_create(&p, g,
                          &(wg_plan_options){.backends = list.backend, .n_backends = list.count}) ==
               WG_OK,
           "%s", wg_graph_message(g));
    memset(wg_plan_data(p, x), 0, 3 * sizeof(float));
    insist(wg_plan_run(p, 0) == WG_EDATA, "two sums of one bucket");
    insist(strstr(wg_plan_message(p), "a sum of bucket 3 is under way already"), "%s",
           wg_plan_message(p));
    wg_plan_free(p);
    wg_graph_free(g);
}

static void a_bucket_has_one_sum(void **state)
{
    local_world *w = local_world_new(2);
    (void)state;
    local_run(w, 0, repeat_a_bucket, NULL);
    local_world_free(w);
}

/* ---- what else is exchanged ------------------------------------------------------------------ */

static void exchange(wg_ranks *r, void *context)
{
    const int n = wg_ranks_count(r), me = wg_ranks_rank(r);
    int all[LOCAL_MOST] = {0}, own = 10 * me + 1;
    double x[2] = {me, 0.5};
    char text[20];
    wg_error error = {.text = ""};
    (void)context;
    wg_ranks_gather(r, &own, sizeof own, all);
    for (int q = 0; q < n; q++)
        insist(all[q] == 10 * q + 1, "gathered %d of rank %d", all[q], q);
    for (int root = 0; root < n; root++) {
        snprintf(text, sizeof text, "from %d", me);
        wg_ranks_broadcast(r, text, sizeof text, root);
        insist(atoi(text + 5) == root, "%s", text);
    }
    insist(wg_ranks_sum(r, x, 2, &error) == WG_OK, "%s", error.text);
    insist(x[0] == n * (n - 1) / 2.0 && x[1] == 0.5 * n, "sums %g, %g", x[0], x[1]);
    insist(wg_ranks_agree(r, WG_OK, &error) == WG_OK, "%s", error.text);
    if (me == n - 1)
        snprintf(error.text, sizeof error.text, "no more paper");
    wg_status status = wg_ranks_agree(r, me == n - 1 ? WG_EIO : WG_OK, &error);
    insist(status == WG_EIO && error.status == WG_EIO, "status %d", (int)status);
    insist(strncmp(error.text, wg_ranks_name(r, n - 1), strlen(wg_ranks_name(r, n - 1))) == 0 &&
               strstr(error.text, ": no more paper"),
           "%s", error.text);
}

/* Parts of three arrays, one of which may be empty, as may be parts. */
static void share(wg_ranks *r, void *context)
{
    enum { BYTES = 11 };
    const int n = wg_ranks_count(r), me = wg_ranks_rank(r);
    char a[5], b[1], c[6];
    void *const data[] = {a, b, c};
    const size_t bytes[] = {5, 0, 6};
    size_t cut[LOCAL_MOST + 1];
    char *const all[BYTES] = {a, a + 1, a + 2, a + 3, a + 4, c, c + 1, c + 2, c + 3, c + 4, c + 5};
    wg_error error;
    (void)context;
    for (int q = 0; q <= n; q++) /* rank 1 has nothing where there are three */
        cut[q] = q == n ? BYTES : n == 3 && q == 2 ? 7 : (size_t)(q ? 5 + 2 * q : 0);
    for (int i = 0; i < BYTES; i++)
        *all[i] = (size_t)i >= cut[me] && (size_t)i < cut[me + 1] ? (char)(10 * me + i) : 99;
    insist(wg_ranks_share(r, data, bytes, 3, cut, &error) == WG_OK, "%s", error.text);
    for (int i = 0; i < BYTES; i++) {
        int q = 0;
        while (cut[q + 1] <= (size_t)i)
            q++;
        insist(*all[i] == 10 * q + i, "rank %d of %d: byte %d is %d", me, n, i, *all[i]);
    }
}

static void ranks_share_their_parts(void **state)
{
    (void)state;
    for (int n = 1; n <= 4; n++) {
        local_world *w = local_world_new(n);
        local_run(w, 0, share, NULL);
        local_world_free(w);
    }
}

static void ranks_exchange_numbers(void **state)
{
    (void)state;
    for (int n = 1; n <= 4; n++) {
        local_world *w = local_world_new(n);
        local_run(w, 0, exchange, NULL);
        local_world_free(w);
    }
}

/* ---- silence --------------------------------------------------------------------------------- */

static void fall_silent(wg_ranks *r, void *context)
{
    int all[LOCAL_MOST], own = 0;
    wg_ranks_doing(r, "step %d of a test", wg_ranks_rank(r) + 4);
    local_sleep(150);
    if (wg_ranks_rank(r) == 1)
        local_world_silence(context, 1);
    wg_ranks_gather(r, &own, sizeof own, all);
}

/* The text that a child writes to standard error while it runs two ranks of which one falls
 * silent; *code is how it ends. */
static void silent_child(char *text, size_t size, int *code)
{
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        local_world *w = local_world_new(3);
        local_run(w, 0.5, fall_silent, w);
        _exit(0);
    }
    close(ends[1]);
    size_t n = 0;
    for (ssize_t more; (more = read(ends[0], text + n, size - 1 - n)) > 0;)
        n += (size_t)more;
    text[n] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void a_silent_rank_ends_the_job(void **state)
{
    char text[2000];
    int code;
    (void)state;
    silent_child(text, sizeof text, &code);
    check_that(code == LOCAL_ENDED, "exit code %d: %s", code, text);
    check_that(strstr(text, "nothing was heard of rank 1 (") && strstr(text, "step 5 of a test"),
               "%s", text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_silent_rank_ends_the_job), /* forks: before there are threads */
        cmocka_unit_test(sums_are_those_of_the_tree),
        cmocka_unit_test(plans_sum_over_ranks),
        cmocka_unit_test(the_gradient_is_a_sum_over_ranks),
        cmocka_unit_test(a_bucket_has_one_sum),
        cmocka_unit_test(a_batch_has_one_sum),
        cmocka_unit_test(ranks_exchange_numbers),
        cmocka_unit_test(ranks_share_their_parts),
        cmocka_unit_test(sums_of_bf16_are_added_in_f32),
        cmocka_unit_test(messages_may_be_bf16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
