// WebP, by libwebp.
#include <webp/decode.h>

#include "plugins/cpu/images/decoder.h"

namespace epiphyte::cpu::images {

void DecodeWebp(Source source, const Sink& sink) {
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(source.data(), source.size(), &features) != VP8_STATUS_OK)
    FailWrong("the WebP's header is damaged");
  if (features.has_animation) FailUnsupported("a WebP with an animation; a single image is expected");
  const auto width = static_cast<uint64_t>(features.width), height = static_cast<uint64_t>(features.height);
  uint8_t* pixels = sink.Allocate(height, width);
  if (WebPDecodeRGBInto(source.data(), source.size(), pixels, static_cast<size_t>(width * height * 3),
                        static_cast<int>(width * 3)) == nullptr)
    FailWrong("the WebP is damaged or ends too early");
}

}  // namespace epiphyte::cpu::images
