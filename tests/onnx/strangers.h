/* The models of strangers.def, and how one becomes a file. */
#ifndef WG_TESTS_ONNX_STRANGERS_H
#define WG_TESTS_ONNX_STRANGERS_H

#include "tests/onnx/text.h"

enum { MOST = 40 };

/* The input is x, with 0.5, -1, 1.5, -2, ...; the first output has these numbers. */
typedef struct stranger {
    const char *name;
    int opset;
    const char *text;
    double y[MOST];
} stranger;

static const stranger strangers[] = {
#include "tests/onnx/strangers.def"
};

static inline void write_stranger(const stranger *s, const char *path)
{
    made m;
    made_begin(&m);
    onnx_write(onnx_text(&m, s->text), s->opset, path);
    made_free(&m);
}

#endif
