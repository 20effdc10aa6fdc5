/* A plan among threads and processes: a second run at the same time is turned away, and a child
 * after fork goes on with teams of its own. */
#include "tests/test.h"
#include "wengert/backends/plan.h"
#include "wengert/ops/ops.h"

#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- a run that waits ------------------------------------------------------------------------ */

static sem_t begun, go_on;

static void wait_for_the_other(wg_call *c)
{
    sem_post(&begun);
    sem_wait(&go_on);
    memset(c->out[0], 0, wg_value_bytes(c->node->out[0]));
}

static wg_status prepare(void *state, const wg_node *n, wg_kernel *k)
{
    (void)state, (void)n;
    *k = (wg_kernel){.name = "waits", .run = wait_for_the_other};
    return WG_OK;
}

static const char *refuses(void *state, const wg_node *n)
{
    (void)state;
    return strcmp(n->op->name, "tanh") == 0 ? NULL : "no tanh";
}

static void *run_in_thread(void *plan)
{
    static wg_status status;
    status = wg_plan_run(plan, 0);
    return &status;
}

static void a_plan_that_is_running_refuses_a_second_run(void **state)
{
    (void)state;
    const wg_backend waits = {.abi = WG_BACKEND_ABI,
                              .name = "waits",
                              .reproducible = WG_ANY_THREADS,
                              .refuses = refuses,
                              .prepare = prepare};
    const wg_backend *only = &waits;
    wg_graph *g = wg_graph_new();
    wg_output(wg_tanh(wg_parameter(g, "x", WG_F32, WG_SHAPE(8), wg_ones())), "y");
    wg_plan *p;
    wg_plan_options o = {.threads = 1, .backends = &only, .n_backends = 1};
    assert_int_equal(wg_plan_create(&p, g, &o), WG_OK);
    sem_init(&begun, 0, 0);
    sem_init(&go_on, 0, 0);
    for (int i = 0; i < 3; i++) {
        pthread_t other;
        void *status;
        assert_int_equal(pthread_create(&other, NULL, run_in_thread, p), 0);
        sem_wait(&begun);
        assert_int_equal(wg_plan_run(p, 0), WG_EINVAL);
        assert_non_null(strstr(wg_plan_message(p), "was running in another thread"));
        sem_post(&go_on);
        assert_int_equal(pthread_join(other, &status), 0);
        assert_int_equal(*(wg_status *)status, WG_OK);
    }
    sem_post(&go_on);
    assert_int_equal(wg_plan_run(p, 0), WG_OK);
    assert_string_equal(wg_plan_message(p), "");
    sem_destroy(&begun);
    sem_destroy(&go_on);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* ---- after a fork ---------------------------------------------------------------------------- */

enum { SIZE = 512 }; /* large enough for every kernel to share out its work */

static wg_plan *product(wg_graph **g, wg_value **y)
{
    wg_plan *p;
    *g = wg_graph_new();
    wg_value *x = wg_parameter(*g, "x", WG_F32, WG_SHAPE(SIZE, SIZE), wg_normal_init(1));
    *y = wg_output(wg_softmax(wg_matmul(x, wg_tanh(x)), -1), "y");
    check_that(wg_plan_create(&p, *g, &(wg_plan_options){.threads = 2, .seed = 3}) == WG_OK, "%s",
               wg_graph_message(*g));
    return p;
}

/* In the child: the plan of the parent, and one made here, have the parent's bits. */
static bool same_in_child(wg_plan *p, const wg_value *y, const float *expected)
{
    const size_t bytes = sizeof(float) * SIZE * SIZE;
    wg_graph *g;
    wg_value *mine;
    alarm(60); /* instead of waiting for ever */
    bool same = wg_plan_run(p, 0) == WG_OK && memcmp(wg_plan_f32(p, y), expected, bytes) == 0;
    wg_plan *q = product(&g, &mine);
    same = same && wg_plan_run(q, 0) == WG_OK && memcmp(wg_plan_f32(q, mine), expected, bytes) == 0;
    wg_plan_free(q);
    wg_graph_free(g);
    return same;
}

static void a_child_goes_on_with_threads_of_its_own(void **state)
{
    (void)state;
    wg_graph *g;
    wg_value *y;
    wg_plan *p = product(&g, &y);
    assert_int_equal(wg_plan_run(p, 0), WG_OK);
    float *expected = malloc(sizeof(float) * SIZE * SIZE);
    assert_non_null(expected);
    memcpy(expected, wg_plan_f32(p, y), sizeof(float) * SIZE * SIZE);
    for (int i = 0; i < 3; i++) {
        int status;
        pid_t child = fork();
        if (child == 0)
            _exit(same_in_child(p, y, expected) ? 0 : 1);
        assert_int_equal(waitpid(child, &status, 0), child);
        check_that(status == 0, "child %d ended with %x", i, (unsigned)status);
        assert_int_equal(wg_plan_run(p, 0), WG_OK); /* and so does the parent */
        assert_memory_equal(wg_plan_f32(p, y), expected, sizeof(float) * SIZE * SIZE);
    }
    free(expected);
    wg_plan_free(p);
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_that_is_running_refuses_a_second_run),
        cmocka_unit_test(a_child_goes_on_with_threads_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
