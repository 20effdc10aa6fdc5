/* ONNX's own suite: every case gives the right numbers, on the reference backend and on the fast
 * ones, or is refused with the reason that expected-VERSION.txt has.
 *
 *     test_onnx_nodes                 compares with the list of that version of the suite
 *     test_onnx_nodes list            prints a new list, for a look at the differences
 *     test_onnx_nodes FOLDER          one case, with its graph
 *
 * WENGERT_ONNX_DATA is the folder of another version of the suite. */
#include "tests/onnx/cases.h"

#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77 };

typedef struct counts {
    size_t passed, refused, disputed, wrong, known;
} counts;

/* Random draws cannot be compared. */
static bool is_random(const char *name)
{
    return (strncmp(name, "test_training_dropout", 21) == 0 && !strstr(name, "zero_ratio")) ||
           strncmp(name, "test_bernoulli", 14) == 0;
}

/* Cases whose numbers contradict the standard, by a part of their names. */
static const char *dispute_of(const char *name)
{
    static const char *const cases[][2] = {
        {"test_adam_multiple",
         "the numbers were made with epsilon 1e-2; the node leaves it at its default, 1e-6"},
        {"FLOAT_to_BFLOAT16", "the numbers were cut off; casts to bfloat16 round to nearest"},
        {"test_qlinearmatmul_2D_int8", "the numbers wrap; those of QuantizeLinear saturate"},
        {"test_qlinearmatmul_3D_int8", "the numbers wrap; those of QuantizeLinear saturate"},
        {"test_dft", "the numbers have errors of rounding in the place of zeros"},
    };
    for (int i = 0; i < WG_COUNT(cases); i++)
        if (strstr(name, cases[i][0]))
            return cases[i][1];
    return NULL;
}

/* The part of a message that does not depend on names of files and numbers of nodes. */
static const char *reason_of(const wg_error *error)
{
    const char *at = strstr(error->text, "model.onnx: ");
    const char *reason = at ? at + strlen("model.onnx: ") : error->text;
    const char *bare = strstr(reason, "not supported: ");
    return bare && strncmp(reason, "node ", 5) == 0 ? bare : reason;
}

/* "pass", or the reason why not, into text; counts it. */
static void judge(const char *suite, const char *name, char *text, size_t size, counts *total)
{
    char folder[400];
    onnx_case c;
    snprintf(folder, sizeof folder, "%s/%s/%s", onnx_data(), suite, name);
    if (onnx_case_open(&c, folder) != WG_OK) {
        snprintf(text, size, "refused: %s", reason_of(&c.error));
        total->refused++;
    } else if (is_random(name)) {
        snprintf(text, size, "refused: draws random numbers");
        total->refused++;
    } else {
        bool right =
            onnx_case_run(&c, &(wg_plan_options){.reference = true, .threads = 1}) == WG_OK;
        bool fast = right && onnx_case_run(&c, &(wg_plan_options){.threads = 1}) == WG_OK;
        snprintf(text, size,
                 fast    ? "pass"
                 : right ? "wrong on a fast backend: %s"
                         : "wrong: %s",
                 c.error.text);
        const char *dispute = dispute_of(name);
        if (dispute) /* errors of rounding differ between processors, so by chance it may pass */
            snprintf(text, size, "disputed: %s", dispute);
        *(dispute ? &total->disputed : fast ? &total->passed : &total->wrong) += 1;
        total->known += c.n_known > 0;
    }
    text[strcspn(text, "\n")] = 0;
    onnx_case_close(&c);
}

/* The line of the list for a case, or NULL. */
static const char *expected(char *const *lines, size_t n, const char *suite, const char *name)
{
    char key[300];
    snprintf(key, sizeof key, "%s/%s ", suite, name);
    for (size_t i = 0; i < n; i++)
        if (strncmp(lines[i], key, strlen(key)) == 0)
            return lines[i] + strlen(key);
    return NULL;
}

static size_t read_lines(const char *path, char ***lines)
{
    FILE *f = fopen(path, "r");
    char line[3000];
    size_t n = 0;
    *lines = NULL;
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        *lines = realloc(*lines, (n + 1) * sizeof **lines);
        (*lines)[n++] = strdup(line);
    }
    if (f)
        fclose(f);
    return n;
}

static void free_lines(char **lines, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(lines[i]);
    free(lines);
}

/* All cases of a suite; returns how many differ from the list, or prints them as one. */
static size_t run_suite(const char *suite, char *const *lines, size_t n_lines, bool list,
                        counts *total)
{
    char path[400], text[2200], **names;
    counts own = {0};
    size_t differ = 0;
    snprintf(path, sizeof path, "%s/%s", onnx_data(), suite);
    size_t n = onnx_folders(path, &names);
    for (size_t i = 0; i < n; i++) {
        judge(suite, names[i], text, sizeof text, &own);
        const char *want = expected(lines, n_lines, suite, names[i]);
        bool same = want && strcmp(want, text) == 0;
        if (list)
            printf("%s/%s %s\n", suite, names[i], text);
        else if (n_lines ? !same : strncmp(text, "wrong", 5) == 0)
            printf("%s/%s: expected %s, got %s\n", suite, names[i], want ? want : "no wrong answer",
                   text);
        differ += n_lines ? !same : strncmp(text, "wrong", 5) == 0;
    }
    fprintf(
        list ? stderr : stdout,
        "%s: %zu cases, %zu passed, %zu refused, %zu disputed, %zu wrong; %zu with known inputs\n",
        suite, n, own.passed, own.refused, own.disputed, own.wrong, own.known);
    total->passed += own.passed;
    total->refused += own.refused;
    total->wrong += own.wrong;
    free_lines(names, n);
    return differ;
}

/* The version of the suite, by its size: that of Debian 12 is 1.12, of Debian 13 1.17. */
static const char *list_of(size_t nodes)
{
    return nodes == 932    ? ONNX_EXPECTED "/expected-1.12.txt"
           : nodes == 1288 ? ONNX_EXPECTED "/expected-1.17.txt"
                           : NULL;
}

static int run_all(bool list)
{
    static const char *const suites[] = {"node", "pytorch-converted", "pytorch-operator", "simple"};
    char **names, **lines = NULL;
    counts total = {0};
    char path[400];
    snprintf(path, sizeof path, "%s/node", onnx_data());
    size_t n = onnx_folders(path, &names), n_lines = 0, differ = 0;
    free_lines(names, n);
    if (!n) {
        printf("skipped: %s is not there (Debian: libonnx-testdata)\n", onnx_data());
        return SKIPPED;
    }
    if (list_of(n) && !list)
        n_lines = read_lines(list_of(n), &lines);
    for (size_t i = 0; i < WG_COUNT(suites); i++)
        differ += run_suite(suites[i], lines, n_lines, list, &total);
    free_lines(lines, n_lines);
    if (list)
        return 0;
    if (list_of(n) && n_lines < n)
        printf("%s has only %zu lines\n", list_of(n), n_lines);
    if (differ || total.wrong || total.passed < 700 || (list_of(n) && n_lines < n))
        return printf("%zu cases differ from what is expected\n", differ), 1;
    return 0;
}

static int run_one(const char *folder)
{
    onnx_case c;
    wg_status status = onnx_case_open(&c, folder);
    if (c.graph && wg_graph_print(c.graph, stdout) != WG_OK)
        return 1;
    if (status == WG_OK)
        status = onnx_case_run(&c, &(wg_plan_options){.reference = true});
    if (status == WG_OK)
        status = onnx_case_run(&c, NULL);
    printf("%s\n", status == WG_OK ? "pass" : c.error.text);
    onnx_case_close(&c);
    return status != WG_OK;
}

int main(int argc, char **argv)
{
    bool list = argc > 1 && strcmp(argv[1], "list") == 0;
    return argc > 1 && !list ? run_one(argv[1]) : run_all(list);
}
