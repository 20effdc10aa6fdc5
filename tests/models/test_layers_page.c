/* The examples of docs/layers.md and docs/recipes.md build and plan (tests/blocks.awk makes
 * functions of them). */
#include "tests/page.h"
#include "tests/test.h"

static void the_examples_of_the_pages_build(void **state)
{
    (void)state;
    int blocks = 0;
    for (; page_blocks[blocks]; blocks++) {
        wg_graph *g = wg_graph_new();
        wg_plan *p;
        page_blocks[blocks](g, wg_input(g, "x", WG_F32, WG_SHAPE(PAGE_B, PAGE_T, PAGE_D)),
                            wg_input(g, "image", WG_F32, WG_SHAPE(PAGE_B, 3, 12, 12)),
                            wg_input(g, "series", WG_F32, WG_SHAPE(PAGE_B, 3, 20)),
                            wg_input(g, "ids", WG_I64, WG_SHAPE(PAGE_B, PAGE_T)),
                            wg_input(g, "lengths", WG_I64, WG_SHAPE(PAGE_B)),
                            wg_input(g, "lr", WG_F32, WG_SCALAR));
        check_that(wg_graph_status(g) == WG_OK, "block %d: %s", blocks, wg_graph_message(g));
        wg_output(wg_graph_value(g, wg_graph_value_count(g) - 1), "last");
        check_that(wg_plan_create(&p, g, NULL) == WG_OK, "block %d: %s", blocks,
                   wg_graph_message(g));
        check_that(wg_plan_run(p, 0) == WG_OK, "block %d: %s", blocks, wg_plan_message(p));
        wg_plan_free(p);
        wg_graph_free(g);
    }
    assert_in_range(blocks, 10, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_examples_of_the_pages_build)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
