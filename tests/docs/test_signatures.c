/* docs/ops.md shows every builder of the headers of ops, with the signature that the header has
 * (signatures.awk: otherwise this program does not compile), and every op of the table. */
#include "tests/docs/signatures.h"
#include "tests/test.h"
#include "wengert/ops/table.h"

#include <dirent.h>

static bool is_shown(const char *name)
{
    const char *const *shown;
    int n = page_signatures(&shown);
    for (int i = 0; i < n; i++)
        if (shown[i] && strcmp(shown[i], name) == 0)
            return true;
    return false;
}

/* Each `#define NAME(...) NAME(WG_HERE, __VA_ARGS__)` of the header is a builder. */
static int count_builders(const char *path)
{
    char line[400], name[80], hidden[16];
    int builders = 0;
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "#define %79[a-z0-9_](...) %*[a-z0-9_](%7[A-Z_],", name, hidden) == 2) {
            check_that(is_shown(name), "docs/ops.md lacks %s of %s: run ninja ops_reference", name,
                       path);
            builders++;
        }
    fclose(f);
    return builders;
}

static void every_builder_of_the_headers_is_shown(void **state)
{
    (void)state;
    char path[400];
    int builders = count_builders(HEADERS "/models/optimizer.h");
    DIR *d = opendir(HEADERS "/ops");
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        if (strstr(e->d_name, ".h")) {
            snprintf(path, sizeof path, "%s/ops/%s", HEADERS, e->d_name);
            builders += count_builders(path);
        }
    closedir(d);
    print_message("%d builders\n", builders);
    assert_true(builders >= 200);
}

static void every_op_is_shown(void **state)
{
    (void)state;
    static char page[1 << 20];
    char row[80];
    FILE *f = fopen(OPS_PAGE, "r");
    assert_non_null(f);
    page[fread(page, 1, sizeof page - 1, f)] = '\0';
    fclose(f);
    const wg_op *op;
    size_t ops = 0;
    for (; (op = wg_op_at(ops)); ops++) {
        snprintf(row, sizeof row, "`%s`", op->name);
        check_that(strstr(page, row), "docs/ops.md lacks the op %s", op->name);
    }
    assert_true(ops >= 150);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_builder_of_the_headers_is_shown),
                                       cmocka_unit_test(every_op_is_shown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
