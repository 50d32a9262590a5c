/* Images: the formats of ImageDecoder that need a library. They are in a shared library beside the plugin. It is opened
 * for the first such image, so other sessions need not wait for the image libraries to load.
 *
 * The bytes are untrusted. For any bytes, decoding ends with pixels or a message, prints nothing, and leaves no memory
 * or other resources behind. */
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
  EPIPHYTE_IMAGE_UNSUPPORTED = 2, /* valid, but with a feature that is not supported */
  EPIPHYTE_IMAGE_REFUSED = 3,     /* the sink returned null */
  EPIPHYTE_IMAGE_UNKNOWN = 4,     /* none of the formats */
};

/* The receiver of the image. Its functions may not throw; they return null to refuse. */
typedef struct EpiphyteImageSink {
  void* context;
  /* Returns memory for height x width x 3 bytes: red, green and blue, row by row. Called once, before anything of the
   * image's size is allocated. */
  uint8_t* (*allocate)(void* context, uint32_t height, uint32_t width);
  /* Returns memory for the decoder, valid until it returns. Called at most once. */
  void* (*scratch)(void* context, uint64_t bytes);
} EpiphyteImageSink;

/* Decodes an image. Unless the result is OK, `message` receives the reason in one line. [any thread] */
typedef int32_t (*EpiphyteDecodeImageFunction)(const uint8_t* bytes, uint64_t size, const EpiphyteImageSink* sink,
                                               char* message, size_t message_size);

#ifdef __cplusplus
}
#endif
#endif /* EPIPHYTE_CPU_IMAGES_H_ */
