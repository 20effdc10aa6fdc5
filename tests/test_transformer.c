/* The Transformer: numbers of the paper and of other implementations, and what must not depend on what. */
#include "tests/plans.h"
#include "wengert.h"

static wg_transformer_config sized(const char *name, int64_t vocabulary)
{
    wg_transformer_config c = *wg_transformer_find(name);
    c.source_vocabulary = c.target_vocabulary = vocabulary;
    return c;
}

/* ---- counts of parameters -------------------------------------------------------------------- */

static int64_t count_parameters(const wg_graph *g)
{
    wg_value *w[1024];
    int64_t total = 0;
    size_t n = wg_graph_parameters(g, w, 1024);
    assert_in_range(n, 1, 1024);
    for (size_t i = 0; i < n; i++)
        total += wg_value_count(w[i]);
    return total;
}

static void counts_of_parameters(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t vocabulary, parameters, without_embedding;
    } known[] = {
        {"tiny", 9712, 2568192, 2568192 - 9712 * 128},
        {"base", 37000, 63082496, 44138496},
        {"big", 37000, 214245376, 176357376},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        wg_transformer_config c = sized(known[i].name, known[i].vocabulary);
        wg_graph *g = wg_graph_new();
        wg_transformer m = wg_transformer_begin(g, &c, true);
        wg_transformer_inputs in = wg_transformer_inputs_of(g, 2, 5, 7);
        wg_transformer_loss(&m, &in, NULL);
        check_that(wg_graph_status(g) == WG_OK, "%s", wg_graph_message(g));
        int64_t total = count_parameters(g);
        assert_int_equal(total, known[i].parameters);
        assert_int_equal(total - wg_value_count(m.source_embedding), known[i].without_embedding);
        wg_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_of_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
