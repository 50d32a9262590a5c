// Images: any bytes give pixels or a message. Sizes beyond a few million pixels are refused, as by a run's limit.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "plugins/cpu/images/images.h"
#include "tests/framework/images/encoders.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int32_t EpiphyteDecodeImage(const uint8_t* bytes, uint64_t size, const EpiphyteImageSink* sink,
                                       char* message, size_t message_size);

namespace {

constexpr uint64_t kMost = uint64_t{1} << 24;

struct Memory {
  std::vector<uint8_t> pixels, scratch;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Memory memory;
  EpiphyteImageSink sink{};
  sink.context = &memory;
  sink.allocate = [](void* context, uint32_t height, uint32_t width) -> uint8_t* {
    const uint64_t bytes = uint64_t{height} * width * 3;
    if (height == 0 || width == 0) std::abort();
    if (bytes > kMost) return nullptr;
    auto& pixels = static_cast<Memory*>(context)->pixels;
    if (!pixels.empty()) std::abort();
    pixels.resize(bytes);
    return pixels.data();
  };
  sink.scratch = [](void* context, uint64_t bytes) -> void* {
    auto& scratch = static_cast<Memory*>(context)->scratch;
    if (!scratch.empty()) std::abort();
    if (bytes > kMost * 8) return nullptr;
    scratch.resize(bytes);
    return scratch.data();
  };
  char message[64] = {};
  const int32_t code = EpiphyteDecodeImage(data, size, &sink, message, sizeof message);
  const bool told = message[0] != '\0' && std::strchr(message, '\n') == nullptr;
  if (code == EPIPHYTE_IMAGE_OK ? memory.pixels.empty() : !told) std::abort();
  return 0;
}

std::vector<std::string> SeedInputs() {
  using namespace epiphyte::test;
  const Picture picture = Gradients(20, 24);
  return {Png(picture),
          Png(picture, {.alpha = true, .deep = true, .interlaced = true}),
          Png(Gray(picture), {.palette = true}),
          Jpeg(picture),
          Jpeg(picture, {.progressive = true}),
          Jpeg(picture, {.inks = true}),
          Webp(picture, true),
          Webp(picture, false),
          Tiff(picture),
          Tiff(picture, {.compression = 5, .alpha = true}),
          Tiff(picture, {.compression = 8, .tiles = true}),
          Jpeg2000(picture),
          Jpeg2000(picture, {.boxed = false, .ratio = 4})};
}
