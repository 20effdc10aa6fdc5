/* The C blocks of the documents run: those that build in the graph of the page are planned and run,
 * and the others do what they say (tests/docs/blocks.awk makes functions of them, and
 * tests/CMakeLists.txt the table of pages). */
#include "tests/docs/page.h"
#include "tests/folder.h"
#include "tests/test.h"

extern const page_block *const pages[]; /* ended by NULL */

static void build_and_run(const page_block *b)
{
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(PAGE_B, PAGE_T, PAGE_D));
    wg_value *image = wg_input(g, "image", WG_F32, WG_SHAPE(PAGE_B, 3, 12, 12));
    wg_value *series = wg_input(g, "series", WG_F32, WG_SHAPE(PAGE_B, 3, 20));
    wg_value *ids = wg_input(g, "ids", WG_I64, WG_SHAPE(PAGE_B, PAGE_T));
    wg_value *lengths = wg_input(g, "lengths", WG_I64, WG_SHAPE(PAGE_B));
    wg_value *lr = wg_input(g, "lr", WG_F32, WG_SCALAR);
    wg_plan *p;
    check_that(b->function(g, x, image, series, ids, lengths, lr) == 0, "%s:%d fails", b->page,
               b->line);
    check_that(wg_graph_status(g) == WG_OK, "%s:%d: %s", b->page, b->line, wg_graph_message(g));
    wg_output(wg_graph_value(g, wg_graph_value_count(g) - 1), "last value of the page");
    check_that(wg_plan_create(&p, g, NULL) == WG_OK, "%s:%d: %s", b->page, b->line,
               wg_graph_message(g));
    check_that(wg_plan_run(p, 0) == WG_OK, "%s:%d: %s", b->page, b->line, wg_plan_message(p));
    wg_plan_free(p);
    wg_graph_free(g);
}

static void the_blocks_of_the_pages_run(void **state)
{
    (void)state;
    int compiled = 0, run = 0;
    assert_int_equal(chdir(folder), 0);
    for (int i = 0; pages[i]; i++)
        for (const page_block *b = pages[i]; b->function; b++, compiled++)
            if (b->run) {
                build_and_run(b);
                run++;
            }
    print_message("%d blocks compiled, %d of them run\n", compiled, run);
    assert_true(run >= 50);
}

/* Blocks make folders too. */
static int remove_all(void **state)
{
    (void)state;
    char command[80];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return chdir("/") || system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_blocks_of_the_pages_run)};
    return cmocka_run_group_tests(tests, make_folder, remove_all);
}
