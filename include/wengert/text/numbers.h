/* The built-in corpus: English number phrases and their German translations, 0 to 999,999.  In
 * German the units come before the tens: "three hundred forty-two" is
 * "dreihundertzweiundvierzig". */
#ifndef WG_TEXT_NUMBERS_H
#define WG_TEXT_NUMBERS_H

#include "wengert/graph/shape.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WG_NUMBERS = 1000000,         /**< number of phrases */
    WG_NUMBERS_HELD_OUT = 100032, /**< number of phrases that are held out */
    WG_NUMBER_TEXT = 160          /**< bytes that hold any phrase */
};

/** Writes the phrase for a number in [0, WG_NUMBERS) into text[0..WG_NUMBER_TEXT). */
WG_API void wg_number_english(int32_t number, char *text);
/** The same in German, one word. */
WG_API void wg_number_german(int32_t number, char *text);

/** Draws `count` distinct numbers and writes one line for each into both texts.  Each number of
 * digits is equally frequent while numbers last.  With `held_out` they come from the
 * WG_NUMBERS_HELD_OUT held-out numbers, about one in ten from 100 on, which are never drawn without
 * it, whatever the seed.  The caller frees the texts.  WG_EINVAL: count is too large; WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_numbers_corpus(size_t count, bool held_out, uint64_t seed,
                                               char **english, char **german);

#ifdef __cplusplus
}
#endif
#endif
