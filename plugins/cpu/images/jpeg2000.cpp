// JPEG 2000, by OpenJPEG: a JP2 file or a bare code stream.
#include <openjpeg.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>

#include "plugins/cpu/images/decoder.h"

namespace epiphyte::cpu::images {
namespace {

struct File {
  Source source;
  uint64_t at = 0;
  std::string message;
};

File& Of(void* user) { return *static_cast<File*>(user); }

OPJ_SIZE_T Read(void* to, OPJ_SIZE_T count, void* user) {
  File& file = Of(user);
  if (file.at >= file.source.size()) return static_cast<OPJ_SIZE_T>(-1);
  const OPJ_SIZE_T there = std::min<OPJ_SIZE_T>(count, file.source.size() - file.at);
  std::memcpy(to, file.source.data() + file.at, there);
  file.at += there;
  return there;
}

OPJ_OFF_T Skip(OPJ_OFF_T count, void* user) {
  File& file = Of(user);
  if (count < 0) return -1;
  const uint64_t there = std::min<uint64_t>(static_cast<uint64_t>(count), file.source.size() - file.at);
  file.at += there;
  return there == 0 && count > 0 ? -1 : static_cast<OPJ_OFF_T>(there);
}

OPJ_BOOL Seek(OPJ_OFF_T to, void* user) {
  File& file = Of(user);
  if (to < 0 || static_cast<uint64_t>(to) > file.source.size()) return OPJ_FALSE;
  file.at = static_cast<uint64_t>(to);
  return OPJ_TRUE;
}

// Keeps the first error, because it is the cause of the others.
void KeepError(const char* text, void* user) {
  File& file = Of(user);
  if (!file.message.empty()) return;
  file.message = text;
  while (!file.message.empty() && file.message.back() == '\n') file.message.pop_back();
}

void Drop(const char*, void*) {}

// The library's codecs and streams are both void*.
struct CodecCloser {
  void operator()(opj_codec_t* codec) const { opj_destroy_codec(codec); }
};
struct StreamCloser {
  void operator()(opj_stream_t* stream) const { opj_stream_destroy(stream); }
};
struct ImageCloser {
  void operator()(opj_image_t* image) const { opj_image_destroy(image); }
};

// Image sizes from the start of the code stream, known before the library allocates anything.
struct Sizes {
  uint64_t height = 0, width = 0, components = 0, tiles = 0;
};

uint64_t Big(Source source, uint64_t at, int bytes) {
  if (at + static_cast<uint64_t>(bytes) > source.size()) FailWrong("the JPEG 2000 ends too early");
  uint64_t number = 0;
  for (int i = 0; i < bytes; ++i) number = number << 8 | source[static_cast<size_t>(at) + static_cast<size_t>(i)];
  return number;
}

Source CodeStream(Source source) {
  if (source[0] == 0xff) return source;
  for (uint64_t at = 0;;) {
    uint64_t length = Big(source, at, 4), head = 8;
    const uint64_t kind = Big(source, at + 4, 4);
    if (length == 1) {
      length = Big(source, at + 8, 8);
      head = 16;
    }
    if (length == 0) length = source.size() - at;
    if (length < head || length > source.size() - at) FailWrong("the JP2 has a box that ends behind it");
    if (kind == 0x6a703263) return source.subspan(static_cast<size_t>(at + head), static_cast<size_t>(length - head));
    at += length;
  }
}

Sizes ReadSizes(Source stream) {
  constexpr uint64_t kBytesPerTile = 14;  // the tile's two markers
  if (Big(stream, 0, 4) != 0xff4fff51) FailWrong("the JPEG 2000 doesn't begin with its sizes");
  const auto number = [&](uint64_t at) { return Big(stream, at, 4); };
  const uint64_t right = number(8), bottom = number(12), left = number(16), top = number(20);
  const uint64_t tile_width = number(24), tile_height = number(28), tiles_left = number(32), tiles_top = number(36);
  if (right <= left || bottom <= top || tile_width == 0 || tile_height == 0 || tiles_left > left || tiles_top > top)
    FailWrong("the JPEG 2000 has sizes that make no image");
  const uint64_t across = (right - tiles_left + tile_width - 1) / tile_width;
  const uint64_t down = (bottom - tiles_top + tile_height - 1) / tile_height;
  if (across > stream.size() || down > stream.size() || across * down > stream.size() / kBytesPerTile)
    FailWrong("the JPEG 2000 has fewer bytes than its tiles need");
  // Each component of a tile has at least one packet, which may be empty.
  const uint64_t components = Big(stream, 40, 2), tiles = across * down;
  if (tiles * components > stream.size()) FailWrong("the JPEG 2000 has fewer bytes than its tiles need");
  return {bottom - top, right - left, components, tiles};
}

// Exponents of the smallest precincts in the headers of a code stream; 15 when no header names any.
struct Precincts {
  uint64_t across = 15, down = 15;
};

// `at`: position of a component's coding parameters in COD or COC, which start with the number of decompositions.
void Shrink(Source stream, uint64_t at, Precincts* smallest) {
  constexpr uint64_t kHead = 5, kMost = 33;
  const uint64_t count = std::min(Big(stream, at, 1) + 1, kMost);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t exponents = Big(stream, at + kHead + i, 1);
    smallest->across = std::min(smallest->across, exponents & 15);
    smallest->down = std::min(smallest->down, exponents >> 4);
  }
}

Precincts SmallestPrecincts(Source stream, uint64_t components) {
  constexpr uint64_t kSot = 0xff90, kSod = 0xff93, kEnd = 0xffd9, kCod = 0xff52, kCoc = 0xff53;
  // The segments known to the library. It expects each segment directly behind the previous one.
  constexpr uint64_t kSegments[] = {kSot,   kCod,   kCoc,   0xff50, 0xff51, 0xff55, 0xff57,
                                    0xff58, 0xff59, 0xff5c, 0xff5d, 0xff5e, 0xff5f, 0xff60,
                                    0xff61, 0xff63, 0xff64, 0xff74, 0xff75, 0xff77, 0xff78};
  Precincts smallest;
  uint64_t end = 0;  // end of the tile part
  for (uint64_t at = 2; at + 4 <= stream.size();) {
    const uint64_t marker = Big(stream, at, 2), length = Big(stream, at + 2, 2);
    if (marker == kSod) {
      if (end <= at) return smallest;
      at = end;
      continue;
    }
    if (marker == kEnd) return smallest;
    if (std::find(std::begin(kSegments), std::end(kSegments), marker) == std::end(kSegments)) {
      at += 2;
      continue;
    }
    if (marker == kSot) {
      const uint64_t bytes = Big(stream, at + 6, 4);  // 0: the tile part extends to the end
      end = bytes == 0 ? stream.size() : at + bytes;
    }
    const uint64_t of_component = at + 4 + (components < 257 ? 1 : 2);
    if (marker == kCod && (Big(stream, at + 4, 1) & 1) != 0) Shrink(stream, at + 9, &smallest);
    if (marker == kCoc && (Big(stream, of_component, 1) & 1) != 0) Shrink(stream, of_component + 1, &smallest);
    at += 2 + length;
  }
  return smallest;
}

// Bytes that the library keeps for each precinct of a component while it decodes, over all decompositions.
uint64_t PrecinctBytes(const Sizes& sizes, const Precincts& smallest) {
  constexpr uint64_t kEach = 600;
  const auto count = [](uint64_t size, uint64_t exponent) { return (size >> exponent) + 1; };
  return count(sizes.width, smallest.across) * count(sizes.height, smallest.down) * 4 / 3 * kEach;
}

// Samples of one component. It may have fewer samples than the image has pixels, and negative values.
class Component {
 public:
  Component(const opj_image_t& image, uint32_t index) : component_(image.comps[index]) {
    if (component_.data == nullptr || component_.prec < 1 || component_.prec > 31 || component_.w < 1 ||
        component_.h < 1)
      FailUnsupported("a JPEG 2000 with a component without samples");
    most_ = (uint64_t{1} << component_.prec) - 1;
    lowest_ = component_.sgnd != 0 ? int64_t{1} << (component_.prec - 1) : 0;
  }
  uint8_t At(uint64_t y, uint64_t x) const {
    const uint64_t row = std::min<uint64_t>(y / component_.dy, component_.h - 1);
    const uint64_t column = std::min<uint64_t>(x / component_.dx, component_.w - 1);
    const int64_t sample = component_.data[row * component_.w + column] + lowest_;
    return ToByte(static_cast<uint64_t>(std::clamp<int64_t>(sample, 0, static_cast<int64_t>(most_))), most_);
  }

 private:
  const opj_image_comp_t& component_;
  uint64_t most_;
  int64_t lowest_;
};

uint8_t Rounded(double value) { return static_cast<uint8_t>(std::clamp(value + 0.5, 0.0, 255.0)); }

void ToPixels(const opj_image_t& image, uint64_t height, uint64_t width, uint8_t* pixels) {
  // One component is gray; components behind the third are opacity.
  const bool gray = image.numcomps < 3;
  const Component first(image, 0), second(image, gray ? 0 : 1), third(image, gray ? 0 : 2);
  const bool luma = !gray && image.color_space == OPJ_CLRSPC_SYCC;
  if (!gray && (image.color_space == OPJ_CLRSPC_CMYK || image.color_space == OPJ_CLRSPC_EYCC))
    FailUnsupported("a JPEG 2000 with the colors of a printer; red, green and blue are expected");
  for (uint64_t y = 0; y < height; ++y) {
    for (uint64_t x = 0; x < width; ++x, pixels += 3) {
      const uint8_t a = first.At(y, x), b = second.At(y, x), c = third.At(y, x);
      if (luma) {
        const double blue = b - 128.0, red = c - 128.0;
        pixels[0] = Rounded(a + 1.402 * red);
        pixels[1] = Rounded(a - 0.344136 * blue - 0.714136 * red);
        pixels[2] = Rounded(a + 1.772 * blue);
      } else {
        pixels[0] = a;
        pixels[1] = b;
        pixels[2] = c;
      }
    }
  }
}

}  // namespace

void DecodeJpeg2000(Source source, const Sink& sink) {
  const Source code = CodeStream(source);
  const Sizes sizes = ReadSizes(code);
  const Precincts smallest = SmallestPrecincts(code, sizes.components);
  uint8_t* pixels = sink.Allocate(sizes.height, sizes.width);
  // The library keeps an int for each sample, another one while it decodes a tile, and the coding parameters of each
  // component of each tile.
  constexpr uint64_t kBytesPerComponent = 1200;
  sink.Scratch(sizes.components * (sizes.height * sizes.width * 2 * sizeof(int32_t) + sizes.tiles * kBytesPerComponent +
                                   PrecinctBytes(sizes, smallest)));
  File file{source, 0, {}};
  const std::unique_ptr<opj_stream_t, StreamCloser> stream(opj_stream_create(1 << 16, OPJ_TRUE));
  const std::unique_ptr<opj_codec_t, CodecCloser> codec(
      opj_create_decompress(source[0] == 0xff ? OPJ_CODEC_J2K : OPJ_CODEC_JP2));
  if (!stream || !codec) FailWrong("OpenJPEG has no memory");
  opj_stream_set_user_data(stream.get(), &file, nullptr);
  opj_stream_set_user_data_length(stream.get(), source.size());
  opj_stream_set_read_function(stream.get(), Read);
  opj_stream_set_skip_function(stream.get(), Skip);
  opj_stream_set_seek_function(stream.get(), Seek);
  opj_set_error_handler(codec.get(), KeepError, &file);
  opj_set_warning_handler(codec.get(), Drop, nullptr);
  opj_set_info_handler(codec.get(), Drop, nullptr);
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  opj_image_t* made = nullptr;
  bool decoded = opj_setup_decoder(codec.get(), &parameters) && opj_read_header(stream.get(), codec.get(), &made);
  const std::unique_ptr<opj_image_t, ImageCloser> image(made);
  decoded = decoded && image && opj_decode(codec.get(), stream.get(), image.get()) &&
            opj_end_decompress(codec.get(), stream.get());
  if (!decoded) FailWrong(file.message.empty() ? "the JPEG 2000 is damaged" : file.message);
  if (image->numcomps < 1 || image->x1 - image->x0 != sizes.width || image->y1 - image->y0 != sizes.height)
    FailWrong("the JPEG 2000 has other sizes than it says");
  ToPixels(*image, sizes.height, sizes.width, pixels);
}

}  // namespace epiphyte::cpu::images
