// Images for tests, encoded in each format.
//
//   const Picture picture = Gradients(5, 7);
//   const std::string file = Png(picture, {.interlaced = true});
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace epiphyte::test {

struct Picture {
  uint32_t height = 0;
  uint32_t width = 0;
  std::vector<uint8_t> pixels;  // red, green, blue
};

// Returns a picture that is smooth, so that lossy formats keep it, and that has all colors.
Picture Gradients(uint32_t height, uint32_t width);
// Returns a picture of noise.
Picture Noise(uint32_t height, uint32_t width);
// Returns the picture with red in place of the other colors.
Picture Gray(Picture picture);

struct PngForm {
  bool gray = false;
  bool palette = false;  // writes a palette of at most 256 colors
  bool alpha = false;
  bool deep = false;  // 16 bits per sample
  bool interlaced = false;
  size_t text = 0;  // size in bytes of a compressed text chunk beside the pixels
};
std::string Png(const Picture& picture, const PngForm& form = {});

struct JpegForm {
  int quality = 95;
  bool gray = false;
  bool progressive = false;
  bool inks = false;  // CMYK, as Adobe writes it
};
std::string Jpeg(const Picture& picture, const JpegForm& form = {});

std::string Webp(const Picture& picture, bool lossless);

struct TiffForm {
  uint16_t compression = 1;  // as in the file: 1 none, 5 LZW, 8 deflate, 32773 PackBits
  bool gray = false;
  bool alpha = false;  // not premultiplied
  bool deep = false;   // 16 bits per sample
  bool tiles = false;
  bool planes = false;
  bool bottom_up = false;
  bool big_endian = false;
};
std::string Tiff(const Picture& picture, const TiffForm& form = {});

struct Jpeg2000Form {
  bool boxed = true;  // in a JP2 file
  bool gray = false;
  float ratio = 1;  // compression ratio; 1 is lossless
};
std::string Jpeg2000(const Picture& picture, const Jpeg2000Form& form = {});

}  // namespace epiphyte::test
