/* Pages for a browser: their data are JSON that says what the graph and the plan say, nothing in
 * them can become markup, and they refer to nothing outside.  (What a browser makes of them:
 * tests/page.) */
#include "tests/plans.h"
#include "tests/transformers.h"
#include "wengert.h"

#include <ctype.h>

/* ---- a reader of JSON ------------------------------------------------------------------------ */

static const char *skip_space(const char *s)
{
    while (isspace((unsigned char)*s))
        s++;
    return s;
}

/* Past the string at s, which has no bare control characters and no markup. */
static const char *skip_string(const char *s)
{
    check_that(*s == '"', "a string was expected: %.40s", s);
    for (s++; *s != '"'; s++) {
        check_that((unsigned char)*s >= 0x20 && !strchr("<>&", *s), "in a string: %.40s", s);
        if (*s == '\\') {
            s++;
            check_that(*s == '"' || *s == '\\' ||
                           (*s == 'u' && strspn(s + 1, "0123456789abcdef") >= 4),
                       "an escape: %.10s", s);
            s += *s == 'u' ? 4 : 0;
        }
    }
    return s + 1;
}

static const char *skip_value(const char *s);

/* The items of an array or an object up to number `n`, where it stays, or past the end. */
static const char *skip_items(const char *s, size_t n, size_t *count)
{
    bool object = *s == '{';
    char end = object ? '}' : ']';
    *count = 0;
    for (s = skip_space(s + 1); *s != end && *count < n; (*count)++) {
        if (object) {
            s = skip_space(skip_string(s));
            check_that(*s == ':', "no colon: %.40s", s);
            s = skip_space(s + 1);
        }
        s = skip_space(skip_value(s));
        check_that(*s == ',' || *s == end, "no comma: %.40s", s);
        s = *s == ',' ? skip_space(s + 1) : s;
    }
    return *s == end ? s + 1 : s;
}

static const char *skip_value(const char *s)
{
    size_t count;
    char *end;
    if (*s == '{' || *s == '[')
        return skip_items(s, SIZE_MAX, &count);
    if (*s == '"')
        return skip_string(s);
    if (strncmp(s, "null", 4) == 0)
        return s + 4;
    strtod(s, &end);
    check_that(end != s, "no value: %.40s", s);
    return end;
}

static size_t count_of(const char *array)
{
    size_t count;
    skip_items(array, SIZE_MAX, &count);
    return count;
}

static const char *item(const char *array, size_t i)
{
    size_t count;
    const char *s = skip_items(array, i, &count);
    assert_int_equal(count, i);
    return s;
}

static const char *member(const char *object, const char *key)
{
    size_t n = strlen(key);
    for (const char *s = skip_space(object + 1); *s == '"';) {
        const char *value = skip_space(skip_space(skip_string(s)) + 1);
        if (strncmp(s + 1, key, n) == 0 && s[n + 1] == '"')
            return value;
        s = skip_space(skip_value(value));
        s = *s == ',' ? skip_space(s + 1) : s;
    }
    fail_msg("no member %s", key);
    return NULL;
}

static int64_t whole(const char *array, size_t i)
{
    return strtoll(item(array, i), NULL, 10);
}

static bool begins(const char *s, const char *text)
{
    return strncmp(s, text, strlen(text)) == 0;
}

/* ---- pages ----------------------------------------------------------------------------------- */

typedef struct page {
    char *text;
    const char *data; /* the object */
} page;

static size_t occurrences(const char *text, const char *what)
{
    size_t count = 0;
    for (const char *s = text; (s = strstr(s, what)); s++)
        count++;
    return count;
}

/* The page that was written to f: one document with two scripts, its data well-formed. */
static page page_in(FILE *f)
{
    static const char mark[] = "<script type=\"application/json\" id=\"graph\">";
    page p;
    long size = ftell(f);
    check_that(size > 0, "nothing was written");
    p.text = calloc(1, (size_t)size + 1);
    assert_non_null(p.text);
    rewind(f);
    assert_int_equal(fread(p.text, 1, (size_t)size, f), size);
    fclose(f);
    assert_true(begins(p.text, "<!DOCTYPE html>"));
    assert_int_equal(occurrences(p.text, "<script"), 2);
    assert_int_equal(occurrences(p.text, "</script>"), 2);
    assert_int_equal(occurrences(p.text, "http:") + occurrences(p.text, "https:"), 0);
    assert_int_equal(occurrences(p.text, "src=") + occurrences(p.text, "@import"), 0);
    assert_int_equal(occurrences(p.text, "innerHTML") + occurrences(p.text, "eval("), 0);
    p.data = strstr(p.text, mark);
    assert_non_null(p.data);
    p.data += sizeof mark - 1;
    assert_true(begins(skip_space(skip_value(p.data)), "</script>"));
    return p;
}

static page page_of(const wg_graph *g, const char *title)
{
    wg_error error;
    FILE *f = tmpfile();
    assert_non_null(f);
    wg_status status = wg_graph_write_page(g, title, f, &error);
    check_that(status == WG_OK, "%s", error.text);
    return page_in(f);
}

static page page_of_plan(const wg_plan *plan, const char *title)
{
    wg_error error;
    FILE *f = tmpfile();
    assert_non_null(f);
    wg_status status = wg_plan_write_page(plan, title, f, &error);
    check_that(status == WG_OK, "%s", error.text);
    return page_in(f);
}

/* ---- what they say --------------------------------------------------------------------------- */

/* Rows as the graph has them: op, operands, results, shape; counts of all tables. */
static void compare(const wg_graph *g, const char *data)
{
    const char *nodes = member(data, "nodes"), *values = member(data, "values"),
               *ops = member(data, "ops");
    assert_int_equal(count_of(nodes), wg_graph_node_count(g));
    assert_int_equal(count_of(values), wg_graph_value_count(g));
    assert_int_equal(count_of(member(data, "outputs")), wg_graph_output_count(g));
    assert_int_equal(count_of(member(data, "assigns")), wg_graph_assign_count(g));
    for (size_t i = 0; i < wg_graph_node_count(g); i += 7) {
        const wg_node *n = wg_graph_node(g, i);
        const char *row = item(nodes, i);
        char name[80];
        snprintf(name, sizeof name, "\"%s\"", n->op->name);
        assert_true(begins(item(item(ops, (size_t)whole(row, 0)), 0), name));
        assert_int_equal(whole(row, 2), n->phase);
        assert_int_equal(count_of(item(row, 7)), n->n_in);
        assert_int_equal(count_of(item(row, 8)), n->n_out);
        for (int k = 0; k < n->n_in; k++)
            assert_int_equal(whole(item(row, 7), (size_t)k), n->in[k]->id);
        const wg_value *v = n->n_out ? n->out[0] : NULL;
        const char *dims = v ? item(item(values, v->id), 1) : NULL;
        assert_int_equal(v ? count_of(dims) : 0, v ? v->shape.rank : 0);
        for (int k = 0; v && k < v->shape.rank; k++)
            assert_int_equal(whole(dims, (size_t)k), v->shape.dim[k]);
    }
}

static wg_graph *training_step(void)
{
    wg_transformer_config c = transformer_sized("tiny", 20);
    transformer t = transformer_of(&c, 2, 5, 4, true);
    wg_gradients d = wg_grad_all(t.loss);
    wg_value *rate = wg_input(t.g, "rate", WG_F32, WG_SCALAR);
    assert_int_equal(wg_adam_update(d.params, d.grads, d.n, rate, NULL), WG_OK);
    return t.g;
}

static void a_page_has_the_graph(void **state)
{
    (void)state;
    wg_graph *g = training_step();
    page p = page_of(g, "a step"), again = page_of(g, "a step");
    assert_true(begins(member(p.data, "title"), "\"a step\""));
    compare(g, p.data);
    assert_null(strstr(p.text, "\"steps\":"));
    assert_string_equal(p.text, again.text);
    free(p.text);
    free(again.text);
    wg_graph_free(g);
}

/* The largest sum of blocks in use at once, from the page. */
static int64_t peak_of(const char *blocks, size_t steps)
{
    int64_t peak = 0, *live = calloc(steps + 2, sizeof *live);
    assert_non_null(live);
    for (const char *b = skip_space(blocks + 1); *b == '[';) {
        live[whole(b, 2)] += whole(b, 0);
        live[whole(b, 3) + 1] -= whole(b, 0);
        b = skip_space(skip_value(b));
        b = *b == ',' ? skip_space(b + 1) : b;
    }
    for (size_t i = 0; i <= steps; i++) {
        live[i] += i ? live[i - 1] : 0;
        peak = live[i] > peak ? live[i] : peak;
    }
    free(live);
    return peak;
}

static void a_page_of_a_plan_has_its_run(void **state)
{
    (void)state;
    wg_graph *g = training_step();
    wg_plan *plan = plan_of(g, &(wg_plan_options){.profile = true});
    wg_plan_stats stats = wg_plan_statistics(plan);
    run(plan, 0);
    page p = page_of_plan(plan, NULL);
    assert_true(begins(member(p.data, "title"), "\"graph\""));
    compare(wg_plan_graph(plan), p.data);
    const char *steps = member(p.data, "steps");
    assert_int_equal(count_of(steps), wg_plan_step_count(plan));
    assert_int_equal(count_of(member(p.data, "block_of")),
                     wg_graph_value_count(wg_plan_graph(plan)));
    assert_int_equal(strtoll(member(p.data, "buffer"), NULL, 10), stats.buffer_bytes);
    assert_int_equal(peak_of(member(p.data, "blocks"), wg_plan_step_count(plan)), stats.live_bytes);
    double seconds = 0;
    for (size_t i = 0; i < wg_plan_step_count(plan); i++) {
        const char *row = item(steps, i);
        assert_int_equal(whole(row, 0), wg_plan_step_at(plan, i).node->id);
        seconds += strtod(item(row, 3), NULL);
    }
    assert_true(seconds > 0);
    free(p.text);
    wg_plan_free(plan);
    wg_graph_free(g);
}

static void names_cannot_become_markup(void **state)
{
    (void)state;
    static const char *const names[] = {"a <b onclick=\"x()\"> & \\ \" \t\x01 b", "<!--<script>",
                                        "\xff\xc3\x28\xed\xa0\x80", "]]>'`${1}",
                                        "ünï 漢 \xe2\x80\xa8"};
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "</script><script>alert(1)</script>", WG_F32, WG_SHAPE(2));
    for (int i = 0; i < WG_COUNT(names); i++) {
        wg_scope_push(g, "%s", names[i]);
        x = wg_name(wg_tanh(x), "%s", names[i]);
    }
    wg_output(x, "<img onerror=alert(1)>");
    assert_int_equal(wg_graph_status(g), WG_OK);
    page p = page_of(g, "</title></script><b>");
    assert_true(begins(member(p.data, "title"),
                       "\"\\u003c/title\\u003e\\u003c/script\\u003e\\u003cb\\u003e\""));
    assert_true(
        begins(item(item(member(p.data, "values"), 0), 2),
               "\"\\u003c/script\\u003e\\u003cscript\\u003ealert(1)\\u003c/script\\u003e\""));
    const char *scopes = member(p.data, "scopes");
    assert_int_equal(count_of(scopes), 1 + WG_COUNT(names));
    assert_int_equal(
        occurrences(scopes, "[\"\xef\xbf\xbd\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\","),
        1);
    assert_int_equal(occurrences(scopes, "[\"ünï 漢 \xe2\x80\xa8\","), 1);
    assert_int_equal(occurrences(p.text, "onerror=alert(1)>"), 0);
    free(p.text);
    wg_graph_free(g);
}

static void an_empty_graph_has_a_page(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    page p = page_of(g, NULL);
    compare(g, p.data);
    free(p.text);
    wg_graph_free(g);
}

static void failures_have_messages(void **state)
{
    (void)state;
    wg_error error;
    wg_graph *g = wg_graph_new(), *bad = wg_graph_new();
    wg_scope_pop(bad);
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    setbuf(full, NULL);
    assert_int_equal(wg_graph_write_page(NULL, "t", full, &error), WG_EINVAL);
    assert_int_equal(wg_graph_write_page(g, "t", NULL, NULL), WG_EINVAL);
    assert_int_equal(wg_plan_write_page(NULL, "t", full, &error), WG_EINVAL);
    assert_string_equal(error.text, "wg_plan_write_page: an argument is NULL");
    assert_int_equal(wg_graph_write_page(bad, "t", full, &error), WG_EINVAL);
    assert_non_null(strstr(error.text, "no scope is open"));
    assert_int_equal(wg_graph_write_page(g, "t", full, &error), WG_EIO);
    assert_string_equal(error.text, "the page could not be written");
    fclose(full);
    wg_graph_free(g);
    wg_graph_free(bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_has_the_graph),
        cmocka_unit_test(a_page_of_a_plan_has_its_run),
        cmocka_unit_test(names_cannot_become_markup),
        cmocka_unit_test(an_empty_graph_has_a_page),
        cmocka_unit_test(failures_have_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
