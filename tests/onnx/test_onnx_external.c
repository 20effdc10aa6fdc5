/* Weights in other files than the model: below its folder, within their file, through links, in
 * pieces. */
#include "tests/onnx/files.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static void external(made *m, const char *location, const char *offset, const char *length)
{
    const char *const keys[] = {"location", "offset", "length"}, *const values[] = {location,
                                                                                    offset, length};
    begin(m);
    ox_tensor_proto *t = m->e.initializers.item[0];
    t->has_raw_data = false;
    t->has_data_location = true;
    t->data_location = WGI_ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    WgiOnnx__StringStringEntryProto **list = wgi_ox_room(&m->e, 3 * sizeof *list);
    t->external_data = list;
    for (int i = 0; i < 3; i++) {
        if (!values[i])
            continue;
        list[t->n_external_data] = wgi_ox_room(&m->e, sizeof **list);
        wgi_onnx__string_string_entry_proto__init(list[t->n_external_data]);
        list[t->n_external_data]->key = (char *)keys[i];
        list[t->n_external_data++]->value = (char *)values[i];
    }
}

static void weights_lie_below_the_folder(void **state)
{
    (void)state;
    static const char *const places[] = {"/etc/passwd", "../made.bin", "a/../../made.bin", "",
                                         ".."};
    made m;
    wg_graph *g;
    write_bytes("made.bin", numbers, sizeof numbers);
    for (int i = 0; i < WG_COUNT(places); i++) {
        external(&m, places[i], NULL, NULL);
        refused_model(&m, WG_EDATA, "initializer 'w'", "is not within the model's folder");
    }
    unlink("made.link");
    assert_int_equal(symlink("/etc/passwd", "made.link"), 0);
    external(&m, "made.link", NULL, NULL);
    refused_model(&m, WG_EDATA, "made.link", "a link to a place outside the model's folder");
    unlink("made.link");
    external(&m, "made.bin", NULL, "24");
    made_write(&m, path);
    made_free(&m);
    check_that(import(&g, NULL) == WG_OK, "%s", error.text);
    wg_graph_free(g);
}

static void weights_lie_within_their_file(void **state)
{
    (void)state;
    made m;
    write_bytes("made.bin", numbers, sizeof numbers);
    external(&m, "made.bin", "8", NULL);
    refused_model(&m, WG_EDATA, "24 bytes at offset 8", "it has 24");
    external(&m, "made.bin", "18446744073709551615", NULL);
    refused_model(&m, WG_EDATA, "initializer 'w'", "beyond its end");
    external(&m, "made.bin", "-1", NULL);
    refused_model(&m, WG_EDATA, "external_data: offset", "got '-1'");
    external(&m, "made.bin", "12x", "24");
    refused_model(&m, WG_EDATA, "external_data: offset", "got '12x'");
    external(&m, "made.bin", "99999999999999999999999", NULL);
    refused_model(&m, WG_EDATA, "external_data: offset", "expected a number");
    external(&m, "made.bin", NULL, "9223372036854775807");
    refused_model(&m, WG_EDATA, "expected a length of 24 bytes", "9223372036854775807");
    external(&m, "missing.bin", NULL, NULL);
    refused_model(&m, WG_EIO, "initializer 'w'", "missing.bin");
    external(&m, NULL, "0", NULL);
    refused_model(&m, WG_EDATA, "initializer 'w'", "no location");
    unlink("made.bin");
}

/* Imports what external() has made; a message must have this text, NULL: there is none. */
static void imported(made *m, const char *from, const char *message)
{
    wg_graph *g;
    made_write(m, from);
    made_free(m);
    wg_status status = wg_onnx_import(&g, from, NULL, &error);
    check_that((status == WG_OK) == !message, "%s: %s", from, error.text);
    check_that(!message || strstr(error.text, message), "%s: %s", from, error.text);
    wg_graph_free(g);
}

static void leave_folders(const char *const *folders, int n_folders, const char *const *files,
                          int n_files, const char *const (*links)[2], int n_links)
{
    for (int i = 0; i < n_links; i++)
        unlink(links[i][1]);
    for (int i = 0; i < n_files; i++)
        unlink(files[i]);
    for (int i = n_folders - 1; i >= 0; i--)
        rmdir(folders[i]);
}

/* In a folder of its own: names that only begin like a way out, a folder that only begins like the
 * model's, and a model that is a link, with its weights beside the link or beside the model. */
static void links_are_followed_within_the_folder(void **state)
{
    (void)state;
    static const char *const folders[] = {"made", "made.other", "made/in"};
    static const char *const files[] = {"made/..w", "made/in/w", "made.other/w", "made/made.onnx"};
    static const char *const links[][2] = {{"../made.other/w", "made/out"},
                                           {"../made/made.onnx", "made.other/link.onnx"},
                                           {"../made/..w", "made.other/beside"}};
    static const struct {
        const char *from, *location, *message;
    } cases[] = {
        {"made/made.onnx", "..w", NULL},
        {"made/made.onnx", "in/w", NULL},
        {"made/made.onnx", "in", "initializer 'w': external_data: the location 'in' is a folder"},
        {"made/made.onnx", ".", "initializer 'w': external_data: the location '.' is a folder"},
        {"made/made.onnx", "out", "a link to a place outside the model's folder"},
        {"made.other/link.onnx", "w", NULL},
        {"made.other/link.onnx", "beside", NULL},
    };
    made m;
    leave_folders(folders, WG_COUNT(folders), files, WG_COUNT(files), links, WG_COUNT(links));
    for (int i = 0; i < WG_COUNT(folders); i++)
        assert_int_equal(mkdir(folders[i], 0700), 0);
    for (int i = 0; i < WG_COUNT(files); i++)
        write_bytes(files[i], numbers, sizeof numbers);
    for (int i = 0; i < WG_COUNT(links); i++)
        assert_int_equal(symlink(links[i][0], links[i][1]), 0);
    for (int i = 0; i < WG_COUNT(cases); i++) {
        external(&m, cases[i].location, NULL, NULL);
        imported(&m, cases[i].from, cases[i].message);
    }
    leave_folders(folders, WG_COUNT(folders), files, WG_COUNT(files), links, WG_COUNT(links));
}

/* What the next calls of pread do for the weights: an error, or nothing more to read. */
static int pread_errors[2];
static bool pread_ends;

ssize_t __real_pread(int fd, void *bytes, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *bytes, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *bytes, size_t size, off_t offset)
{
    struct stat s, weights;
    if (stat("made.bin", &weights) != 0 || fstat(fd, &s) != 0 || s.st_ino != weights.st_ino)
        return __real_pread(fd, bytes, size, offset);
    int why = pread_errors[0];
    pread_errors[0] = pread_errors[1];
    pread_errors[1] = 0;
    if (why)
        return errno = why, -1;
    return pread_ends ? 0 : __real_pread(fd, bytes, size / 2 + 1, offset);
}

static void weights_are_read_in_pieces_or_not_at_all(void **state)
{
    (void)state;
    made m;
    write_bytes("made.bin", numbers, sizeof numbers);
    pread_errors[0] = EINTR;
    external(&m, "made.bin", NULL, NULL);
    imported(&m, path, NULL);
    pread_errors[0] = EINTR, pread_errors[1] = EIO;
    external(&m, "made.bin", NULL, NULL);
    imported(&m, path, "made.bin: read: Input/output error");
    pread_ends = true;
    external(&m, "made.bin", NULL, NULL);
    imported(&m, path, "made.bin: became shorter while it was read");
    pread_ends = false;
    unlink("made.bin");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_lie_below_the_folder),
        cmocka_unit_test(weights_lie_within_their_file),
        cmocka_unit_test(links_are_followed_within_the_folder),
        cmocka_unit_test(weights_are_read_in_pieces_or_not_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, leave);
}
