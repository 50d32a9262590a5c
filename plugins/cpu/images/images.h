/* Images: the formats of ImageDecoder that take a library. They are in a shared library beside the plugin, which is
 * opened when the first such image comes: nobody else waits until the libraries below it are there.
 *
 * Bytes are anybody's: whatever they are, decoding ends with pixels or a message, prints nothing, and leaves nothing
 * behind. */
#ifndef EPIPHYTE_CPU_IMAGES_H_
#define EPIPHYTE_CPU_IMAGES_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EPIPHYTE_DECODE_IMAGE "EpiphyteDecodeImage"

enum {
  EPIPHYTE_IMAGE_OK = 0,
  EPIPHYTE_IMAGE_WRONG = 1,       /* damaged, truncated */
  EPIPHYTE_IMAGE_UNSUPPORTED = 2, /* something that the format may have and this doesn't decode */
  EPIPHYTE_IMAGE_REFUSED = 3,     /* by the sink */
  EPIPHYTE_IMAGE_UNKNOWN = 4,     /* no format of these */
};

/* Where the image goes. Neither function may throw; null refuses. */
typedef struct EpiphyteImageSink {
  void* context;
  /* Called once, before anything of the image's size is allocated: room for height x width x 3 bytes, which become red,
   * green and blue, row by row. */
  uint8_t* (*allocate)(void* context, uint32_t height, uint32_t width);
  /* Memory for the decoder itself until it returns, at most once. */
  void* (*scratch)(void* context, uint64_t bytes);
} EpiphyteImageSink;

/* `message` gets the reason, one line, when the result isn't OK. [any thread] */
typedef int32_t (*EpiphyteDecodeImageFunction)(const uint8_t* bytes, uint64_t size, const EpiphyteImageSink* sink,
                                               char* message, size_t message_size);

#ifdef __cplusplus
}
#endif
#endif /* EPIPHYTE_CPU_IMAGES_H_ */
