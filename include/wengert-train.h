/* Training and translation, beside wengert.h: vocabularies, corpora, trainings, models in use,
 * scores.  Only installed where the library has them, which WG_TRAINING says when it is built; so
 * "#if __has_include(<wengert-train.h>)" tells a program, wengert_TRAINING a CMake project that has
 * found wengert, `pkg-config --variable=training wengert` any other. */
#ifndef WENGERT_TRAIN_H
#define WENGERT_TRAIN_H

#include "wengert.h"
#include "wengert/train/average.h"
#include "wengert/train/folder.h"
#include "wengert/train/schedule.h"
#include "wengert/train/settings.h"
#include "wengert/text/bleu.h"
#include "wengert/text/corpus.h"
#include "wengert/text/numbers.h"
#include "wengert/text/vocabulary.h"
#include "wengert/train/trainer.h"
#include "wengert/train/translator.h"

#endif
