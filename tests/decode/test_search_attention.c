/* Weights of attention by layer and head. */
#include "tests/searches.h"

#include <math.h>

/* The ways in which they are made: dot products, additive, windows, rotary positions. */
static wg_transformer_config variant(int i)
{
    wg_transformer_config c = small_config();
    switch (i) {
    case 0: c.heads = 4; break;
    case 1: c.attention = WG_ATTENTION_ADDITIVE; break;
    case 2: c.attention_window = 2; break;
    case 3: c.attention_window = 1, c.positions = WG_POSITIONS_ROTARY, c.pre_norm = true; break;
    default: return (wg_transformer_config){0};
    }
    return c;
}

/* What rows and columns are, where the future is hidden, and where a window hides more. */
static const struct place {
    const char *scope;
    bool source_rows, target_columns, self;
} places[] = {
    {"encoder/layer0", true, false, true},
    {"encoder/layer1/self_attn", true, false, true},
    {"decoder/layer0/self_attn", false, true, true},
    {"decoder/layer1/cross_attn", false, false, false},
    {"decoder/layer0", false, false, false},
    {NULL, false, false, false},
};

static bool sees(const wg_transformer_config *c, const struct place *p, size_t query, size_t key)
{
    int64_t apart = (int64_t)key - (int64_t)query, r = c->attention_window;
    return (!p->target_columns || apart <= 0) &&
           (!p->self || r == 0 || (-r <= apart && apart <= r));
}

/* Weights of a query add up to 1, and what it does not see has 0; how many are 0. */
static size_t check_weights(const wg_transformer_config *c, const struct place *p,
                            const wg_hypothesis *h)
{
    const size_t rows = h->attention_rows, columns = h->attention_columns;
    size_t hidden = 0;
    for (size_t i = 0; i < h->attention_maps * rows; i++) {
        double sum = 0;
        for (size_t k = 0; k < columns; k++) {
            float w = h->attention[i * columns + k];
            bool seen = sees(c, p, i % rows, k);
            assert_true(seen ? w >= 0 : w == 0);
            hidden += !seen;
            sum += w;
        }
        check_that(fabs(sum - 1) < 1e-5, "%s: a sum of %g", p->scope ? p->scope : "last", sum);
    }
    return hidden;
}

/* The mean of `each` is `mean`; how many numbers were compared. */
static size_t check_mean(const wg_hypothesis *each, const wg_hypothesis *mean)
{
    const size_t n = each->attention_rows * each->attention_columns;
    assert_true(mean->attention_maps == 1 && mean->attention_rows == each->attention_rows &&
                mean->attention_columns == each->attention_columns);
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t head = 0; head < each->attention_maps; head++)
            sum += each->attention[head * n + i];
        assert_true(fabs(sum / (double)each->attention_maps - mean->attention[i]) < 1e-6);
    }
    return n;
}

static void every_attention_can_be_seen(void **state)
{
    (void)state;
    size_t compared = 0, hidden = 0;
    for (int v = 0; variant(v).d_model; v++) {
        const wg_transformer_config c = variant(v);
        wg_store *store = random_parameters(&c, 13);
        const wg_search_model model = model_of(&c, store);
        wg_search *s = search_of(&model);
        sentences x;
        draw_sentences(&x, 5, 9, 40);
        for (int k = 0; k < WG_COUNT(places); k++) {
            const struct place *p = &places[k];
            wg_search_options o = {.max_length = 7, .attention = true, .attention_of = p->scope};
            wg_hypothesis *mean = translate(s, &x, &o);
            o.each_head = true;
            wg_hypothesis *each = translate(s, &x, &o);
            for (size_t i = 0; i < x.n; i++) {
                assert_true(each[i].n > 0);
                assert_int_equal(each[i].attention_maps, c.heads);
                assert_int_equal(each[i].attention_rows, p->source_rows ? x.length[i] : each[i].n);
                assert_int_equal(each[i].attention_columns,
                                 p->target_columns ? each[i].n : x.length[i]);
                hidden += check_weights(&c, p, &each[i]);
                compared += check_mean(&each[i], &mean[i]);
            }
            wg_hypotheses_free(mean, x.n);
            wg_hypotheses_free(each, x.n);
        }
        wg_search_free(s);
        wg_store_free(store);
    }
    assert_true(compared > 1000 && hidden > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_attention_can_be_seen)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
