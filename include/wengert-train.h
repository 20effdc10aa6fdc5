/* Translation: vocabularies, corpora, training runs, translators, scores.  Includes wengert.h.
 *
 * This header is installed only if the library was built with WG_TRAINING.  A program tests for it
 * with "#if __has_include(<wengert-train.h>)", a CMake project with wengert_TRAINING after
 * find_package(wengert), any other build with "pkg-config --variable=training wengert". */
#ifndef WENGERT_TRAIN_H
#define WENGERT_TRAIN_H

#include "wengert.h"
#include "wengert/text/bleu.h"
#include "wengert/text/corpus.h"
#include "wengert/text/numbers.h"
#include "wengert/text/vocabulary.h"
#include "wengert/translate/folder.h"
#include "wengert/translate/foreign.h"
#include "wengert/translate/language.h"
#include "wengert/translate/settings.h"
#include "wengert/translate/trainer.h"
#include "wengert/translate/translator.h"

#endif
