/* A model as it stands in a file. */
#ifndef WG_ONNX_MODEL_H
#define WG_ONNX_MODEL_H

#include "onnx/file.h"
#include "onnx/import.h"

/* Versions of ai.onnx that are imported.  Those before the first differ in what ops mean; those
 * after the last are not known here, and only their ops that are in the table too. */
enum { OX_FIRST_OPSET = 1, OX_LAST_OPSET = 24, OX_MAX_COUNTS = 512 };

/* Builds the graph of a file with that size for all that is free, to see whether that can be done;
 * `needed` is an input whose numbers must be known for it, "" if there is none. */
wg_status wgi_ox_try(const char *path, int64_t size, char needed[200]);

/* Opens a file whose message is *m, a model that has a graph.  The caller closes it by
 * wgi_ox_file_close. */
wg_status wgi_ox_model_open(ox_file *out, const ox_model_proto **m, const char *path,
                            wg_error *error);

ox_opsets wgi_ox_opsets_of(const ox_model_proto *m);
/* The function that the file itself defines, or NULL. */
const ox_function_proto *wgi_ox_function_find(const ox_model_proto *m, const char *domain,
                                              const char *name);

/* An op of the file, with the number of its nodes. */
typedef struct ox_op_count {
    const char *domain, *name;
    size_t count;
    bool supported;
} ox_op_count;
/* The ops in order of their first nodes; returns their number. */
size_t wgi_ox_count_ops(const ox_model_proto *m, ox_op_count count[OX_MAX_COUNTS]);
/* "Relu", or "DOMAIN.Op". */
const char *wgi_ox_op_text(const char *domain, const char *name, char text[200]);

/* Items of the error's text for versions and ops that are not supported (WG_EUNSUPPORTED) or
 * contradict the standard (WG_EDATA). */
void wgi_ox_check_opsets(const ox_model_proto *m, wg_error *error);
void wgi_ox_check_ops(const ox_model_proto *m, const ox_opsets *o, wg_error *error);

#endif
