/* Each op with operands of any rank and type, and with one whose numbers cannot be read: the
 * answer is a graph, or a message with the file and the node; never a graph that lacks numbers. */
#include "tests/test.h"

#include "onnx/import.h"
#include "tests/onnx/text.h"
#include "wengert.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPERANDS = 4, NONE = -1, TEXT = 2000 };

static const char path[] = "operands.onnx", weights[] = "operands.bin";
static wg_error error;

/* ---- numbers that cannot be read ------------------------------------------------------------- */

ssize_t __real_pread(int fd, void *bytes, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *bytes, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *bytes, size_t size, off_t offset)
{
    struct stat s, own;
    if (stat(weights, &own) != 0 || fstat(fd, &s) != 0 || s.st_ino != own.st_ino)
        return __real_pread(fd, bytes, size, offset);
    return errno = EIO, -1;
}

/* The numbers of the initializer are in the file of weights. */
static void make_external(made *m, ox_tensor_proto *t)
{
    WgiOnnx__StringStringEntryProto **list = wgi_ox_room(&m->e, sizeof *list);
    list[0] = wgi_ox_room(&m->e, sizeof **list);
    wgi_onnx__string_string_entry_proto__init(list[0]);
    list[0]->key = (char *)"location";
    list[0]->value = (char *)weights;
    t->has_raw_data = false;
    t->has_data_location = true;
    t->data_location = WGI_ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    t->external_data = list;
    t->n_external_data = 1;
}

/* ---- one node -------------------------------------------------------------------------------- */

/* What the operands are: inputs of floats, but for the first `numbers` behind operand 0, which are
 * integers that the file has. */
typedef struct operands {
    int rank;
    int numbers;
    int count;      /* at least as many as the op needs */
    int unreadable; /* the one that cannot be read, or NONE */
} operands;

static const struct {
    const char *shape, *numbers;
} floats[] = {{"", "1"},
              {"2", "1, 1"},
              {"2,2", "1, 1, 1, 1"},
              {"1,2,2", "1, 1, 1, 1"},
              {"1,2,2,2", "1, 1, 1, 1, 1, 1, 1, 1"},
              {"1,1,2,2,2", "1, 1, 1, 1, 1, 1, 1, 1"}};

static bool is_integer(const operands *o, int i)
{
    return i > 0 && i <= o->numbers;
}

static void add_initializer(char *text, const operands *o, int i)
{
    size_t n = strlen(text);
    if (is_integer(o, i))
        snprintf(text + n, TEXT - n, "int64[4] v%d = {1, 1, 2, 2}, ", i);
    else if (i == o->unreadable)
        snprintf(text + n, TEXT - n, "float[%s] v%d = {%s}, ", floats[o->rank].shape, i,
                 floats[o->rank].numbers);
}

/* The attributes that an op must have. */
static const char *attributes_of(const char *op)
{
    static const struct {
        const char *op, *attributes;
    } all[] = {
        {"AveragePool", "<kernel_shape = [1]>"},
        {"BitShift", "<direction = \"LEFT\">"},
        {"Cast", "<to = 7>"},
        {"Concat", "<axis = 0>"},
        {"DepthToSpace", "<blocksize = 1>"},
        {"Einsum", "<equation = \"...->...\">"},
        {"GroupNormalization", "<num_groups = 1>"},
        {"LRN", "<size = 1>"},
        {"LpPool", "<kernel_shape = [1]>"},
        {"MaxPool", "<kernel_shape = [1]>"},
        {"MaxUnpool", "<kernel_shape = [1]>"},
        {"Momentum", "<alpha = 0.5, beta = 0.5, mode = \"standard\", norm_coefficient = 0.5>"},
        {"SpaceToDepth", "<blocksize = 1>"},
    };
    for (int i = 0; i < WG_COUNT(all); i++)
        if (strcmp(all[i].op, op) == 0)
            return all[i].attributes;
    return "";
}

static void write_text(char *text, const char *op, const operands *o)
{
    size_t n = 0;
    text[n++] = '(';
    for (int i = 0; i < o->count; i++)
        if (!is_integer(o, i) && i != o->unreadable)
            n += (size_t)snprintf(text + n, TEXT - n, "float[%s] v%d, ", floats[o->rank].shape, i);
    snprintf(text + n, TEXT - n, ") => (float[1] y) <");
    for (int i = 0; i < o->count; i++)
        add_initializer(text, o, i);
    n = strlen(text);
    n += (size_t)snprintf(text + n, TEXT - n, "int64[1] last = {0}> { y = %s %s (", op,
                          attributes_of(op));
    for (int i = 0; i < o->count; i++)
        n += (size_t)snprintf(text + n, TEXT - n, "%sv%d", i ? ", " : "", i);
    snprintf(text + n, TEXT - n, ") }");
}

/* Imports a model of that node. */
static wg_status import(wg_graph **g, const ox_op *op, const operands *o)
{
    char text[TEXT], unreadable[8];
    made m;
    const char *const all[] = {"*"};
    const wg_onnx_import_options options = {.frozen = all, .n_frozen = 1};
    made_begin(&m);
    write_text(text, op->name, o);
    ox_graph_proto *graph = onnx_text(&m, text);
    if (op->flags & OX_TRAINING)
        graph->node[0]->domain = (char *)"ai.onnx.preview.training";
    graph->output[0]->type = NULL; /* its sizes depend on the op */
    snprintf(unreadable, sizeof unreadable, "v%d", o->unreadable);
    for (size_t i = 0; i < graph->n_initializer; i++)
        if (strcmp(graph->initializer[i]->name, unreadable) == 0)
            make_external(&m, graph->initializer[i]);
    onnx_write(graph, 22, path);
    made_free(&m);
    wg_status status = wg_onnx_import(g, path, &options, &error);
    unlink(path); /* to write a file anew takes less time than to write over it */
    return status;
}

typedef void checker(const ox_op *op, const operands *o, size_t *counts);

/* Calls `check` for that op with `count` operands, of all kinds. */
static void visit_op(const ox_op *op, int count, checker *check, size_t *counts)
{
    for (int rank = 0; rank < WG_COUNT(floats); rank++)
        for (int numbers = 0; numbers <= 2 && numbers < count; numbers++)
            check(op, &(operands){rank, numbers, count, NONE}, counts);
}

/* How many operands to give at most of those that it takes. */
static int most_of(const ox_op *op)
{
    return op->max < OPERANDS ? op->max : OPERANDS;
}

/* For each op, with the operands that it must have, with more, and with more than it takes. */
static void visit(checker *check, size_t *counts)
{
    const ox_op *op;
    for (size_t i = 0; (op = wgi_ox_op_at(i)); i++) {
        for (int count = op->min ? op->min : 1; count <= most_of(op); count++)
            visit_op(op, count, check, counts);
        if (op->max < OPERANDS)
            visit_op(op, op->max + 1, check, counts);
    }
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* counts: graphs, and messages. */
static void check_any(const ox_op *op, const operands *o, size_t *counts)
{
    wg_graph *g;
    wg_status status = import(&g, op, o);
    assert_true((status == WG_OK) == (g != NULL));
    if (status != WG_OK)
        check_that(strncmp(error.text, path, strlen(path)) == 0 && strstr(error.text, op->name),
                   "%s, rank %d: %s", op->name, o->rank, error.text);
    counts[status != WG_OK]++;
    wg_graph_free(g);
}

static void any_operands_are_a_graph_or_a_message(void **state)
{
    (void)state;
    size_t counts[2] = {0, 0};
    visit(check_any, counts);
    print_message("%zu graphs, %zu messages\n", counts[0], counts[1]);
    assert_true(counts[0] > 700 && counts[1] > 4000);
}

/* An operand that the op must have is read, unless the op has refused the others before. */
static void check_unreadable(const ox_op *op, const operands *o, size_t *counts)
{
    operands bad = *o;
    bool enough = o->count == (op->min ? op->min : 1);
    if (o->rank % 2 || o->numbers > 1 || (!enough && o->count < most_of(op)))
        return;
    for (bad.unreadable = enough ? 0 : op->min; bad.unreadable < o->count; bad.unreadable++) {
        wg_graph *g;
        wg_status status = import(&g, op, &bad);
        bool only_type = strcmp(op->name, "CastLike") == 0 && bad.unreadable == 1;
        check_that(status != WG_OK || bad.unreadable >= op->min || only_type,
                   "%s: a graph without the numbers of operand %d", op->name, bad.unreadable);
        if (status == WG_EIO) {
            check_that(strstr(error.text, "operands.bin: read"), "%s", error.text);
            counts[0]++;
        }
        counts[1]++;
        wg_graph_free(g);
    }
}

static void numbers_that_cannot_be_read_are_a_message(void **state)
{
    (void)state;
    static const uint8_t nothing[64] = {0};
    size_t counts[2] = {0, 0};
    FILE *f = fopen(weights, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(nothing, 1, sizeof nothing, f), sizeof nothing);
    fclose(f);
    visit(check_unreadable, counts);
    print_message("%zu of %zu models were not read\n", counts[0], counts[1]);
    assert_true(counts[0] > 1300);
}

static int remove_files(void **state)
{
    (void)state;
    unlink(path);
    unlink(weights);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_operands_are_a_graph_or_a_message),
        cmocka_unit_test(numbers_that_cannot_be_read_are_a_message),
    };
    return cmocka_run_group_tests(tests, NULL, remove_files);
}
