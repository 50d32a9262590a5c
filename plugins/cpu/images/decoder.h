// Decoder: the common interface of the image formats. Each format is one function, and throws ImageError.
//
//   void DecodeJpeg(const Source& source, const Sink& sink) {
//     …
//     uint8_t* pixels = sink.Allocate(height, width);
//   }
//
// The C libraries report errors by longjmp. No object with a destructor may live in a function that longjmp enters or
// skips.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "plugins/cpu/images/images.h"

namespace epiphyte::cpu::images {

struct ImageError {
  int32_t code;
  std::string message;
};

[[noreturn]] inline void FailWrong(std::string message) { throw ImageError{EPIPHYTE_IMAGE_WRONG, std::move(message)}; }
[[noreturn]] inline void FailUnsupported(std::string message) {
  throw ImageError{EPIPHYTE_IMAGE_UNSUPPORTED, std::move(message)};
}

using Source = std::span<const uint8_t>;

class Sink {
 public:
  explicit Sink(const EpiphyteImageSink& sink) : sink_(sink) {}
  // Throws for sizes of zero and for sizes of more than 31 bits.
  uint8_t* Allocate(uint64_t height, uint64_t width) const;
  void* Scratch(uint64_t bytes) const;

 private:
  const EpiphyteImageSink& sink_;
};

// Scales a sample from [0, most] to [0, 255].
inline uint8_t ToByte(uint64_t sample, uint64_t most) { return static_cast<uint8_t>((sample * 255 + most / 2) / most); }

void DecodeJpeg(Source source, const Sink& sink);
void DecodeJpeg2000(Source source, const Sink& sink);
void DecodePng(Source source, const Sink& sink);
void DecodeTiff(Source source, const Sink& sink);
void DecodeWebp(Source source, const Sink& sink);

}  // namespace epiphyte::cpu::images
