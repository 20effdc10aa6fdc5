/* docs/limits.md has the numbers of the program: each row of its tables is looked up. */
#include "tests/test.h"
#include "backends/memory.h"
#include "files/internal.h"
#include "files/npy.h"
#include "graph/names.h"
#include "onnx/limits.h"
#include "text/sentencepiece/sentencepiece.h"
#include "wengert/backends/load.h"
#include "wengert/translate/settings.h"

#include <inttypes.h>

/* Rows that are no option. */
static const struct {
    const char *what;
    int64_t value;
} limits[] = {
    {"axes of a tensor", WG_MAX_RANK},
    {"bytes of a tensor", INT64_MAX},
    {"bytes of the name of a leaf", WGI_LEAF_NAME_BYTES},
    {"bytes of the name of another value, or of a scope", WGI_NAME_BYTES},
    {"bytes of the path of a scope", WGI_PATH_BYTES},
    {"bytes of all results of a plan, or of all its parameters, states and inputs", WGI_MOST_BYTES},
    {"backends of a plan", WG_MAX_BACKENDS},
    {"threads of a plan", WG_MAX_THREADS},
    {"bytes of a file, without weights in other files", WGI_OX_FILE_BYTES},
    {"messages within each other, as subgraphs are", WGI_OX_DEPTH},
    {"subgraphs and functions within each other", WGI_OX_NESTING},
    {"nodes, those of unrolled loops included", WGI_OX_STEPS},
    {"rounds of a loop", WGI_OX_ROUNDS},
    {"results of a node", OX_MAX_RESULTS},
    {"characters of an equation of Einsum, without spaces", OX_MAX_EQUATION},
    {"bytes of a tensor that is computed while a file is read", WGI_OX_COMPUTED_BYTES},
    {"bytes of the numbers that an op is built of, as the indices of a Resize", WGI_OX_TABLE_BYTES},
    {"positions of an axis that Resize changes, or weights of its elements", WGI_OX_RESIZE},
    {"bytes of a line that `bpe` and `unigram` take at once", WGI_SPM_PART},
    {"bytes of a line that a `bpe` or `unigram` vocabulary is built from", WGI_SPM_LONGEST},
    {"bytes of a safetensors header", WGI_MAX_FILE_HEADER},
    {"tensors of a safetensors file", WGI_MAX_FILE_TENSORS},
    {"axes of a tensor in a safetensors file", WG_MAX_RANK},
    {"bytes of the header of an array of NumPy (`.npy`)", WGI_MAX_NPY_HEADER},
    {"bytes of a YAML file of settings", WG_MAX_SETTINGS_BYTES},
};

/* The option whose name begins at text, after its dashes. */
static const wg_option *option_at(const char *text)
{
    char name[60];
    assert_int_equal(sscanf(text, "%59[a-z0-9-]", name), 1);
    const wg_option *o = wg_option_find(name);
    check_that(o != NULL, "there is no option %s", name);
    return o;
}

static int64_t value_of(const char *what)
{
    static const char by_default[] = "default of `--";
    for (int i = 0; i < WG_COUNT(limits); i++)
        if (strcmp(limits[i].what, what) == 0)
            return limits[i].value;
    if (strncmp(what, "`--", 3) == 0)
        return (int64_t)option_at(what + 3)->max;
    check_that(strncmp(what, by_default, strlen(by_default)) == 0, "an unknown limit: %s", what);
    return strtoll(option_at(what + strlen(by_default))->default_value, NULL, 10);
}

static void the_page_has_the_numbers_of_the_program(void **state)
{
    (void)state;
    FILE *f = fopen(LIMITS_PAGE, "r");
    char line[1000], what[300];
    int rows = 0;
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        long long value;
        if (sscanf(line, "| %299[^|] | %lld |", what, &value) != 2)
            continue;
        for (size_t n = strlen(what); n && what[n - 1] == ' ';)
            what[--n] = '\0';
        check_that(value == value_of(what),
                   "%s: %lld in docs/limits.md, %" PRId64 " in the program", what, value,
                   value_of(what));
        rows++;
    }
    fclose(f);
    assert_int_equal(rows, 37);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_has_the_numbers_of_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
