// PNG, by libpng.
#include <csetjmp>
#include <cstring>

#include <png.h>

#include "plugins/cpu/images/decoder.h"

namespace epiphyte::cpu::images {
namespace {

// Each library call is in a function of its own, and returns false after an error.
class Png {
 public:
  explicit Png(Source source) : source_(source) {
    png_ = png_create_read_struct(
        PNG_LIBPNG_VER_STRING, this,
        [](png_structp png, png_const_charp text) {
          static_cast<Png*>(png_get_error_ptr(png))->Keep(text);
          png_longjmp(png, 1);
        },
        [](png_structp, png_const_charp) {});
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) FailWrong("libpng has no memory");
    png_set_read_fn(png_, this, [](png_structp png, png_bytep to, size_t count) {
      Png* self = static_cast<Png*>(png_get_io_ptr(png));
      if (count > self->source_.size()) png_error(png, "the PNG ends too early");
      std::memcpy(to, self->source_.data(), count);
      self->source_ = self->source_.subspan(count);
    });
    // No limit here: the memory allocation refuses an image that is too large.
    png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    // Skips chunks that pixels do not need, such as compressed texts of any size.
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  }
  Png(const Png&) = delete;
  Png& operator=(const Png&) = delete;
  ~Png() { png_destroy_read_struct(&png_, &info_, nullptr); }

  bool ReadHeader() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_read_info(png_, info_);
    return true;
  }
  // Configures 8-bit RGB rows for any file; *passes: how often the rows must be read.
  bool Start(int* passes) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_expand(png_);
    png_set_scale_16(png_);
    png_set_gray_to_rgb(png_);
    png_set_strip_alpha(png_);
    *passes = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }
  bool ReadRow(uint8_t* row) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_read_row(png_, row, nullptr);
    return true;
  }

  uint32_t height() const { return png_get_image_height(png_, info_); }
  uint32_t width() const { return png_get_image_width(png_, info_); }
  size_t row_bytes() const { return png_get_rowbytes(png_, info_); }
  [[noreturn]] void Fail() const { FailWrong(message_); }

 private:
  void Keep(const char* text) {
    std::strncpy(message_, text == nullptr ? "the PNG is damaged" : text, sizeof message_ - 1);
  }

  Source source_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  char message_[128] = {};
};

}  // namespace

void DecodePng(Source source, const Sink& sink) {
  Png png(source);
  if (!png.ReadHeader()) png.Fail();
  const uint64_t height = png.height(), width = png.width();
  uint8_t* pixels = sink.Allocate(height, width);
  int passes = 0;
  if (!png.Start(&passes)) png.Fail();
  if (png.row_bytes() != width * 3) FailUnsupported("a PNG whose colors don't become red, green and blue");
  for (int pass = 0; pass < passes; ++pass) {
    for (uint64_t y = 0; y < height; ++y)
      if (!png.ReadRow(pixels + y * width * 3)) png.Fail();
  }
}

}  // namespace epiphyte::cpu::images
