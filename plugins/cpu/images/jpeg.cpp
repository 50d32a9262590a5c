// JPEG, by libjpeg.
#include <csetjmp>
#include <cstdio>
#include <vector>

#include <jpeglib.h>

#include <jerror.h>

#include "plugins/cpu/images/decoder.h"

namespace epiphyte::cpu::images {
namespace {

// Limit on the scans of a progressive image: a file with more is made to keep decoders busy.
constexpr int kMostScans = 500;

// Each library call is in a function of its own, and returns false after an error.
class Jpeg {
 public:
  Jpeg() {
    info_.err = jpeg_std_error(&errors_);
    info_.client_data = this;
    errors_.error_exit = [](j_common_ptr info) { Of(info)->Leave(); };
    errors_.output_message = [](j_common_ptr) {};
    errors_.emit_message = [](j_common_ptr info, int level) {
      const int code = info->err->msg_code;
      if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER)) Of(info)->Leave();
    };
    progress_.progress_monitor = [](j_common_ptr info) {
      if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > kMostScans) Of(info)->Leave();
    };
  }
  Jpeg(const Jpeg&) = delete;
  Jpeg& operator=(const Jpeg&) = delete;
  ~Jpeg() {
    if (created_) jpeg_destroy_decompress(&info_);
  }

  bool ReadHeader(Source source) {
    if (setjmp(jump_) != 0) return false;
    jpeg_create_decompress(&info_);
    created_ = true;
    info_.progress = &progress_;
    jpeg_mem_src(&info_, source.data(), static_cast<unsigned long>(source.size()));
    return jpeg_read_header(&info_, TRUE) == JPEG_HEADER_OK;
  }
  bool Start() {
    if (setjmp(jump_) != 0) return false;
    return jpeg_start_decompress(&info_) == TRUE;
  }
  bool ReadRow(uint8_t* row) {
    if (setjmp(jump_) != 0) return false;
    return jpeg_read_scanlines(&info_, &row, 1) == 1;
  }

  jpeg_decompress_struct& info() { return info_; }
  [[noreturn]] void Fail() const { FailWrong(message_[0] == '\0' ? "the JPEG is damaged" : message_); }

 private:
  static Jpeg* Of(j_common_ptr info) { return static_cast<Jpeg*>(info->client_data); }
  [[noreturn]] void Leave() {
    errors_.format_message(reinterpret_cast<j_common_ptr>(&info_), message_);
    longjmp(jump_, 1);
  }

  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  jpeg_decompress_struct info_{};
  jmp_buf jump_;
  char message_[JMSG_LENGTH_MAX] = {};
  bool created_ = false;
};

}  // namespace

void DecodeJpeg(Source source, const Sink& sink) {
  Jpeg jpeg;
  if (!jpeg.ReadHeader(source)) jpeg.Fail();
  jpeg_decompress_struct& info = jpeg.info();
  // The library can't convert CMYK to RGB.
  const bool inks = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
  info.out_color_space = inks ? JCS_CMYK : JCS_RGB;
  uint8_t* row = sink.Allocate(info.image_height, info.image_width);
  // For a progressive image, the library keeps the coefficients of all components.
  if (jpeg_has_multiple_scans(&info))
    sink.Scratch(uint64_t{info.image_height} * info.image_width * static_cast<uint64_t>(info.num_components) * 2);
  if (!jpeg.Start()) jpeg.Fail();
  if (info.output_components != (inks ? 4 : 3)) FailUnsupported("a JPEG whose colors don't become red, green and blue");
  const size_t width = info.output_width;
  std::vector<uint8_t> four(inks ? width * 4 : 0);
  for (uint32_t y = 0; y < info.output_height; ++y, row += width * 3) {
    if (!jpeg.ReadRow(inks ? four.data() : row)) jpeg.Fail();
    if (!inks) continue;
    // Adobe stores inverted values: light instead of ink.
    const auto light = [&](size_t i) -> uint32_t { return info.saw_Adobe_marker ? four[i] : 255u - four[i]; };
    for (size_t x = 0; x < width; ++x) {
      for (size_t c = 0; c < 3; ++c) row[x * 3 + c] = static_cast<uint8_t>(light(x * 4 + c) * light(x * 4 + 3) / 255);
    }
  }
}

}  // namespace epiphyte::cpu::images
