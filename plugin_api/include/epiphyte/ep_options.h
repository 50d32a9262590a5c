/* Options: a plugin says which options its providers take.
 *
 * Options come from a manifest, a policy file and a session, as texts. A plugin that declares them here gets only such
 * as it declared, with values that fit; the host refuses the others, says what fits, and shows the declarations in
 * `epiphyte doctor`. An option that nobody gives arrives with its default. The table below is the extension
 * "ep.options/1" of EpPluginDescriptor::GetExtension. A plugin without it gets what was given, as it was given.
 *
 * Values are spelled the same everywhere: given, as a default, as a bound, as a choice.
 *   - INT: a decimal number that fits into 64 bits, "-3".
 *   - FLOAT: a decimal number, "0.5" or "1e-3", that a double can hold; no infinity, no NaN. strtod reads it, and
 *     depends on the locale.
 *   - BOOL: "1" or "0". Users write true and false, too; 1 and 0 is what arrives.
 *   - CHOICE: one of `choices`, letter by letter.
 *   - STRING: any text.
 *
 * `device` is the host's own option (see EpProviderConfig) and is not declared. A host that doesn't know this extension
 * hands over what was given, so CreateProvider reads with care; kit/plugin/options.hpp does.
 *
 * Example: the options `precision` and `tiles`
 *     static const char* const precisions[] = {"f32", "f16"};
 *     static const EpOptionInfo precision = {sizeof precision, EP_OPTION_CHOICE, "precision", "f32",
 *                                            "what products are computed in", NULL, NULL, precisions, 2, 0};
 *     static const EpOptionInfo tiles = {sizeof tiles, EP_OPTION_INT, "tiles", "4", "how many tiles a model gets",
 *                                        "1", "8", NULL, 0, 0};
 *     static EpStatus* EP_CALL GetOptions(EpPlugin* plugin, const EpOptionInfo** options, uint32_t capacity,
 *                                         uint32_t* count) {
 *       *count = 2;
 *       if (capacity > 0) options[0] = &precision;
 *       if (capacity > 1) options[1] = &tiles;
 *       return NULL;
 *     }
 *     static const EpOptionsApi options_api = {sizeof options_api, 0, GetOptions};
 */
#ifndef EPIPHYTE_EP_OPTIONS_H_
#define EPIPHYTE_EP_OPTIONS_H_

#include "ep_plugin.h"

EP_EXTERN_C_BEGIN

#define EP_OPTIONS_EXTENSION "ep.options/1"

/* How many options a plugin can have, and choices one of them. */
#define EP_MAX_OPTIONS 256u

typedef uint32_t EpOptionType; /* [R1307] a plugin with one that the host doesn't know is refused */
#define EP_OPTION_STRING 0u
#define EP_OPTION_INT 1u
#define EP_OPTION_FLOAT 2u
#define EP_OPTION_BOOL 3u
#define EP_OPTION_CHOICE 4u

/* One option. Lives as long as the plugin, and so do its texts, each of one line. [R1304] A plugin whose declaration is
 * wrong is refused when it is loaded. */
typedef struct EpOptionInfo {
  uint32_t struct_size;
  EpOptionType type;
  const char* name;           /* 1 to 64 letters, digits, '_', '-' or '.', each name once, not `device` [R1305 R1306] */
  const char* default_value;  /* what arrives when nobody gives the option; fits as others do. [R1309 R1310] An option
                               * that has to be given is a STRING with the default "" */
  const char* help;           /* what it does, for people; not empty, at most 1023 bytes [R1308] */
  const char* minimum;        /* INT and FLOAT: the smallest and the largest value that fit; null: no bound. Others */
  const char* maximum;        /* have none. [R1311] */
  const char* const* choices; /* CHOICE: `choice_count` of them, 1 to EP_MAX_OPTIONS, no two alike. Others have none. */
  uint32_t choice_count;      /* [R1312] */
  uint32_t reserved;
} EpOptionInfo;

/* [R1301] */
typedef struct EpOptionsApi {
  uint32_t struct_size;
  uint32_t reserved;

  /* Fills options[0..capacity) [R1303] with pointers to infos and sets *count to how many there are, possibly more
   * than capacity, or 0: the plugin then takes none. At most EP_MAX_OPTIONS. Called again with more room if there are
   * more; the answer is the same each time. [R1313] CreateProvider works with every option at its default, [R1314] and
   * takes every value that fits or fails with INVALID_ARGUMENT. [R1315] What a manifest sets is declared and fits.
   * [R1316] [any thread] */
  EpStatus*(EP_CALL* GetOptions)(EpPlugin* plugin, const EpOptionInfo** options, uint32_t capacity, uint32_t* count);
} EpOptionsApi;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_OPTIONS_H_ */
