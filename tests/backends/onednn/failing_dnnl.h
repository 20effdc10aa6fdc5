/* oneDNN with calls that fail: failing_dnnl.cc has a table wgi_dnnl of its own, which a test that
 * is linked with it takes instead of the library's. */
#ifndef WG_TESTS_BACKENDS_ONEDNN_FAILING_DNNL_H
#define WG_TESTS_BACKENDS_ONEDNN_FAILING_DNNL_H

#include <dnnl.h>

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* From now on calls that return a status count, but for those that destroy; number `at` returns
 * `status` instead of calling oneDNN, and with `for_good` all after it.  0: none does.  With
 * dnnl_out_of_memory errno is ENOMEM, as where malloc fails. */
void fail_dnnl(size_t at, bool for_good, dnnl_status_t status);
/* Ends this; how many calls there were. */
size_t fail_dnnl_no_more(void);
/* The name of the first call that failed, without "dnnl_"; "" if none did. */
const char *failed_dnnl_call(void);
/* Objects that were created and not destroyed. */
long live_dnnl_objects(void);
/* How often since fail_dnnl the descriptor of a primitive without memory was destroyed before
 * oneDNN's cache, which keeps a pointer into it, was emptied. */
long dangling_dnnl_entries(void);

#ifdef __cplusplus
}
#endif
#endif
