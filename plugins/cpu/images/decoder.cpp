#include "plugins/cpu/images/decoder.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <string_view>

namespace epiphyte::cpu::images {
namespace {

struct Format {
  std::string_view magic;
  size_t at;
  void (*decode)(Source, const Sink&);
};

using namespace std::string_view_literals;

constexpr Format kFormats[] = {
    {"\xff\xd8\xff"sv, 0, DecodeJpeg},
    {"\x89PNG\r\n\x1a\n"sv, 0, DecodePng},
    {"WEBP"sv, 8, DecodeWebp},
    {"II*\0"sv, 0, DecodeTiff},
    {"MM\0*"sv, 0, DecodeTiff},
    {"II+\0"sv, 0, DecodeTiff},
    {"MM\0+"sv, 0, DecodeTiff},
    {"\0\0\0\x0cjP  \r\n\x87\n"sv, 0, DecodeJpeg2000},
    {"\xff\x4f\xff\x51"sv, 0, DecodeJpeg2000},
};

bool Begins(Source source, const Format& format) {
  return source.size() >= format.at + format.magic.size() &&
         std::memcmp(source.data() + format.at, format.magic.data(), format.magic.size()) == 0;
}

int32_t Decode(Source source, const Sink& sink) {
  for (const Format& format : kFormats) {
    if (!Begins(source, format)) continue;
    format.decode(source, sink);
    return EPIPHYTE_IMAGE_OK;
  }
  throw ImageError{EPIPHYTE_IMAGE_UNKNOWN, "no known image format"};
}

}  // namespace

uint8_t* Sink::Allocate(uint64_t height, uint64_t width) const {
  if (height < 1 || width < 1 || height > INT32_MAX || width > INT32_MAX)
    FailWrong("it has " + std::to_string(height) + " x " + std::to_string(width) + " pixels");
  uint8_t* pixels = sink_.allocate(sink_.context, static_cast<uint32_t>(height), static_cast<uint32_t>(width));
  if (pixels == nullptr) throw ImageError{EPIPHYTE_IMAGE_REFUSED, "refused"};
  return pixels;
}

void* Sink::Scratch(uint64_t bytes) const {
  void* memory = sink_.scratch(sink_.context, bytes);
  if (memory == nullptr) throw ImageError{EPIPHYTE_IMAGE_REFUSED, "refused"};
  return memory;
}

extern "C" __attribute__((visibility("default"))) int32_t EpiphyteDecodeImage(const uint8_t* bytes, uint64_t size,
                                                                              const EpiphyteImageSink* sink,
                                                                              char* message, size_t message_size) {
  int32_t code = EPIPHYTE_IMAGE_WRONG;
  const auto tell = [&](std::string_view text) {
    if (message_size == 0) return;
    const size_t length = std::min(text.size(), message_size - 1);
    std::copy_n(text.begin(), length, message);
    message[length] = '\0';
  };
  try {
    return Decode({bytes, static_cast<size_t>(size)}, Sink(*sink));
  } catch (const ImageError& error) {
    code = error.code;
    tell(error.message);
  } catch (const std::exception& error) {
    tell(error.what());
  }
  return code;
}

}  // namespace epiphyte::cpu::images
