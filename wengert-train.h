/* Training and translation, beside wengert.h: vocabularies, corpora, trainings, models in use, scores.  Only installed
 * where the library has them, which WG_TRAINING says when it is built; so "#if __has_include(<wengert-train.h>)" tells
 * a program, wengert_TRAINING a CMake project that has found wengert, `pkg-config --variable=training wengert` any
 * other. */
#ifndef WENGERT_TRAIN_H
#define WENGERT_TRAIN_H

#include "wengert.h"
#include "train/average.h"
#include "train/folder.h"
#include "train/schedule.h"
#include "train/settings.h"
#include "train/text/bleu.h"
#include "train/text/corpus.h"
#include "train/text/numbers.h"
#include "train/text/vocabulary.h"
#include "train/trainer.h"
#include "train/translator.h"

#endif
