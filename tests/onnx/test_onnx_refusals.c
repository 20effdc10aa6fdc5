/* Models that are refused: each message names the file and says what is wrong. */
#include "tests/onnx/text.h"
#include "tests/test.h"
#include "wengert.h"

#include <unistd.h>

static const char path[] = "refused.onnx";

/* 64 letters of an equation. */
#define PART "ijkl,ijkl,ijkl,ijkl,ijkl,ijkl,ijkl,ijkl,ijkl,ijkl,ijkl,ijkl,ijkl"

static const struct {
    const char *words;
    int opset;
    const char *text;
} refusals[] = {
#include "tests/onnx/refusals.def"
};

static void messages_say_what_is_wrong(void **state)
{
    (void)state;
    for (int i = 0; i < WG_COUNT(refusals); i++) {
        wg_graph *g;
        wg_error error;
        made m;
        made_begin(&m);
        onnx_write(onnx_text(&m, refusals[i].text), refusals[i].opset, path);
        made_free(&m);
        wg_status status = wg_onnx_import(&g, path, NULL, &error);
        check_that(status != WG_OK && !g, "not refused: %s", refusals[i].text);
        check_that(status == (strstr(error.text, "supported") ? WG_EUNSUPPORTED : WG_EDATA) ||
                       strstr(error.text, "opset -1") || strstr(error.text, "(99)"),
                   "status %s: %s", wg_status_text(status), error.text);
        check_that(
            strncmp(error.text, path, strlen(path)) == 0 && strstr(error.text, refusals[i].words),
            "no '%s' in '%s', the message of\n%s", refusals[i].words, error.text, refusals[i].text);
        unlink(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_say_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
