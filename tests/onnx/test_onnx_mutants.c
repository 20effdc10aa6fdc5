/* Legal models of which one field is another: an operand that is left out, an attribute that is
 * extreme or was not meant, a shape, a dtype, an opset.  Each is imported, as a graph that passes
 * the builders' checks, or refused with a message that names the file.
 *
 * The models are those of strangers.def and, if it is installed, one for each op of ONNX's own
 * suite; of its mutants, every seventh, and with sanitizers every 29th.
 *
 *     test_onnx_mutants [all]      all of them */
#include "tests/onnx/cases.h"
#include "tests/onnx/strangers.h"
#include "tests/test.h"

#include "files/read.h"
#include "graph/element.h"
#include "onnx/model.h"

#include <limits.h>
#include <math.h>
#include <unistd.h>

static const char path[] = "mutant.onnx";

/* A model, and what is told about it when it is imported. */
typedef struct mutant {
    const char *name;
    ox_model_proto *model;
    wg_onnx_known *known;
    size_t n_known;
} mutant;

static struct {
    size_t made, imported, refused;
} counts;
static size_t share = 1; /* of the mutants, one in so many is tried */
static bool all;         /* of those of the suite too */

/* Imports the model as it is now; `what` is what differs from the legal one. */
static void try_it(const mutant *m, const char *what)
{
    if (counts.made++ % share)
        return;
    wg_graph *g;
    wg_error error;
    size_t size = wgi_onnx__model_proto__get_packed_size(m->model);
    uint8_t *bytes = malloc(size + 1);
    assert_non_null(bytes);
    wgi_onnx__model_proto__pack(m->model, bytes);
    unlink(path); /* to make a file anew is a hundred times as fast as to cut one off, on ext4 */
    made_file(bytes, size, path);
    const wg_onnx_import_options o = {.other_dims = 2,
                                      .known = m->known,
                                      .n_known = m->n_known,
                                      .train = (counts.imported + counts.refused) % 2};
    wg_status status = wg_onnx_import(&g, path, &o, &error);
    check_that((status == WG_OK) == (g != NULL), "%s, %s", m->name, what);
    if (g) {
        check_that(wg_graph_verify(g) == WG_OK, "%s, %s: %s", m->name, what, wg_graph_message(g));
        counts.imported++;
    } else {
        const char *text = error.text + strlen(path);
        check_that(strncmp(error.text, path, strlen(path)) == 0 && strlen(text) > 2 &&
                       status != WG_ENOMEM,
                   "%s, %s: %s: %s", m->name, what, wg_status_text(status), error.text);
        counts.refused++;
    }
    wg_graph_free(g);
}

/* ---- one field ------------------------------------------------------------------------------- */

static void with_int(const mutant *m, const char *what, int64_t *field)
{
    static const int64_t others[] = {INT64_MIN, -3, -1, 0, 1, 2, 7, 1 << 30, INT32_MAX, INT64_MAX};
    const int64_t kept = *field;
    for (int i = 0; i < WG_COUNT(others); i++) {
        *field = others[i];
        try_it(m, what);
    }
    *field = kept;
}

static void with_number(const mutant *m, const char *what, int32_t *field, int32_t end)
{
    const int32_t kept = *field;
    for (*field = 0; *field < end; ++*field)
        try_it(m, what);
    *field = kept;
}

static void with_real(const mutant *m, const char *what, float *field)
{
    static const float others[] = {NAN, -1, 0, 0.5f, 3e38f};
    const float kept = *field;
    for (int i = 0; i < WG_COUNT(others); i++) {
        *field = others[i];
        try_it(m, what);
    }
    *field = kept;
}

static void with_count(const mutant *m, const char *what, size_t *field, size_t other)
{
    const size_t kept = *field;
    *field = other;
    try_it(m, what);
    *field = kept;
}

static void with_text(const mutant *m, const char *what, char **field, const char *other)
{
    char *kept = *field;
    *field = (char *)(uintptr_t)other; /* the messages know no const */
    try_it(m, what);
    *field = kept;
}

static void with_bytes(const mutant *m, const char *what, ProtobufCBinaryData *field,
                       const char *other)
{
    const ProtobufCBinaryData kept = *field;
    *field = (ProtobufCBinaryData){strlen(other), (uint8_t *)(uintptr_t)other};
    try_it(m, what);
    *field = kept;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static void nodes(const mutant *m, ox_node_proto **list, size_t n);

static void subgraph(const mutant *m, ox_attribute_proto *a)
{
    ox_graph_proto *g = a->g;
    a->g = NULL;
    try_it(m, "no subgraph");
    a->g = g;
    nodes(m, g->node, g->n_node);
    for (size_t k = 0; k < g->n_output; k++)
        with_text(m, "an output of a subgraph", &g->output[k]->name, "nothing");
    if (g->n_output)
        with_count(m, "outputs of a subgraph", &g->n_output, g->n_output - 1);
    if (g->n_input)
        with_count(m, "inputs of a subgraph", &g->n_input, g->n_input - 1);
}

static void attribute(const mutant *m, ox_attribute_proto *a)
{
    with_text(m, a->name, &a->name, "another name");
    if (a->has_i)
        with_int(m, a->name, &a->i);
    if (a->has_f)
        with_real(m, a->name, &a->f);
    if (a->has_s)
        with_bytes(m, a->name, &a->s, "x");
    for (size_t k = 0; k<a->n_ints; k += a->n_ints> 1 ? a->n_ints - 1 : 1)
        with_int(m, a->name, &a->ints[k]);
    if (a->n_ints)
        with_count(m, a->name, &a->n_ints, a->n_ints - 1);
    if (a->n_floats) {
        with_real(m, a->name, &a->floats[a->n_floats - 1]);
        with_count(m, a->name, &a->n_floats, a->n_floats - 1);
    }
    for (size_t k = 0; k < a->n_strings; k++)
        with_bytes(m, a->name, &a->strings[k], "x");
    if (a->t)
        with_number(m, a->name, &a->t->data_type, 18);
    if (a->g)
        subgraph(m, a);
}

/* Attributes that change what some op does. */
static const struct {
    const char *name, *word;
    int64_t number;
} further[] = {{"allowzero", NULL, 1},
               {"antialias", NULL, 1},
               {"auto_pad", "SAME_LOWER", 0},
               {"auto_pad", "VALID", 0},
               {"axis", NULL, -1},
               {"axis", NULL, 0},
               {"axis", NULL, 1},
               {"axis", NULL, 9},
               {"batch_dims", NULL, 1},
               {"block_size", NULL, 2},
               {"ceil_mode", NULL, 1},
               {"clip", NULL, 1},
               {"count_include_pad", NULL, 1},
               {"detect_negative", NULL, 0},
               {"detect_positive", NULL, 0},
               {"direction", "bidirectional", 0},
               {"direction", "reverse", 0},
               {"exclude_outside", NULL, 1},
               {"fmod", NULL, 1},
               {"group", NULL, 2},
               {"ignore_index", NULL, 1},
               {"input_forget", NULL, 1},
               {"inverse", NULL, 1},
               {"is_causal", NULL, 1},
               {"keepdims", NULL, 0},
               {"largest", NULL, 0},
               {"layout", NULL, 1},
               {"mode", "linear", 0},
               {"mode", "nesterov", 0},
               {"mode", "wrap", 0},
               {"noop_with_empty_axes", NULL, 1},
               {"onesided", NULL, 1},
               {"output_dtype", NULL, 4},
               {"periodic", NULL, 0},
               {"reduction", "none", 0},
               {"reduction", "sum", 0},
               {"select_last_index", NULL, 1},
               {"spatial", NULL, 0},
               {"storage_order", NULL, 1},
               {"transA", NULL, 1},
               {"transB", NULL, 1},
               {"upper", NULL, 0}};

static void more_attributes(const mutant *m, ox_node_proto *p)
{
    ox_attribute_proto **kept = p->attribute, *list[40];
    assert_true(p->n_attribute < WG_COUNT(list));
    if (p->n_attribute)
        memcpy(list, kept, p->n_attribute * sizeof *list);
    p->attribute = list;
    p->n_attribute++;
    for (int i = 0; i < WG_COUNT(further); i++) {
        ox_attribute_proto a = WGI_ONNX__ATTRIBUTE_PROTO__INIT;
        const char *word = further[i].word;
        a.name = (char *)(uintptr_t)further[i].name;
        a.has_i = !word;
        a.i = further[i].number;
        a.has_s = word != NULL;
        a.s = (ProtobufCBinaryData){word ? strlen(word) : 0, (uint8_t *)(uintptr_t)word};
        list[p->n_attribute - 1] = &a;
        try_it(m, further[i].name);
    }
    p->attribute = kept;
    p->n_attribute--;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void nodes(const mutant *m, ox_node_proto **list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ox_node_proto *p = list[i];
        for (size_t k = 0; k < p->n_input; k++) {
            with_text(m, "no operand", &p->input[k], "");
            with_text(m, "an unknown operand", &p->input[k], "unknown");
            with_text(m, "another operand", &p->input[k], p->input[p->n_input - 1 - k]);
            with_count(m, "fewer operands", &p->n_input, k);
        }
        for (size_t k = 0; k < p->n_output; k++)
            with_text(m, "no result", &p->output[k], "");
        for (size_t k = 0; k < p->n_attribute; k++)
            attribute(m, p->attribute[k]);
        if (n < 4)
            more_attributes(m, p);
    }
}

/* ---- operands -------------------------------------------------------------------------------- */

/* The type of an input: its dtype, its sizes, fewer and more axes. */
static void input(const mutant *m, ox_value_proto *v)
{
    if (!v->type || v->type->value_case != WGI_ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
        return;
    WgiOnnx__TypeProto__Tensor *t = v->type->tensor_type;
    with_number(m, "the dtype of an input", &t->elem_type, 18);
    for (size_t k = 0; t->shape && k < t->shape->n_dim; k++) {
        ox_dim_proto *d = t->shape->dim[k];
        if (d->value_case == WGI_ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE)
            with_int(m, "a size of an input", &d->dim_value);
        with_count(m, "axes of an input", &t->shape->n_dim, k);
    }
    if (!t->shape || !t->shape->n_dim || t->shape->n_dim > WG_MAX_RANK)
        return;
    ox_dim_proto *more[WG_MAX_RANK + 1], **kept = t->shape->dim;
    memcpy(more, kept, t->shape->n_dim * sizeof *more);
    more[t->shape->n_dim] = kept[0];
    t->shape->dim = more;
    with_count(m, "one more axis of an input", &t->shape->n_dim, t->shape->n_dim + 1);
    t->shape->dim = kept;
}

/* The numbers of a known operand, their count and axes. */
static void known(const mutant *m, wg_onnx_known *k)
{
    const wg_onnx_known kept = *k;
    int64_t count = wg_shape_count(&k->shape);
    double *number = calloc(1, sizeof *number);
    assert_non_null(number);
    for (int64_t i = 0; i < count && i < 4; i++) {
        int64_t *whole = (int64_t *)(void *)((char *)(uintptr_t)k->data + 8 * i);
        if (k->dtype == WG_I64)
            with_int(m, "a known number", whole);
        if (k->dtype == WG_F32)
            with_real(m, "a known number", (float *)(uintptr_t)k->data + i);
    }
    *k = (wg_onnx_known){.input = kept.input, .dtype = WG_F64, .data = number};
    try_it(m, "one known number");
    *k =
        (wg_onnx_known){.input = kept.input, .dtype = WG_I64, .shape = WG_SHAPE(0), .data = number};
    try_it(m, "no known numbers");
    *k = kept;
    k->shape = WG_SHAPE(1, count);
    try_it(m, "an axis more of known numbers");
    k->shape = WG_SHAPE(count > 0 ? count - 1 : 0);
    try_it(m, "fewer known numbers");
    *k = kept;
    free(number);
}

static void every_field(mutant *m)
{
    static const int opsets[] = {0, 1, 2, 5, 6, 7, 8, 9, 10, 11, 12, 13, 18, 20, 24, 25};
    ox_graph_proto *g = m->model->graph;
    try_it(m, "nothing");
    check_that(m->model->n_opset_import > 0, "%s: no opset", m->name);
    int64_t *opset = &m->model->opset_import[0]->version;
    const int64_t kept = *opset;
    for (int i = 0; i < WG_COUNT(opsets); i++) {
        *opset = opsets[i];
        try_it(m, "the opset");
    }
    *opset = kept;
    nodes(m, g->node, g->n_node);
    for (size_t i = 0; i < g->n_input; i++)
        input(m, g->input[i]);
    for (size_t i = 0; i < g->n_initializer; i++)
        with_number(m, "the dtype of an initializer", &g->initializer[i]->data_type, 18);
    for (size_t i = 0; i < m->n_known; i++)
        known(m, &m->known[i]);
    if (m->n_known)
        with_count(m, "what is known", &m->n_known, m->n_known - 1);
}

/* ---- models ---------------------------------------------------------------------------------- */

/* The whole message: an import leaves numbers in the file. */
static ox_model_proto *read_model(const char *file)
{
    char *bytes;
    size_t size;
    wg_error error;
    check_that(wgi_file_read(&bytes, &size, file, INT_MAX, &error) == WG_OK, "%s", error.text);
    ox_model_proto *m = wgi_onnx__model_proto__unpack(NULL, size, (const uint8_t *)bytes);
    assert_non_null(m);
    free(bytes);
    return m;
}

static void mutants_of_strangers(void **state)
{
    (void)state;
    for (int i = 0; i < WG_COUNT(strangers); i++) {
        write_stranger(&strangers[i], path);
        mutant m = {.name = strangers[i].name, .model = read_model(path)};
        every_field(&m);
        wgi_onnx__model_proto__free_unpacked(m.model, NULL);
    }
    printf("%zu imported, %zu refused\n", counts.imported, counts.refused);
    assert_true(counts.imported > 1000 && counts.refused > 1000);
}

static void mutants_of_case(onnx_case *c, void *context)
{
    char file[400];
    (void)context;
    snprintf(file, sizeof file, "%s/model.onnx", c->folder);
    mutant m = {strrchr(c->folder, '/') + 1, read_model(file), c->known, c->n_known};
    every_field(&m);
    wgi_onnx__model_proto__free_unpacked(m.model, NULL);
}

static void mutants_of_the_suite(void **state)
{
    (void)state;
    memset(&counts, 0, sizeof counts);
    const size_t one_in = all ? 1 : SANITIZED ? 29 : 7;
    share = one_in;
    size_t n = onnx_visit_cases(mutants_of_case, NULL);
    share = 1;
    printf("%zu models: %zu imported, %zu refused, of %zu\n", n, counts.imported, counts.refused,
           counts.made);
    if (!n)
        skip();
    assert_true(n > 100 && counts.imported > 6500 / one_in && counts.refused > 3500 / one_in);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void what_does_not_fit_is_told(void **state)
{
    (void)state;
    static const struct {
        int opset;
        const char *inputs, *initializers, *node, *message;
    } cases[] = {
        {13, "float[2] x, int64[2] b", "int64[] one = {1}", "Div (x, b)", "Div"},
        {13, "int64[2] x, float[2] b", "int64[] one = {1}", "Div (x, b)", "Div"},
        {13, "float[1,1,2,3] x", "int64[4] sizes = {1, 1, 1073741824, 3}",
         "Resize <mode = \"nearest\"> (x, , , sizes)", "positions, got 1073741824"},
        {13, "float[1,1,1,3] x", "int64[4] sizes = {1, 1, 67108864, 3}",
         "Resize <mode = \"cubic\"> (x, , , sizes)", "positions, got 67108864"},
        {14, "float[2,3] x", "int64[] k = {9223372036854775807}", "Trilu (x, k)",
         "operand 1: expected a smaller number"},
        {18, "float[2,3] x", "int64[2] s = {-9223372036854775808, 1}", "CenterCropPad (x, s)",
         "size -9223372036854775808"},
        {13, "float[1,1073741824,0,0] x", "int64[] one = {1}",
         "SpaceToDepth <blocksize = 1048576> (x)", "blocksize 1048576"},
        {11, "float[1,1,2,2] x, float[1,1,3,3] w", "int64[] one = {1}",
         "ConvTranspose <output_shape = [-9223372036854775808, 4]> (x, w)",
         "output_shape: -9223372036854775808"},
        {11, "float[1,1,2147483648,2] x", "int64[] one = {1}",
         "MaxPool <kernel_shape = [2, 2]> (x)", "on an axis of size 2147483648"},
        {11, "float[1,1,2,2] x, int64[1,1,2,2] i", "int64[4] s = {1, 1, -9223372036854775808, 4}",
         "MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, i, s)", "axis 2 would get"},
        {18, "float[1,4,4] x", "int64[2] s = {4, 4}, int64[2] b = {1073741824, 1073741824}",
         "Col2Im (x, s, b)", "windows of 1.15"},
        {21, "int32[2,4] x", "float[2,2] s = {1, 1, 1, 1}",
         "DequantizeLinear <axis = 1, block_size = 9223372036854775807> (x, s)",
         "DequantizeLinear"},
        {13, "float[3] x", "int64[] n = {3}",
         "Loop <body = () => (bool[] c) { c = Identity (n) }> (n)", "a count and a condition"},
    };
    for (int i = 0; i < WG_COUNT(cases); i++) {
        char text[1000];
        made m;
        wg_graph *g;
        wg_error error;
        snprintf(text, sizeof text, "(%s) => (float[1] y) <%s> { y = %s }", cases[i].inputs,
                 cases[i].initializers, cases[i].node);
        made_begin(&m);
        onnx_write(onnx_text(&m, text), cases[i].opset, path);
        made_free(&m);
        check_that(wg_onnx_import(&g, path, NULL, &error) != WG_OK, "case %d", i);
        check_that(strstr(error.text, cases[i].message) != NULL, "case %d: %s", i, error.text);
    }
}

static int remove_file(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_fit_is_told),
        cmocka_unit_test(mutants_of_strangers),
        cmocka_unit_test(mutants_of_the_suite),
    };
    all = argc > 1 && strcmp(argv[1], "all") == 0;
    return cmocka_run_group_tests(tests, NULL, remove_file);
}
