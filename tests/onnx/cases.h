/* The cases of ONNX's own suite (Debian: libonnx-testdata), as files. */
#ifndef WG_TESTS_ONNX_CASES_H
#define WG_TESTS_ONNX_CASES_H

#include "wengert.h"

/* The folder of the suite: that of Debian's package, or of another version in WENGERT_ONNX_DATA. */
const char *onnx_data(void);

enum { CASE_MAX_TENSORS = 64 };

/* A model with its inputs and the outputs that it must give. */
typedef struct onnx_case {
    char folder[300];
    char *input_name[CASE_MAX_TENSORS];
    wg_onnx_tensor input[CASE_MAX_TENSORS], output[CASE_MAX_TENSORS];
    size_t n_inputs, n_outputs;
    wg_graph *graph;
    wg_onnx_known known[CASE_MAX_TENSORS]; /* inputs that became constants, since shapes depend on
                                              them */
    size_t n_known;
    wg_error error;
} onnx_case;

/* Reads and imports FOLDER/model.onnx with FOLDER/test_data_set_0.  Inputs that the import asks for
 * become constants.  The status is that of the import. */
wg_status onnx_case_open(onnx_case *c, const char *folder);
void onnx_case_close(onnx_case *c);

/* Whether a plan of these options gives the outputs, within ONNX's tolerance; else c->error says
 * where not. */
wg_status onnx_case_run(onnx_case *c, const wg_plan_options *options);

/* Visits the cases of single nodes that are imported, one of each op; returns how many, 0
 * if the suite is not there. */
size_t onnx_visit_cases(void (*visit)(onnx_case *c, void *context), void *context);

/* The names of the folders in a folder, sorted; the caller frees names and list.  0 if there are
 * none. */
size_t onnx_folders(const char *path, char ***names);

#endif
