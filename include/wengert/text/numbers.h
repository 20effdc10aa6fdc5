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

/** Two parts without a common number, whatever the seed. */
typedef enum wg_numbers_part {
    WG_NUMBERS_TO_TRAIN = 0, /**< all numbers but the held-out ones */
    WG_NUMBERS_TO_TEST       /**< WG_NUMBERS_HELD_OUT numbers, about one in ten from 100 on */
} wg_numbers_part;

/** Draws `count` distinct numbers of a part and writes one line for each into both texts.  Each
 * number of digits is equally frequent while numbers last.  The caller frees the texts.  WG_EINVAL:
 * count is too large; WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_numbers_corpus(size_t count, wg_numbers_part part, uint64_t seed,
                                               char **english, char **german);

#ifdef __cplusplus
}
#endif
#endif
