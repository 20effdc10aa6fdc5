/* What is read of a file of messages: all of it but long numbers, which stay where they are, and
 * fields that nobody knows. */
#include "tests/test.h"

#include "onnx/file.h"
#include "wengert.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

static const char path[] = "condense.onnx";
static wg_error error;

enum { LARGEST = 200000 };
static uint8_t numbers[LARGEST];

/* ---- files ----------------------------------------------------------------------------------- */

static ox_tensor_proto tensor_of(size_t size)
{
    static int64_t dims[16];
    static int next;
    ox_tensor_proto t = WGI_ONNX__TENSOR_PROTO__INIT;
    int64_t *dim = &dims[next++ % WG_COUNT(dims)];
    *dim = (int64_t)size;
    t.has_data_type = t.has_raw_data = true;
    t.data_type = WGI_ONNX__TENSOR_PROTO__DATA_TYPE__UINT8;
    t.dims = dim;
    t.n_dims = 1;
    t.raw_data.data = numbers;
    t.raw_data.len = size;
    return t;
}

static size_t pack(uint8_t **bytes, const ProtobufCMessage *m)
{
    *bytes = malloc(protobuf_c_message_get_packed_size(m) + 1);
    assert_non_null(*bytes);
    return protobuf_c_message_pack(m, *bytes);
}

static void write_bytes(const void *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");
    assert_true(f && fwrite(bytes, 1, size, f) == size);
    assert_int_equal(fclose(f), 0);
}

static void write_message(const ProtobufCMessage *m)
{
    uint8_t *bytes;
    size_t size = pack(&bytes, m);
    write_bytes(bytes, size);
    free(bytes);
}

/* Bytes that are put together. */
typedef struct text {
    uint8_t bytes[4096];
    size_t n;
} text;

static void put(text *t, const void *bytes, size_t n)
{
    memcpy(t->bytes + t->n, bytes, n);
    t->n += n;
}

/* Seven bits of a number; the eighth says that more follow. */
static void put_bits(text *t, uint64_t bits, bool more)
{
    const uint8_t end = more ? 128 : 0, byte = (uint8_t)(bits & 127) | end;
    put(t, &byte, 1);
}

/* A field with a length, whose number takes `width` bytes; it may have more than it needs. */
static void put_field(text *t, uint32_t field, size_t width, const void *bytes, size_t n)
{
    for (uint32_t tag = field << 3 | 2; tag; tag >>= 7)
        put_bits(t, tag, tag > 127);
    for (size_t i = 0; i < width; i++)
        put_bits(t, n >> 7 * i, i + 1 < width);
    put(t, bytes, n);
}

/* ---- a system that answers as a test wants --------------------------------------------------- */

static struct {
    int after; /* so many calls of pread */
    int errors[2];
    bool ends;    /* there is nothing more to read */
    size_t most;  /* bytes of a call; 0: any number */
    int reserved; /* calls of realloc with memory left, from 1 on; 0: all */
} world;

ssize_t __real_pread(int fd, void *bytes, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *bytes, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *bytes, size_t size, off_t offset)
{
    if (world.after-- <= 0) {
        int why = world.errors[0];
        world.errors[0] = world.errors[1];
        world.errors[1] = 0;
        if (why)
            return errno = why, -1;
        if (world.ends)
            return 0;
    }
    return __real_pread(fd, bytes, world.most && world.most < size ? world.most : size, offset);
}

void *__real_realloc(void *p, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_realloc(void *p, size_t size)
{
    if (world.reserved && world.reserved-- == 1)
        return NULL;
    return __real_realloc(p, size);
}

/* ---- what is read ---------------------------------------------------------------------------- */

/* Tensors of each size in the graph, in a node and in a graph within it; raw_data of 0 bytes, which
 * is there, and none. */
static void write_model(void)
{
    static const size_t sizes[] = {0, 1, 1023, 1024, 1025, 65535, 65536, LARGEST};
    enum { N = WG_COUNT(sizes) };
    ox_tensor_proto tensor[N + 1], *list[N + 1], inside = tensor_of(3000), value = tensor_of(5000);
    for (int i = 0; i < N; i++)
        tensor[i] = tensor_of(sizes[i]);
    tensor[N] = tensor_of(0);
    tensor[N].has_raw_data = false;
    for (int i = 0; i <= N; i++)
        list[i] = &tensor[i];
    ox_graph_proto part = WGI_ONNX__GRAPH_PROTO__INIT, graph = part;
    part.n_initializer = 1;
    part.initializer = (ox_tensor_proto *[]){&inside};
    ox_attribute_proto attribute[2] = {WGI_ONNX__ATTRIBUTE_PROTO__INIT,
                                       WGI_ONNX__ATTRIBUTE_PROTO__INIT};
    attribute[0].t = &value;
    attribute[1].g = &part;
    ox_node_proto node = WGI_ONNX__NODE_PROTO__INIT;
    node.n_attribute = 2;
    node.attribute = (ox_attribute_proto *[]){&attribute[0], &attribute[1]};
    graph.n_node = 1;
    graph.node = (ox_node_proto *[]){&node};
    graph.n_initializer = N + 1;
    graph.initializer = list;
    ox_model_proto m = WGI_ONNX__MODEL_PROTO__INIT;
    m.producer_name = (char *)"somebody";
    m.graph = &graph;
    write_message(&m.base);
}

/* Reads the numbers of a tensor to where the whole message would have them; counts them. */
static void bring_back(ox_file *f, ox_tensor_proto *t, int *count)
{
    ox_place place;
    bool stays = wgi_ox_place_of(&place, t);
    assert_int_equal(stays, t->n_dims == 1 && t->dims[0] >= 1024);
    if (!stays)
        return;
    assert_false(t->has_raw_data);
    assert_int_equal(place.length, t->dims[0]);
    t->has_raw_data = true;
    t->raw_data.len = (size_t)place.length;
    t->raw_data.data = malloc(t->raw_data.len);
    assert_non_null(t->raw_data.data);
    check_that(wgi_ox_file_bytes(t->raw_data.data, f, place, &error) == WG_OK, "%s", error.text);
    assert_int_equal(t->base.n_unknown_fields, 1);
    free(t->base.unknown_fields[0].data);
    free(t->base.unknown_fields);
    t->base.unknown_fields = NULL;
    t->base.n_unknown_fields = 0;
    ++*count;
}

static void all_but_long_numbers(void **state)
{
    static const size_t most[] = {0, 1, 100};
    (void)state;
    write_model();
    for (int i = 0; i < WG_COUNT(most); i++) {
        ox_file f;
        int count = 0;
        uint8_t *whole, *file = malloc(2 * LARGEST + 65536 * 4);
        world.most = most[i];
        check_that(wgi_ox_file_open(&f, path, &wgi_onnx__model_proto__descriptor, &error) == WG_OK,
                   "%s", error.text);
        ox_model_proto *m = (ox_model_proto *)(void *)f.message;
        assert_true(protobuf_c_message_get_packed_size(f.message) < 3000);
        world.most = 0;
        for (size_t k = 0; k < m->graph->n_initializer; k++)
            bring_back(&f, m->graph->initializer[k], &count);
        bring_back(&f, m->graph->node[0]->attribute[0]->t, &count);
        bring_back(&f, m->graph->node[0]->attribute[1]->g->initializer[0], &count);
        assert_int_equal(count, 7);
        size_t n = pack(&whole, f.message);
        FILE *stream = fopen(path, "rb");
        assert_non_null(stream);
        assert_int_equal(fread(file, 1, n + 1, stream), n);
        assert_memory_equal(file, whole, n);
        fclose(stream);
        free(whole);
        free(file);
        wgi_ox_file_close(&f);
    }
}

/* Lengths may be written with more bytes than they need, also around what becomes shorter. */
static void lengths_keep_their_bytes(void **state)
{
    (void)state;
    for (size_t width = 2; width <= 5; width++) {
        text graph = {.n = 0}, model = {.n = 0};
        uint8_t *bytes;
        ox_file f;
        ox_place place;
        ox_tensor_proto t = tensor_of(1500);
        size_t n = pack(&bytes, &t.base);
        put_field(&graph, 5, width, bytes, n); /* an initializer */
        put_field(&graph, 2, width, "g", 1);
        put_field(&model, 7, width, graph.bytes, graph.n);
        free(bytes);
        write_bytes(model.bytes, model.n);
        check_that(wgi_ox_file_open(&f, path, &wgi_onnx__model_proto__descriptor, &error) == WG_OK,
                   "%s", error.text);
        const ox_model_proto *m = (const ox_model_proto *)(const void *)f.message;
        assert_string_equal(m->graph->name, "g");
        assert_int_equal(m->graph->n_initializer, 1);
        assert_true(wgi_ox_place_of(&place, m->graph->initializer[0]));
        assert_int_equal(place.length, 1500);
        wgi_ox_file_close(&f);
    }
}

/* Nobody can say where numbers lie but the reader: the field in which it does so is one that nobody
 * knows, if it is in a file. */
static void unknown_fields_are_left_out(void **state)
{
    (void)state;
    static const uint32_t fields[] = {99, (1 << 29) - 1};
    const ox_place forged = {0, 1024};
    for (int i = 0; i < WG_COUNT(fields); i++) {
        text tensor = {.n = 0};
        ox_file f;
        ox_place place;
        put_field(&tensor, 8, 1, "w", 1);
        put_field(&tensor, fields[i], 1, &forged, sizeof forged);
        put(&tensor, "\xf8\x06\x05", 3);               /* 111: the number 5 */
        put(&tensor, "\xfd\x06\1\2\3\4", 6);           /* 111: four bytes */
        put(&tensor, "\xf9\x06\1\2\3\4\5\6\7\x8", 10); /* 111: eight bytes */
        write_bytes(tensor.bytes, tensor.n);
        check_that(wgi_ox_file_open(&f, path, &wgi_onnx__tensor_proto__descriptor, &error) == WG_OK,
                   "%s", error.text);
        const ox_tensor_proto *t = (const ox_tensor_proto *)(const void *)f.message;
        assert_string_equal(t->name, "w");
        assert_int_equal(t->base.n_unknown_fields, 0);
        assert_false(wgi_ox_place_of(&place, t));
        wgi_ox_file_close(&f);
    }
}

/* What is long and no number of a tensor is read with all else. */
static void long_texts_are_read(void **state)
{
    (void)state;
    char name[3000];
    ox_file f;
    ox_place place;
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    ox_tensor_proto t = tensor_of(10), *list[] = {&t};
    t.name = name;
    ox_graph_proto graph = WGI_ONNX__GRAPH_PROTO__INIT;
    graph.n_initializer = 1;
    graph.initializer = list;
    ox_model_proto m = WGI_ONNX__MODEL_PROTO__INIT;
    m.graph = &graph;
    m.doc_string = name;
    write_message(&m.base);
    check_that(wgi_ox_file_open(&f, path, &wgi_onnx__model_proto__descriptor, &error) == WG_OK,
               "%s", error.text);
    const ox_model_proto *read = (const ox_model_proto *)(const void *)f.message;
    const ox_tensor_proto *x = read->graph->initializer[0];
    assert_string_equal(read->doc_string, name);
    assert_string_equal(x->name, name);
    assert_false(wgi_ox_place_of(&place, x));
    wgi_ox_file_close(&f);
}

/* A field that a program has added to a message says nothing of places. */
static void fields_of_others_are_no_places(void **state)
{
    (void)state;
    ox_file f;
    ox_place place;
    ox_tensor_proto t = tensor_of(1500);
    write_message(&t.base);
    check_that(wgi_ox_file_open(&f, path, &wgi_onnx__tensor_proto__descriptor, &error) == WG_OK,
               "%s", error.text);
    ox_tensor_proto *read = (ox_tensor_proto *)(void *)f.message;
    ProtobufCMessageUnknownField *field = &read->base.unknown_fields[0];
    assert_true(wgi_ox_place_of(&place, read));
    field->len--;
    assert_false(wgi_ox_place_of(&place, read));
    field->len++;
    field->tag--;
    assert_false(wgi_ox_place_of(&place, read));
    wgi_ox_file_close(&f);
}

/* Each time that what was read outgrows its memory, wherever in the message that is. */
static void no_memory_to_read(void **state)
{
    (void)state;
    int refused = 0;
    char name[300] = "";
    for (int length = 1; length < 200; length++) {
        ox_tensor_proto t = tensor_of(1500);
        name[length - 1] = 'n';
        t.name = name;
        write_message(&t.base);
        wg_status status = WG_ENOMEM;
        for (int calls = 1; status != WG_OK; calls++) {
            ox_file f;
            world.reserved = calls;
            status = wgi_ox_file_open(&f, path, &wgi_onnx__tensor_proto__descriptor, &error);
            world.reserved = 0;
            check_that(status == WG_OK || status == WG_ENOMEM, "%s", error.text);
            refused += status != WG_OK;
            if (status == WG_OK)
                wgi_ox_file_close(&f);
        }
    }
    assert_in_range(refused, 199, 10000);
}

/* One byte more than protobuf-c takes; most of it are no blocks of the disk. */
static void files_that_are_too_large(void **state)
{
    (void)state;
    ox_file f;
    write_bytes("", 0);
    assert_int_equal(truncate(path, (off_t)INT_MAX + 1), 0);
    assert_int_equal(wgi_ox_file_open(&f, path, &wgi_onnx__model_proto__descriptor, &error),
                     WG_EDATA);
    check_that(strstr(error.text, "expected at most 2147483647 bytes, got 2147483648"), "%s",
               error.text);
}

/* ---- tensors --------------------------------------------------------------------------------- */

static void check_read(wg_status status, const char *message)
{
    wg_onnx_tensor x;
    check_that(wg_onnx_tensor_read(&x, path, &error) == status, "%s: %s", message, error.text);
    check_that(strstr(error.text, message), "%s", error.text);
    wg_onnx_tensor_free(&x);
}

static void long_numbers_in_each_type(void **state)
{
    (void)state;
    static const struct {
        int type;
        size_t size;
        wg_dtype dtype;
    } types[] = {{WGI_ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, 4, WG_F32},
                 {WGI_ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE, 8, WG_F64},
                 {WGI_ONNX__TENSOR_PROTO__DATA_TYPE__UINT8, 1, WG_U8},
                 {WGI_ONNX__TENSOR_PROTO__DATA_TYPE__INT16, 2, WG_I32},
                 {WGI_ONNX__TENSOR_PROTO__DATA_TYPE__UINT32, 4, WG_I64},
                 {WGI_ONNX__TENSOR_PROTO__DATA_TYPE__BOOL, 1, WG_BOOL}};
    for (int i = 0; i < WG_COUNT(types); i++) {
        wg_onnx_tensor x;
        ox_tensor_proto t = tensor_of(20000 * types[i].size);
        t.data_type = types[i].type;
        t.dims[0] = 20000;
        write_message(&t.base);
        check_that(wg_onnx_tensor_read(&x, path, &error) == WG_OK, "%s", error.text);
        assert_int_equal(x.dtype, types[i].dtype);
        if (types[i].size == wg_dtype_size(x.dtype) && x.dtype != WG_BOOL)
            assert_memory_equal(x.data, numbers, 20000 * types[i].size);
        for (int64_t k = 0; x.dtype == WG_BOOL && k < 20000; k++)
            assert_int_equal(((uint8_t *)x.data)[k], numbers[k] != 0);
        for (int64_t k = 0; x.dtype == WG_I32 && k < 20000; k++)
            assert_int_equal(((int32_t *)x.data)[k],
                             (int16_t)(numbers[2 * k] | numbers[2 * k + 1] << 8));
        wg_onnx_tensor_free(&x);
        t.raw_data.len -= types[i].size;
        write_message(&t.base);
        check_read(WG_EDATA, "raw_data: expected");
    }
}

static void numbers_are_there_once(void **state)
{
    (void)state;
    text tensor = {.n = 0};
    put(&tensor, "\x08\xdc\x0b\x10\x02", 5); /* 1500 of uint8 */
    put_field(&tensor, 9, 2, numbers, 1500);
    put_field(&tensor, 9, 2, numbers, 1000);
    write_bytes(tensor.bytes, tensor.n);
    check_read(WG_EDATA, "raw_data: is there twice");
}

/* 4,096 bytes and their head, of a type that is kept as it is and one that is not: the first call
 * of pread reads all of it, the second the numbers. */
static void what_cannot_be_read(void **state)
{
    (void)state;
    static const int types[] = {WGI_ONNX__TENSOR_PROTO__DATA_TYPE__UINT8,
                                WGI_ONNX__TENSOR_PROTO__DATA_TYPE__BOOL};
    for (int i = 0; i < 2 * WG_COUNT(types); i++) {
        const int after = i % 2;
        ox_tensor_proto t = tensor_of(4096);
        t.data_type = types[i / 2];
        write_message(&t.base);
        world.after = after;
        world.errors[0] = EINTR;
        check_read(WG_OK, "");
        world.after = after;
        world.errors[0] = EINTR, world.errors[1] = EIO;
        check_read(WG_EIO, "condense.onnx: read: Input/output error");
        world.after = after;
        world.ends = true;
        check_read(WG_EIO, "condense.onnx: became shorter while it was read");
        world.ends = false;
    }
}

static int fill(void **state)
{
    (void)state;
    for (int i = 0; i < LARGEST; i++)
        numbers[i] = (uint8_t)(i * 7 % 251);
    return 0;
}

static int leave(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_but_long_numbers),
        cmocka_unit_test(lengths_keep_their_bytes),
        cmocka_unit_test(unknown_fields_are_left_out),
        cmocka_unit_test(long_texts_are_read),
        cmocka_unit_test(fields_of_others_are_no_places),
        cmocka_unit_test(no_memory_to_read),
        cmocka_unit_test(files_that_are_too_large),
        cmocka_unit_test(long_numbers_in_each_type),
        cmocka_unit_test(numbers_are_there_once),
        cmocka_unit_test(what_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, fill, leave);
}
