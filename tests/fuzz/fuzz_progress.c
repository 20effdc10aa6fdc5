/* Any bytes as a progress.json, as they are and, if they begin as such a file does, with the right
 * checksum: refused with a message that names the file, or a position that is the same once written
 * and read. */
#include "files/checksum.h"
#include "tests/fuzz/fuzz.h"
#include "train/progress.h"

#include <stdlib.h>
#include <string.h>

static wg_error error;
static const wgi_checksum_head head = {"{\n  \"xxh64\": \"", "\",\n"};

static void there_and_back(const wg_progress *p, const wg_settings *s)
{
    char first[64], second[64];
    wg_progress again;
    NEED_OK(wgi_progress_write(p, s, fuzz_path(first, "first.json"), &error) == WG_OK, error.text);
    NEED_OK(wgi_progress_read(&again, s, first, &error) == WG_OK, error.text);
    NEED(again.update == p->update && again.n_best == p->n_best);
    NEED(wgi_progress_write(&again, s, fuzz_path(second, "second.json"), &error) == WG_OK);
    NEED(fuzz_same(first, second));
}

static void read_one(const void *data, size_t size)
{
    char path[64];
    wg_progress p;
    wg_settings s;
    NEED(wg_settings_init(&s) == WG_OK);
    fuzz_file(path, "progress.json", data, size);
    wg_status status = wgi_progress_read(&p, NULL, path, &error);
    fuzz_accepted(status == WG_OK);
    NEED(status == WG_OK || strncmp(error.text, path, strlen(path)) == 0);
    if (status == WG_OK)
        there_and_back(&p, &s);
    wg_status compared = wgi_progress_read(&p, &s, path, &error);
    NEED(compared == status || (status == WG_OK && compared == WG_EINVAL));
    wg_settings_free(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_one(data, size);
    if (size < wgi_checksum_head_size(&head) || memcmp(data, head.before, strlen(head.before)) != 0)
        return 0;
    char *sealed = malloc(size);
    NEED(sealed);
    memcpy(sealed, data, size);
    wgi_checksum_head_put(&head, sealed, size);
    read_one(sealed, size);
    free(sealed);
    return 0;
}
