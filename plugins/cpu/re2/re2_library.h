/* Regular expressions by RE2, which ONNX's RegexFullMatch names. They are in a shared library beside the plugin. It is
 * opened for the first expression, so other sessions need not wait for RE2 to load.
 *
 * Expressions come from models and may be hostile. RE2 bounds its memory, and matches in time linear in the text.
 *
 *   const EpiphyteRegexApi* re2 = …;                                     // EpiphyteRegex()
 *   void* regex = re2->compile("\\pL+", 4, 8 << 20, message, sizeof message);
 *   re2->full_match(regex, "Straße", 7);                                 // EPIPHYTE_REGEX_MATCH
 *   re2->release(regex); */
#ifndef EPIPHYTE_CPU_RE2_LIBRARY_H_
#define EPIPHYTE_CPU_RE2_LIBRARY_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EPIPHYTE_REGEX "EpiphyteRegex"

enum {
  EPIPHYTE_REGEX_NO_MATCH = 0,
  EPIPHYTE_REGEX_MATCH = 1,
  EPIPHYTE_REGEX_OUT_OF_MEMORY = 2,
};

/* No function throws. */
typedef struct EpiphyteRegexApi {
  /* Returns an expression for `release`. Null when the pattern is none, or takes more than about `max_memory` bytes;
   * then `message` receives the reason in one line. [any thread] */
  void* (*compile)(const char* pattern, uint64_t size, uint64_t max_memory, char* message, size_t message_size);
  /* Compares the whole text, which is UTF-8. [any thread, also several at once on one expression] */
  int32_t (*full_match)(const void* regex, const char* text, uint64_t size);
  void (*release)(void* regex);
} EpiphyteRegexApi;

/* The exported function. The table lives as long as the library. */
typedef const EpiphyteRegexApi* (*EpiphyteRegexFunction)(void);

#ifdef __cplusplus
}
#endif
#endif /* EPIPHYTE_CPU_RE2_LIBRARY_H_ */
