/* The built-in corpus: English number phrases and their German translations, 0 to 999,999.  In
 * German the units come before the tens: "three hundred forty-two" is
 * "dreihundertzweiundvierzig". */
#ifndef WG_TEXT_NUMBERS_H
#define WG_TEXT_NUMBERS_H

#include "wengert/graph/shape.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { WG_NUMBERS = 1000000, WG_NUMBERS_HELD_OUT = 100032, WG_NUMBER_TEXT = 160 };

/** The phrase for number in [0, WG_NUMBERS), in German one word, into `text` of WG_NUMBER_TEXT
 * bytes. */
WG_API void wg_number_english(int32_t number, char *text);
WG_API void wg_number_german(int32_t number, char *text);

/** `count` lines a side of distinct numbers drawn by seed, as many of each count of digits as far as
 * there are any.
 *  `held_out` draws from WG_NUMBERS_HELD_OUT numbers, about one in ten from 100 on, that the other
 *  setting never draws, whatever the seeds.  The texts are the caller's to free.  WG_EINVAL: there
 *  are not so many. */
WG_API WG_MUST_USE wg_status wg_numbers_corpus(size_t count, bool held_out, uint64_t seed,
                                               char **english, char **german);

#ifdef __cplusplus
}
#endif
#endif
