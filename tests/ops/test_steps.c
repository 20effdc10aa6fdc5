/* The steps of a fused_elementwise as text: what is written is read, and nothing else. */
#include "graph/random.h"
#include "ops/steps.h"
#include "tests/test.h"
#include "wengert/ops/fused.h"
#include "wengert/ops/table.h"

#include <math.h>
#include <string.h>

static void steps_are_read_as_they_are_written(void **state)
{
    (void)state;
    static const char *const good[] = {
        "t0=mul(x0,x1) y0=tanh(t0)",
        "y0=clamp[-1,0.1](x15) t0=gelu[1](y0) y1=where(x2,t0,5p-1074)",
        "t0=less(x0,inf) t1=logical_not(t0) y0=cast(t1)",
    };
    static const char *const bad[] = {
        "",
        " ",
        "y0",
        "y0=",
        "y0=tanh",
        "y0=tanh(",
        "y0=tanh(x0",
        "y0=tanh(x0) ",
        "y1=tanh(x0)",
        "y0=tanh(x16)",
        "y0=tanh(x-1)",
        "y0=tanh(t0)",
        "y0=tanh(y0)",
        "t1=tanh(x0)",
        "y0=sum(x0)",
        "y0=tanh(x0,x1)",
        "y0=mul(x0)",
        "y0=clamp(x0)",
        "y0=clamp[1](x0)",
        "y0=gelu[-1](x0)",
        "y0=tanh(x0)y1=tanh(x0)",
        "y0=tanh(x99999999999999999999)",
        "z0=tanh(x0)",
    };
    wgi_element_step step[WGI_STEPS];
    char text[WGI_STEPS_TEXT];
    for (int i = 0; i < WG_COUNT(good); i++) {
        int n = wgi_steps_read(good[i], step);
        assert_int_equal(n, i == 0 ? 2 : 3);
        assert_true(wgi_steps_write(step, n, text, sizeof text));
        assert_string_equal(text, good[i]);
        assert_false(wgi_steps_write(step, n, text, strlen(text)));
    }
    for (int i = 0; i < WG_COUNT(bad); i++)
        check_that(wgi_steps_read(bad[i], step) <= 0, "'%s' was read", bad[i]);
    char many[20 * (WGI_STEPS + 1)] = "";
    for (int i = 0; i <= WGI_STEPS; i++)
        snprintf(many + strlen(many), 20, "%st%d=tanh(x0)", i ? " " : "", i);
    assert_int_equal(wgi_steps_read(many, step), -1);
    *strrchr(many, ' ') = '\0';
    assert_int_equal(wgi_steps_read(many, step), WGI_STEPS);
}

/* Every number is read as it was, whatever its text. */
static void numbers_keep_their_bits(void **state)
{
    (void)state;
    const wgi_random r = wgi_random_of(3, 0, 0);
    char text[WGI_STEPS_TEXT];
    wgi_element_step step[WGI_STEPS];
    for (int i = 0; i < 20000; i++) {
        uint64_t word[4];
        wgi_random_words(&r, (uint64_t)i, word);
        double x = i % 4 == 0   ? (double)(word[0] % 2000001) / 1000 - 1000
                   : i % 4 == 1 ? (double)((float)(word[0] % 1000) / 7)
                                : 0;
        if (i % 4 > 1)
            memcpy(&x, &word[0], sizeof x);
        step[0] = (wgi_element_step){
            .op = &wg_op_add, .n_in = 2, .in = {{WGI_TERM_OPERAND, 0, 0}, {WGI_TERM_NUMBER, 0, x}}};
        assert_true(wgi_steps_write(step, 1, text, sizeof text));
        assert_int_equal(wgi_steps_read(text, step), 1);
        double got = step[0].in[1].number;
        check_that(isnan(x) ? isnan(got) : memcmp(&got, &x, sizeof x) == 0, "%a as '%s' is %a", x,
                   text, got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_read_as_they_are_written),
        cmocka_unit_test(numbers_keep_their_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
