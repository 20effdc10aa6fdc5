/* Any bytes as an array of NumPy: refused with a message that names the file, or numbers that fill
 * their shape, and that are the same once written and read again. */
#include "files/npy.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static wg_error error;

/* Written again, an array is a file that stays the same from then on. */
static void there_and_back(const wgi_npy *a)
{
    char saved[64], again[64];
    wgi_npy b;
    const wg_tensor t = {"a", a->dtype, a->shape, a->data};
    fuzz_path(saved, "saved.npy");
    fuzz_path(again, "again.npy");
    NEED_OK(wgi_npy_write(saved, &t, &error) == WG_OK, error.text);
    NEED_OK(wgi_npy_read(&b, saved, &error) == WG_OK, error.text);
    NEED(b.dtype == a->dtype && wg_shape_equal(&b.shape, &a->shape) && b.size == a->size);
    NEED(memcmp(b.data, a->data, a->size) == 0);
    NEED_OK(wgi_npy_write(again, &t, &error) == WG_OK, error.text);
    NEED(fuzz_same(saved, again));
    wgi_npy_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    wgi_npy a;
    fuzz_file(path, "x.npy", data, size);
    wg_status status = wgi_npy_read(&a, path, &error);
    fuzz_accepted(status == WG_OK);
    if (status != WG_OK) {
        NEED(!a.data && strncmp(error.text, path, strlen(path)) == 0);
        return 0;
    }
    NEED(wg_shape_valid(&a.shape, a.dtype) && a.size == wg_shape_bytes(&a.shape, a.dtype));
    NEED(a.size <= size);
    there_and_back(&a);
    wgi_npy_free(&a);
    return 0;
}
