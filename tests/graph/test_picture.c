/* Pictures as they are written: what is told in words; that DOT parses again; that a layout can be
 * stopped. */
#include "tests/graph/pictures.h"

#ifdef WG_HAVE_GRAPHVIZ
#include <graphviz/cgraph.h>
#endif

#ifdef WG_HAVE_GRAPHVIZ
#include <graphviz/cgraph.h>
#endif

static void bad_arguments_have_messages(void **state)
{
    (void)state;
    wg_graph *g = tower(false), *bad = wg_graph_new();
    wg_picture *p;
    const char *open[] = {"decoder"};
    wg_error error;
    wg_picture_options unknown = {.expanded = open, .n_expanded = 1}, negative = {.depth = -1};
    assert_int_equal(wg_picture_create(&p, g, &unknown, &error), WG_EINVAL);
    assert_string_equal(error.text, "no scope 'decoder' in this graph");
    assert_null(p);
    assert_int_equal(wg_picture_write(p, WG_PICTURE_DOT, stdout, &error), WG_EINVAL);
    assert_int_equal(wg_picture_create(&p, g, &negative, NULL), WG_EINVAL);
    assert_int_equal(wg_picture_save(g, "model.pdf", NULL, &error), WG_EINVAL);
    assert_string_equal(error.text,
                        "model.pdf: expected a file name that ends in .dot, .svg, .png or .wg");
    assert_int_equal(wg_picture_save(g, NULL, NULL, &error), WG_EINVAL);
    wg_scope_pop(bad);
    assert_int_equal(wg_picture_create(&p, bad, NULL, &error), WG_EINVAL);
    assert_non_null(strstr(error.text, "no scope is open"));
    wg_picture_free(NULL);
    wg_graph_free(bad);
    wg_graph_free(g);
}

static void an_empty_graph_is_an_empty_picture(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    assert_int_equal(boxes(g, NULL), 0);
    wg_graph_free(g);
}

/* ---- with Graphviz --------------------------------------------------------------------------- */

#ifdef WG_HAVE_GRAPHVIZ
static char *written(wg_graph *g, const wg_picture_options *options, wg_picture_format format,
                     size_t *size)
{
    wg_picture *p = picture(g, options);
    char *text = NULL;
    FILE *f = open_memstream(&text, size);
    assert_non_null(f);
    wg_error error;
    wg_status status = wg_picture_write(p, format, f, &error);
    check_that(status == WG_OK, "%s", error.text);
    fclose(f);
    wg_picture_free(p);
    return text;
}

static void the_same_graph_gives_the_same_dot(void **state)
{
    (void)state;
    size_t n, m;
    wg_graph *a = tower(true), *b = tower(true);
    char *first = written(a, NULL, WG_PICTURE_DOT, &n),
         *again = written(a, NULL, WG_PICTURE_DOT, &m);
    char *other = written(b, NULL, WG_PICTURE_DOT, &m);
    assert_true(n > 1000);
    assert_ptr_equal(strstr(first, "digraph wengert {"), first);
    assert_string_equal(first, again);
    assert_string_equal(first, other);
    free(first);
    free(again);
    free(other);
    wg_graph_free(a);
    wg_graph_free(b);
}

static void dot_parses_again_with_its_labels(void **state)
{
    (void)state;
    size_t n;
    wg_graph *g = tower(true);
    wg_picture_options o = {.depth = 2, .memory = true};
    char *dot = written(g, &o, WG_PICTURE_DOT, &n);
    Agraph_t *read = agmemread(dot);
    assert_non_null(read);
    assert_int_equal(agnnodes(read), (int)boxes(g, &o));
    assert_true(agnedges(read) >= 8);
    Agnode_t *layers = agnode(read, (char *)"encoder/layer0/", 0);
    assert_non_null(layers);
    const char *label = agget(layers, (char *)"label");
    assert_non_null(strstr(label, "layer0"));
    assert_non_null(strstr(label, "layer5"));
    assert_non_null(strstr(label, "&#215;6"));
    assert_non_null(strstr(label, "KiB")); /* memory */
    assert_non_null(
        agnode(read, (char *)"encoder/layer5/@backward", 0)); /* layers 5 to 1 are alike */
    assert_non_null(agnode(read, (char *)"encoder/layer0/@backward", 0)); /* 0 needs no dx */
    Agnode_t *mul = agnode(read, (char *)"head/mul", 0);
    assert_non_null(mul);
    assert_non_null(
        strstr(agget(mul, (char *)"label"), "b = 0.5")); /* the scalar is told in words */
    assert_non_null(strstr(agget(mul, (char *)"tooltip"), "pictures.h:"));
    agclose(read);
    free(dot);
    wg_graph_free(g);
}

static const char hostile[] = "a\"b\\N<b>&lt;\n\t\x01 ]; x -> y \xff\xc3\xa9%s";

static void hostile_names_stay_names(void **state)
{
    (void)state;
    size_t n;
    wg_graph *g = wg_graph_new();
    wg_scope_push(g, "%s", hostile);
    wg_value *x = wg_input(g, hostile, WG_F32, WG_SHAPE(2, 2));
    wg_value *y = wg_name(wg_tanh(x), "%s", hostile + 1);
    wg_scope_pop(g);
    wg_output(wg_exp(wg_name(wg_neg(y), "trailing\\")), "out\\\"</FONT>");
    assert_int_equal(wg_graph_status(g), WG_OK);
    for (int depth = 1; depth <= 3; depth++) {
        wg_picture_options o = {.depth = depth, .title = hostile};
        char *dot = written(g, &o, WG_PICTURE_DOT, &n);
        Agraph_t *read = agmemread(dot);
        assert_non_null(read);
        assert_int_equal(agnnodes(read), (int)boxes(g, &o));
        assert_null(agnode(read, (char *)"y", 0));
        agclose(read);
        free(dot);
        char *svg = written(g, &o, WG_PICTURE_SVG, &n); /* the layout takes every label as it is */
        assert_non_null(strstr(svg, "a&quot;b\\N&lt;b&gt;&amp;lt;"));
        free(svg);
    }
    wg_graph_free(g);
}

static bool infer_flip(wg_node *n)
{
    return wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
}

typedef struct flip_attrs {
    int64_t count, axis;
} flip_attrs;
static const wg_attr flip_fields[] = {WG_ATTR(INT, flip_attrs, count),
                                      WG_ATTR(AXIS, flip_attrs, axis)};

/* An op of a program is drawn as the built-in ones of its family, and an axis of 0 is shown. */
static void ops_of_programs_have_a_family(void **state)
{
    (void)state;
    static const struct {
        wg_family family;
        const char *legend, *colour;
    } cases[] = {
        {WG_FAMILY_MOVEMENT, "movement", "#edeff2"}, {WG_FAMILY_OPTIMIZER, "optimizer", "#ead9cd"},
        {WG_FAMILY_ORDER, "other op", "#f0ece6"}, /* has no colour of its own */
        {WG_FAMILY_OTHER, "other op", "#f0ece6"},    {(wg_family)1000, "other op", "#f0ece6"},
    };
    for (size_t i = 0; i < WG_COUNT(cases); i++) {
        wg_op flip = {.name = "flip",
                      .operands = "x",
                      .infer = infer_flip,
                      .family = cases[i].family,
                      WG_ATTRS(flip_attrs, flip_fields)};
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2, 2));
        wg_output(wg_apply1(WG_HERE, &flip, &(flip_attrs){0, 0}, x), "y");
        assert_int_equal(wg_graph_status(g), WG_OK);
        size_t n;
        char *dot = written(g, NULL, WG_PICTURE_DOT, &n);
        assert_non_null(strstr(dot, cases[i].legend));
        assert_non_null(strstr(dot, cases[i].colour));
        assert_non_null(strstr(dot, ">axis=0<"));
        assert_null(strstr(dot, ">count=0<"));
        free(dot);
        wg_graph_free(g);
    }
}

static void long_texts_stand_in_the_tooltip(void **state)
{
    (void)state;
    static const char *const specs[] = {"ab,bc->ac", "abcdefgh,abcdefgh,abcdefgh,ac->abcdefgh"};
    wg_graph *g = wg_graph_new();
    wg_value *m = wg_input(g, "m", WG_F32, WG_SHAPE(2, 2)),
             *x = wg_input(g, "x", WG_F32, WG_SHAPE(2, 3, 2, 3, 2, 3, 2, 3)),
             *square = wg_einsum(specs[0], (wg_value *[]){m, m}, 2);
    wg_output(wg_einsum(specs[1], (wg_value *[]){x, x, x, square}, 4), "y");
    check_that(wg_graph_status(g) == WG_OK, "%s", wg_graph_message(g));
    size_t n;
    char *dot = written(g, &(wg_picture_options){.full = true}, WG_PICTURE_DOT, &n);
    Agraph_t *read = agmemread(dot);
    assert_non_null(read);
    int found = 0;
    for (Agnode_t *box = agfstnode(read); box; box = agnxtnode(read, box)) {
        const char *label = agget(box, (char *)"label"), *tip = agget(box, (char *)"tooltip");
        if (!strstr(label, ">einsum<"))
            continue;
        const char *spec = specs[found++];
        assert_non_null(strstr(tip, spec));
        assert_true((strstr(label, "ab,bc-&gt;ac") != NULL) == (spec == specs[0]));
        assert_null(strstr(label, "abcdefgh"));
    }
    assert_int_equal(found, 2);
    agclose(read);
    free(dot);
    wg_graph_free(g);
}

static void pictures_are_laid_out(void **state)
{
    (void)state;
    size_t n;
    wg_graph *g = tower(true);
    char *svg = written(g, NULL, WG_PICTURE_SVG, &n);
    assert_non_null(strstr(svg, "<svg"));
    assert_non_null(strstr(svg, "</svg>"));
    char *png = written(g, NULL, WG_PICTURE_PNG, &n);
    assert_true(n > 1000);
    assert_memory_equal(png, "\x89PNG\r\n\x1a\n", 8);
    free(svg);
    free(png);
    wg_graph_free(g);
}

static void a_layout_past_its_time_is_stopped(void **state)
{
    (void)state;
    wg_graph *g = tower(true);
    wg_picture *p = picture(g, &(wg_picture_options){.full = true, .seconds = 1e-4});
    FILE *f = tmpfile();
    wg_error error;
    assert_int_equal(wg_picture_write(p, WG_PICTURE_SVG, f, &error), WG_ETIMEOUT);
    assert_non_null(strstr(error.text, "--depth"));
    assert_int_equal(ftell(f), 0);
    assert_int_equal(wg_picture_write(p, WG_PICTURE_DOT, f, NULL), WG_OK); /* still good */
    assert_true(ftell(f) > 0);
    fclose(f);
    wg_picture_free(p);
    wg_graph_free(g);
}

/* Whether the file begins as one of that format does. */
static bool begins_with(const char *path, const char *start)
{
    char text[64] = "";
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    return n >= strlen(start) && memcmp(text, start, strlen(start)) == 0;
}

static void the_ending_of_a_file_is_its_format(void **state)
{
    (void)state;
    static const char *const files[][2] = {{"saved.dot", "digraph"},
                                           {"saved.svg", "<?xml"},
                                           {"saved.png", "\x89PNG"},
                                           {"saved.wg", "wengert-graph 1"}};
    wg_graph *g = tower(false);
    wg_error error;
    for (int i = 0; i < WG_COUNT(files); i++) {
        check_that(wg_picture_save(g, files[i][0], NULL, &error) == WG_OK, "%s", error.text);
        assert_true(begins_with(files[i][0], files[i][1]));
        remove(files[i][0]);
    }
    const wg_picture_options negative = {.depth = -1};
    assert_int_equal(wg_picture_save(g, "saved.dot", NULL, NULL), WG_OK);
    assert_int_equal(wg_picture_save(g, "saved.dot", &negative, NULL), WG_EINVAL);
    assert_true(begins_with("saved.dot", "digraph")); /* a failure leaves what was there */
    remove("saved.dot");
    assert_int_equal(wg_picture_save(g, "no/such/folder.svg", NULL, &error), WG_EIO);
    assert_non_null(strstr(error.text, "no/such/folder.svg"));
    wg_graph_free(g);
}

/* Neither a text nor an ONNX model is lost to a picture. */
static void a_file_that_is_no_picture_stays(void **state)
{
    (void)state;
    static const char *const others[] = {"digraphs are two letters\n", "\x08\x07\x12\x01x",
                                         "<?xml version=\"1.0\"?><tmx/>"};
    wg_graph *g = tower(false);
    wg_error error;
    for (int i = 0; i < WG_COUNT(others); i++) {
        FILE *f = fopen("kept.dot", "wb");
        assert_non_null(f);
        fputs(others[i], f);
        fclose(f);
        assert_int_equal(wg_picture_save(g, "kept.dot", NULL, &error), WG_EINVAL);
        assert_string_equal(error.text,
                            "kept.dot: there is a file already, which is no picture and no graph; "
                            "give the picture another name, or remove that file");
        assert_true(begins_with("kept.dot", others[i]));
    }
    static const char *const results[] = {"", "<svg/>", "wengert-graph 1\n", "strict digraph {}"};
    for (int i = 0; i < WG_COUNT(results); i++) {
        FILE *f = fopen("kept.dot", "wb");
        assert_non_null(f);
        fputs(results[i], f);
        fclose(f);
        check_that(wg_picture_save(g, "kept.dot", NULL, &error) == WG_OK, "%s", error.text);
        assert_true(begins_with("kept.dot", "digraph"));
    }
    remove("kept.dot");
    wg_graph_free(g);
}

static void a_full_disk_is_an_error(void **state)
{
    (void)state;
    wg_graph *g = tower(false);
    FILE *full = fopen("/dev/full", "w");
    if (!full)
        skip();
    wg_picture *p = picture(g, NULL);
    for (int format = WG_PICTURE_DOT; format <= WG_PICTURE_PNG; format++) {
        wg_error error;
        assert_int_equal(wg_picture_write(p, (wg_picture_format)format, full, &error), WG_EIO);
        assert_true(*error.text);
    }
    fclose(full);
    wg_picture_free(p);
    wg_graph_free(g);
}

static void half_of_the_time(void *context, const wg_node *n, wg_picture_note *note)
{
    (void)context;
    if (strcmp(n->op->name, "matmul") == 0 && strcmp(n->scope->path, "head") == 0)
        *note = (wg_picture_note){
            .backend = "abacus", .kernel = "wooden", .seconds = 0.5, .share = 0.5};
}

static void notes_colour_the_picture(void **state)
{
    (void)state;
    size_t n;
    wg_graph *g = tower(false);
    char *plain = written(g, NULL, WG_PICTURE_DOT, &n);
    char *dot = written(g, &(wg_picture_options){.note = half_of_the_time}, WG_PICTURE_DOT, &n);
    assert_null(strstr(plain, "of the time"));
    assert_non_null(strstr(dot, "share of the time")); /* the legend, with the colour of 50 % */
    assert_non_null(strstr(dot, "<TD BGCOLOR=\"#ea7f6f\">"));
    free(dot);
    dot = written(g, &(wg_picture_options){.note = half_of_the_time, .no_legend = true},
                  WG_PICTURE_DOT, &n);
    assert_null(strstr(dot, "share of the time"));
    assert_non_null(strstr(dot, "50 % of the time"));
    assert_non_null(strstr(dot, "abacus"));
    assert_non_null(strstr(dot, "500 ms"));
    free(plain);
    free(dot);
    wg_graph_free(g);
}

/* One matmul of a layer that is not drawn, since it is like layer0. */
static void hot_in_layer3(void *context, const wg_node *n, wg_picture_note *note)
{
    (void)context;
    note->heat = 1e-9;
    if (strcmp(n->op->name, "matmul") == 0 && strcmp(n->scope->path, "encoder/layer3/first") == 0)
        *note = (wg_picture_note){.heat = 1, .text = "too hot"};
}

static void the_hottest_of_equal_scopes_is_shown(void **state)
{
    (void)state;
    static const wg_picture_options ways[] = {
        {.note = hot_in_layer3, .depth = 1}, /* inside a closed box */
        {.note = hot_in_layer3, .depth = 4}, /* a node of layer0 stands for it */
        {.note = hot_in_layer3, .full = true},
    };
    wg_graph *g = tower(false);
    for (int i = 0; i < WG_COUNT(ways); i++) {
        size_t n;
        char *dot = written(g, &ways[i], WG_PICTURE_DOT, &n);
        const char *first = strstr(dot, "<B>too hot</B>");
        assert_non_null(first);
        assert_null(strstr(first + 1, "<B>too hot</B>")); /* in one box */
        assert_non_null(strstr(dot, "#e24a33"));          /* red */
        assert_non_null(strstr(dot, "#ffffff"));          /* and the others white */
        free(dot);
    }
    wg_graph_free(g);
}
#else
static void without_graphviz_writing_says_so(void **state)
{
    (void)state;
    wg_graph *g = tower(false);
    wg_picture *p = picture(g, NULL);
    wg_error error;
    assert_int_equal(wg_picture_write(p, WG_PICTURE_DOT, stdout, &error), WG_EUNSUPPORTED);
    assert_non_null(strstr(error.text, "libgraphviz-dev"));
    wg_picture_free(p);
    wg_graph_free(g);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_arguments_have_messages),
        cmocka_unit_test(an_empty_graph_is_an_empty_picture),
#ifdef WG_HAVE_GRAPHVIZ
        cmocka_unit_test(the_same_graph_gives_the_same_dot),
        cmocka_unit_test(dot_parses_again_with_its_labels),
        cmocka_unit_test(hostile_names_stay_names),
        cmocka_unit_test(ops_of_programs_have_a_family),
        cmocka_unit_test(long_texts_stand_in_the_tooltip),
        cmocka_unit_test(pictures_are_laid_out),
        cmocka_unit_test(a_layout_past_its_time_is_stopped),
        cmocka_unit_test(the_ending_of_a_file_is_its_format),
        cmocka_unit_test(a_full_disk_is_an_error),
        cmocka_unit_test(a_file_that_is_no_picture_stays),
        cmocka_unit_test(notes_colour_the_picture),
        cmocka_unit_test(the_hottest_of_equal_scopes_is_shown),
#else
        cmocka_unit_test(without_graphviz_writing_says_so),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
