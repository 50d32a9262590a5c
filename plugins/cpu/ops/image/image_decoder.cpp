// ImageDecoder: uncompressed BMP and the PNM family here; formats that need a library through images/.
#include <algorithm>
#include <array>
#include <exception>
#include <string>

#include "plugins/cpu/images/images.h"
#include "plugins/cpu/kernel/library_beside.h"
#include "plugins/cpu/kernel/move.h"

namespace epiphyte::cpu {
namespace {

struct Image {
  int64_t height = 0;
  int64_t width = 0;
  std::vector<std::array<uint8_t, 3>> pixels;  // red, green, blue
};

// Reader of a file's bytes. Reading past the end is an error in the image.
class Bytes {
 public:
  explicit Bytes(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  uint32_t At(uint64_t i) const {
    if (i >= bytes_.size()) FailOp("an image of {} bytes found, more bytes expected", bytes_.size());
    return bytes_[static_cast<size_t>(i)];
  }
  uint32_t Little16(uint64_t i) const { return At(i) | At(i + 1) << 8; }
  uint32_t Little32(uint64_t i) const { return Little16(i) | Little16(i + 2) << 16; }
  bool StartsWith(std::string_view text) const {
    return bytes_.size() >= text.size() && std::equal(text.begin(), text.end(), bytes_.begin(),
                                                      [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; });
  }
  uint64_t size() const { return bytes_.size(); }

 private:
  std::span<const uint8_t> bytes_;
};

// Allocates the pixels after checking that the file is large enough for them.
void Allocate(Image& image, int64_t height, int64_t width, uint64_t bits_there, uint64_t bits_a_pixel) {
  if (height < 1 || width < 1 || height > INT32_MAX || width > INT32_MAX)
    FailOp("an image of {} x {} pixels found, at least one pixel expected", height, width);
  const uint64_t count = static_cast<uint64_t>(height) * static_cast<uint64_t>(width);
  if (count > bits_there / bits_a_pixel)
    FailOp("an image of {} x {} pixels found in {} bits, more bytes expected", height, width, bits_there);
  image.height = height;
  image.width = width;
  image.pixels.resize(count);
}

Image DecodeBmp(const Bytes& bytes) {
  const uint64_t data = bytes.Little32(10);
  const uint32_t header = bytes.Little32(14);
  if (header < 40) NotImplemented("a BMP with a header of {} bytes found, one of at least 40 expected", header);
  const auto width = static_cast<int32_t>(bytes.Little32(18)), signed_height = static_cast<int32_t>(bytes.Little32(22));
  const uint32_t bits = bytes.Little16(28), compression = bytes.Little32(30);
  if (signed_height == INT32_MIN) FailOp("a BMP of height {} found, a smaller one expected", signed_height);
  const bool indexed = bits == 1 || bits == 4 || bits == 8;
  if (compression != 0 || !(indexed || bits == 24 || bits == 32))
    NotImplemented(
        "a BMP with {} bits a pixel and compression {} found, 1, 4, 8, 24 or 32 bits without compression expected",
        bits, compression);
  Image image;
  Allocate(image, std::abs(signed_height), width, bytes.size() * 8, bits);
  const uint64_t row_bytes = (static_cast<uint64_t>(width) * bits + 31) / 32 * 4;
  for (int64_t y = 0; y < image.height; ++y) {
    const uint64_t row = data + row_bytes * static_cast<uint64_t>(signed_height > 0 ? image.height - 1 - y : y);
    for (int64_t x = 0; x < width; ++x) {
      const uint64_t bit = static_cast<uint64_t>(x) * bits;
      uint64_t color = row + bit / 8;
      if (indexed) {
        const uint32_t index = bytes.At(row + bit / 8) >> (8 - bits - bit % 8) & ((1u << bits) - 1);
        color = 14 + header + uint64_t{index} * 4;
      }
      image.pixels[static_cast<size_t>(y * width + x)] = {static_cast<uint8_t>(bytes.At(color + 2)),
                                                          static_cast<uint8_t>(bytes.At(color + 1)),
                                                          static_cast<uint8_t>(bytes.At(color))};
    }
  }
  return image;
}

class PnmReader {
 public:
  explicit PnmReader(const Bytes& bytes) : bytes_(bytes) {}

  Image Decode() {
    const uint32_t kind = bytes_.At(1) - '0';
    at_ = 2;
    const int64_t width = Number(), height = Number();
    const bool bitmap = kind == 1 || kind == 4, color = kind == 3 || kind == 6, text = kind <= 3;
    most_ = bitmap ? 1 : Number();
    if (most_ < 1 || most_ > 65535) FailOp("a PNM with a largest value of {} found, 1 to 65535 expected", most_);
    Image image;
    const uint64_t samples = color ? 3 : 1;
    Allocate(image, height, width, (bytes_.size() - at_) * 8, kind == 4 ? 1 : samples * 8);
    if (!text) ++at_;  // a single space ends the header
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x) {
        std::array<uint8_t, 3>& pixel = image.pixels[static_cast<size_t>(y * width + x)];
        if (bitmap) {
          const bool black =
              text ? Digit() == 1 : (bytes_.At(at_ + static_cast<uint64_t>(x) / 8) >> (7 - x % 8) & 1) != 0;
          pixel.fill(black ? 0 : 255);
        } else if (color) {
          for (uint8_t& sample : pixel) sample = Sample(text);
        } else {
          pixel.fill(Sample(text));
        }
      }
      if (kind == 4) at_ += (static_cast<uint64_t>(width) + 7) / 8;
    }
    return image;
  }

 private:
  void SkipSpace() {
    while (true) {
      const uint32_t c = bytes_.At(at_);
      if (c == '#') {
        while (bytes_.At(at_) != '\n') ++at_;
      } else if (c != ' ' && (c < '\t' || c > '\r')) {
        return;
      }
      ++at_;
    }
  }
  int64_t Number() {
    SkipSpace();
    int64_t number = 0;
    bool any = false;
    while (at_ < bytes_.size() && bytes_.At(at_) >= '0' && bytes_.At(at_) <= '9' && number <= INT32_MAX) {
      number = number * 10 + (bytes_.At(at_++) - '0');
      any = true;
    }
    if (!any) FailOp("a PNM without a number at byte {} found, one expected", at_);
    return number;
  }
  uint32_t Digit() {  // digit of a plain bitmap; its digits need no separator
    SkipSpace();
    return bytes_.At(at_++) - '0';
  }
  uint8_t Sample(bool text) {
    int64_t value;
    if (text) {
      value = Number();
    } else if (most_ < 256) {
      value = bytes_.At(at_++);
    } else {
      value = static_cast<int64_t>(bytes_.At(at_) << 8 | bytes_.At(at_ + 1));
      at_ += 2;
    }
    return static_cast<uint8_t>((std::min(value, most_) * 255 + most_ / 2) / most_);
  }

  const Bytes& bytes_;
  uint64_t at_ = 0;
  int64_t most_ = 255;
};

EpiphyteDecodeImageFunction OpenImageLibrary() {
  return reinterpret_cast<EpiphyteDecodeImageFunction>(
      OpenBesidePlugin("libepiphyte_cpu_images.so", EPIPHYTE_DECODE_IMAGE, "this image format"));
}

class ImageDecoderKernel : public Kernel {
 public:
  explicit ImageDecoderKernel(const KernelInit& init) : format_(init.node().String("pixel_format", "RGB")) {
    if (format_ != "RGB" && format_ != "BGR" && format_ != "Grayscale")
      FailOp("pixel_format '{}' found, RGB, BGR or Grayscale expected", format_);
  }
  void Run(OpContext& context) const override {
    const Tensor& stream = context.Input(0);
    if (stream.type != EP_TYPE_UINT8 || stream.rank() != 1)
      FailOp("input of type {} and shape {} found, a vector of uint8 expected", TypeName(stream.type),
             ShapeText(stream.dims));
    const std::span<const uint8_t> bytes(stream.as<uint8_t>(), static_cast<size_t>(stream.Count()));
    const Bytes view(bytes);
    const bool bmp = view.StartsWith("BM"), pnm = view.StartsWith("P") && view.At(1) >= '1' && view.At(1) <= '6';
    if (!bmp && !pnm) return DecodeByLibrary(context, bytes);
    const Image image = bmp ? DecodeBmp(view) : PnmReader(view).Decode();
    Pixels pixels{context, *this};
    Write(pixels.Allocate(image.height, image.width), image);
    pixels.Finish();
  }

 private:
  // The decoded RGB pixels, and the output made from them.
  struct Pixels {
    OpContext& context;
    const ImageDecoderKernel& kernel;
    uint8_t* out = nullptr;
    uint8_t* colors = nullptr;  // the RGB pixels; equal to the output except for gray
    uint64_t count = 0;
    std::exception_ptr refusal;

    uint8_t* Allocate(int64_t height, int64_t width) {
      const bool gray = kernel.format_ == "Grayscale";
      count = static_cast<uint64_t>(height) * static_cast<uint64_t>(width);
      out = context.Output(0, EP_TYPE_UINT8, Dims{height, width, gray ? 1 : 3}).as<uint8_t>();
      return colors = gray ? static_cast<uint8_t*>(context.Scratch(count * 3)) : out;
    }
    void Finish() const {
      if (kernel.format_ == "BGR") {
        for (uint64_t i = 0; i < count; ++i) std::swap(out[i * 3], out[i * 3 + 2]);
      } else if (kernel.format_ == "Grayscale") {
        // ITU-R 601 luma with a 16-bit fraction.
        for (uint64_t i = 0; i < count; ++i) {
          const uint8_t* color = colors + i * 3;
          out[i] = static_cast<uint8_t>((color[0] * 19595u + color[1] * 38470u + color[2] * 7471u + 0x8000u) >> 16);
        }
      }
    }
  };

  static void Write(uint8_t* to, const Image& image) {
    for (const std::array<uint8_t, 3>& pixel : image.pixels) to = std::copy(pixel.begin(), pixel.end(), to);
  }

  // Defers an exception of the run until the library has released its resources.
  template <typename Body>
  static auto Guarded(void* context, Body body) -> decltype(body(*static_cast<Pixels*>(context))) {
    auto& pixels = *static_cast<Pixels*>(context);
    try {
      return body(pixels);
    } catch (...) {
      pixels.refusal = std::current_exception();
      return nullptr;
    }
  }

  void DecodeByLibrary(OpContext& context, std::span<const uint8_t> bytes) const {
    constexpr std::string_view kFormats = "BMP, JPEG, JPEG 2000, PNG, PNM, TIFF or WebP expected";
    Pixels pixels{context, *this};
    EpiphyteImageSink sink{};
    sink.context = &pixels;
    sink.allocate = [](void* of, uint32_t height, uint32_t width) {
      return Guarded(of, [&](Pixels& here) { return here.Allocate(height, width); });
    };
    sink.scratch = [](void* of, uint64_t size) {
      return Guarded(of, [&](Pixels& here) { return here.context.Scratch(size); });
    };
    char message[512] = {};
    switch (OpenImageLibrary()(bytes.data(), bytes.size(), &sink, message, sizeof message)) {
      case EPIPHYTE_IMAGE_OK: return pixels.Finish();
      case EPIPHYTE_IMAGE_UNSUPPORTED: NotImplemented("an image that can't be decoded found: {}", message);
      case EPIPHYTE_IMAGE_UNKNOWN: FailOp("{} bytes of no known image format found, {}", bytes.size(), kFormats);
      default: break;
    }
    if (pixels.refusal) std::rethrow_exception(pixels.refusal);
    FailOp("an image of {} bytes that can't be decoded found: {}", bytes.size(), message);
  }

  std::string format_;
};

}  // namespace

void Register_image_decoder(KernelRegistry& registry) { registry.Add<ImageDecoderKernel>("ImageDecoder"); }

}  // namespace epiphyte::cpu
