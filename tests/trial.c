#include "tests/trial.h"

trial trial_new(void)
{
    trial t = {.g = wg_graph_new(), .seed = 1};
    assert_non_null(t.g);
    return t;
}

double trial_draw(trial *t, double lo, double hi)
{
    t->seed = t->seed * 6364136223846793005u + 1442695040888963407u;
    return lo + (double)(int64_t)((double)(t->seed >> 33) / 2147483648.0 * (hi - lo));
}

wg_value *trial_input_in(trial *t, wg_dtype dtype, wg_shape shape, double lo, double hi)
{
    assert_true(t->n < TRIAL_INPUTS);
    char name[16];
    snprintf(name, sizeof name, "x%d", t->n);
    wg_value *x = wg_input(t->g, name, dtype, shape);
    check_that(x != NULL, "%s", wg_graph_message(t->g));
    int64_t count = wg_shape_count(&shape);
    t->x[t->n] = x;
    t->data[t->n] = calloc((size_t)count + 1, sizeof(double));
    assert_non_null(t->data[t->n]);
    for (int64_t i = 0; i < count; i++)
        t->data[t->n][i] = trial_draw(t, lo, hi);
    t->n++;
    return x;
}

wg_value *trial_input(trial *t, wg_dtype dtype, wg_shape shape)
{
    double lo = dtype == WG_BOOL || dtype == WG_U8 ? 0 : -4;
    return trial_input_in(t, dtype, shape, lo, dtype == WG_BOOL ? 2 : lo + 9);
}

double *trial_data(const trial *t, const wg_value *x)
{
    for (int i = 0; i < t->n; i++)
        if (t->x[i] == x)
            return t->data[i];
    fail_msg("not an input of the trial");
    return NULL;
}

wg_status trial_try(trial *t, wg_value *const *y, size_t n, int threads)
{
    wg_plan_options options = {
        .outputs = y, .n_outputs = n, .threads = threads, .reference = t->reference};
    wg_plan_free(t->p);
    check_that(wg_graph_status(t->g) == WG_OK, "%s", wg_graph_message(t->g));
    check_that(wg_plan_create(&t->p, t->g, &options) == WG_OK, "%s", wg_graph_message(t->g));
    for (int i = 0; i < t->n; i++)
        for (int64_t k = 0; k < wg_value_count(t->x[i]); k++)
            wgi_put_element(wg_plan_data(t->p, t->x[i]), t->x[i]->dtype, k, t->data[i][k]);
    return wg_plan_run(t->p, 0);
}

void trial_run(trial *t, wg_value *const *y, size_t n, int threads)
{
    check_that(trial_try(t, y, n, threads) == WG_OK, "%s", wg_plan_message(t->p));
}

double trial_at(const trial *t, const wg_value *y, int64_t i)
{
    return wgi_get_element(wg_plan_data(t->p, y), y->dtype, i);
}

void trial_expect(trial *t, const char *what, const wg_value *y, int64_t i, double expected)
{
    check_that(trial_at(t, y, i) == expected, "%s: element %lld of %s is %.17g, expected %.17g",
               what, (long long)i, wg_dtype_name(y->dtype), trial_at(t, y, i), expected);
    t->compared++;
}

void trial_end(trial *t, int64_t min)
{
    check_that(t->compared >= min, "%lld elements compared, not %lld", (long long)t->compared,
               (long long)min);
    wg_plan_free(t->p);
    wg_graph_free(t->g);
    for (int i = 0; i < t->n; i++)
        free(t->data[i]);
}

bool trial_next(const wg_shape *s, int64_t *index)
{
    for (int k = s->rank - 1; k >= 0; k--) {
        if (++index[k] < s->dim[k])
            return true;
        index[k] = 0;
    }
    return false;
}

int64_t trial_offset(const wg_shape *s, const int64_t *index)
{
    int64_t at = 0;
    for (int k = 0; k < s->rank; k++)
        at = at * s->dim[k] + (s->dim[k] == 1 ? 0 : index[k]);
    return at;
}

void trial_expect_message(const char *message, wg_value *y, wg_graph *g)
{
    assert_null(y);
    check_that(strncmp(wg_graph_message(g), message, strlen(message)) == 0,
               "\"%s\" instead of \"%s\"", wg_graph_message(g), message);
    wg_graph_free(g);
}
