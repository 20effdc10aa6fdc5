/* The gradient check of a trained model. */
#ifndef WG_CLI_GRADCHECK_H
#define WG_CLI_GRADCHECK_H

#include "wengert/autograd/gradcheck.h"

/* Checks the model in that folder as a training run sees it: with its weights, in training mode, on
 * a batch of its training texts, which the seed of the options chooses.  Fills the options' leaves
 * and results; other failures are in the report's message, too. */
wg_status check_folder(const char *folder, const wg_gradcheck_options *options,
                       wg_gradcheck_report *report);

#endif
