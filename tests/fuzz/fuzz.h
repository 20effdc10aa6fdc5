/* What all fuzzers share.  A fuzzer is a function of bytes, which libFuzzer calls
 * (cmake --preset fuzz), or driver.c on the seeds and on mutations of them (test_fuzz_NAME). */
#ifndef WG_TESTS_FUZZ_H
#define WG_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns 0.  Whatever the bytes are, nothing may crash, and what NEED says must hold. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the program with the place and the condition, which the fuzzer takes for a finding. */
#define NEED(condition) NEED_OK(condition, "")
/* The same with a text that says why, such as that of an error. */
#define NEED_OK(condition, text)                                                                   \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fuzz_end(#condition, __FILE__, __LINE__, (text));                                      \
    } while (0)
_Noreturn void fuzz_end(const char *condition, const char *file, int line, const char *text);

/* To be called once for each input: whether it was accepted, so that there was something to
 * check. */
void fuzz_accepted(bool accepted);
size_t fuzz_accepted_count(void);

/* The path of a file of that name in a folder of this process, which is removed at its end. */
const char *fuzz_path(char path[64], const char *name);
/* The folder. */
const char *fuzz_folder(void);
/* The same of a file that has these bytes. */
const char *fuzz_file(char path[64], const char *name, const void *data, size_t size);
/* The contents of such a file, which the caller frees. */
char *fuzz_contents(const char *path, size_t *size);
/* Whether two files have the same bytes. */
bool fuzz_same(const char *a, const char *b);

/* Cuts the input at lines "===" into up to n parts; the missing ones are empty. */
typedef struct fuzz_part {
    const char *text;
    size_t size;
} fuzz_part;
void fuzz_cut(const uint8_t *data, size_t size, fuzz_part *part, size_t n);

#endif
