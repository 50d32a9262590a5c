#include "tests/framework/images/encoders.h"

#include <cstdio>

#include <jpeglib.h>
#include <openjpeg.h>
#include <png.h>
#include <tiffio.h>
#include <webp/encode.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <stdexcept>

namespace epiphyte::test {
namespace {

void Require(bool good, const char* what) {
  if (!good) throw std::runtime_error(std::string("can't encode: ") + what);
}

// Returns the samples as a file has them. A 16-bit sample has two equal bytes, so that byte order makes no difference.
std::vector<uint8_t> Samples(const Picture& picture, size_t channels, bool deep) {
  std::vector<uint8_t> samples;
  for (size_t i = 0; i < picture.pixels.size(); i += 3) {
    for (size_t c = 0; c < channels; ++c) {
      // A gray picture takes the red channel. Alpha comes last, and its values vary.
      const bool is_alpha = c == channels - 1 && channels % 2 == 0;
      const uint8_t sample = is_alpha ? static_cast<uint8_t>(i) : picture.pixels[i + c];
      samples.push_back(sample);
      if (deep) samples.push_back(sample);
    }
  }
  return samples;
}

// --- memory that is written as a file

struct File {
  std::string bytes;
  size_t at = 0;

  size_t Write(const void* from, size_t count) {
    if (bytes.size() < at + count) bytes.resize(at + count);
    std::memcpy(bytes.data() + at, from, count);
    at += count;
    return count;
  }
};

}  // namespace

Picture Gradients(uint32_t height, uint32_t width) {
  Picture picture{height, width, {}};
  for (uint32_t y = 0; y < height; ++y) {
    for (uint32_t x = 0; x < width; ++x) {
      picture.pixels.push_back(static_cast<uint8_t>(255 * y / std::max(height - 1, 1u)));
      picture.pixels.push_back(static_cast<uint8_t>(255 * x / std::max(width - 1, 1u)));
      picture.pixels.push_back(static_cast<uint8_t>(255 * (x + y) / (height + width)));
    }
  }
  return picture;
}

Picture Noise(uint32_t height, uint32_t width) {
  std::mt19937 random(7);
  Picture picture{height, width, std::vector<uint8_t>(size_t{height} * width * 3)};
  for (uint8_t& sample : picture.pixels) sample = static_cast<uint8_t>(random());
  return picture;
}

Picture Gray(Picture picture) {
  for (size_t i = 0; i < picture.pixels.size(); i += 3)
    picture.pixels[i + 1] = picture.pixels[i + 2] = picture.pixels[i];
  return picture;
}

std::string Png(const Picture& picture, const PngForm& form) {
  File file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &file,
      [](png_structp of, png_bytep from, size_t count) { static_cast<File*>(png_get_io_ptr(of))->Write(from, count); },
      nullptr);
  const int type =
      form.palette ? PNG_COLOR_TYPE_PALETTE
                   : (form.gray ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB) | (form.alpha ? PNG_COLOR_MASK_ALPHA : 0);
  const size_t channels = form.palette ? 1 : (form.gray ? 1 : 3) + (form.alpha ? 1 : 0);
  png_set_IHDR(png, info, picture.width, picture.height, form.deep ? 16 : 8, type,
               form.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  std::vector<uint8_t> samples;
  if (form.palette) {
    std::map<std::array<uint8_t, 3>, uint8_t> indices;
    std::vector<png_color> colors;
    for (size_t i = 0; i < picture.pixels.size(); i += 3) {
      const std::array<uint8_t, 3> color = {picture.pixels[i], picture.pixels[i + 1], picture.pixels[i + 2]};
      const auto [index, is_new] = indices.emplace(color, static_cast<uint8_t>(colors.size()));
      if (is_new) colors.push_back({color[0], color[1], color[2]});
      samples.push_back(index->second);
    }
    Require(colors.size() <= 256, "too many colors");
    png_set_PLTE(png, info, colors.data(), static_cast<int>(colors.size()));
  } else {
    samples = Samples(picture, channels, form.deep);
  }
  std::string key = "text", words(form.text, 'a');
  png_text text = {};
  text.compression = PNG_TEXT_COMPRESSION_zTXt;
  text.key = key.data();
  text.text = words.data();
  text.text_length = words.size();
  if (form.text != 0) png_set_text(png, info, &text, 1);
  std::vector<png_bytep> rows;
  const size_t row = picture.width * channels * (form.deep ? 2 : 1);
  for (uint32_t y = 0; y < picture.height; ++y) rows.push_back(samples.data() + y * row);
  png_set_rows(png, info, rows.data());
  png_write_png(png, info, PNG_TRANSFORM_IDENTITY, nullptr);
  png_destroy_write_struct(&png, &info);
  return std::move(file.bytes);
}

std::string Jpeg(const Picture& picture, const JpegForm& form) {
  jpeg_compress_struct info;
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_width = picture.width;
  info.image_height = picture.height;
  info.input_components = form.inks ? 4 : form.gray ? 1 : 3;
  info.in_color_space = form.inks ? JCS_CMYK : form.gray ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, form.quality, TRUE);
  if (form.progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  for (uint32_t y = 0; y < picture.height; ++y) {
    std::vector<uint8_t> row;
    for (uint32_t x = 0; x < picture.width; ++x) {
      const uint8_t* pixel = &picture.pixels[(size_t{y} * picture.width + x) * 3];
      row.insert(row.end(), pixel, pixel + (form.gray ? 1 : 3));
      if (form.inks) row.push_back(255);  // no black, inverted
    }
    uint8_t* at = row.data();
    jpeg_write_scanlines(&info, &at, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::string file(reinterpret_cast<const char*>(bytes), size);
  std::free(bytes);
  return file;
}

std::string Webp(const Picture& picture, bool lossless) {
  uint8_t* bytes = nullptr;
  const int width = static_cast<int>(picture.width), height = static_cast<int>(picture.height);
  const size_t size = lossless ? WebPEncodeLosslessRGB(picture.pixels.data(), width, height, width * 3, &bytes)
                               : WebPEncodeRGB(picture.pixels.data(), width, height, width * 3, 95, &bytes);
  Require(size > 0, "WebP");
  std::string file(reinterpret_cast<const char*>(bytes), size);
  WebPFree(bytes);
  return file;
}

std::string Tiff(const Picture& picture, const TiffForm& form) {
  File file;
  const auto read = [](thandle_t, void*, tmsize_t) -> tmsize_t { return 0; };
  const auto write = [](thandle_t to, void* from, tmsize_t count) -> tmsize_t {
    return static_cast<tmsize_t>(static_cast<File*>(to)->Write(from, static_cast<size_t>(count)));
  };
  const auto seek = [](thandle_t of, toff_t offset, int from) -> toff_t {
    File& here = *static_cast<File*>(of);
    return here.at = (from == SEEK_SET ? 0 : from == SEEK_CUR ? here.at : here.bytes.size()) + offset;
  };
  const auto size = [](thandle_t of) -> toff_t { return static_cast<File*>(of)->bytes.size(); };
  TIFF* tiff = TIFFClientOpen(
      "test", form.big_endian ? "wb" : "wl", &file, read, write, seek, [](thandle_t) { return 0; }, size,
      [](thandle_t, void**, toff_t*) { return 0; }, [](thandle_t, void*, toff_t) {});
  Require(tiff != nullptr, "TIFF");
  const size_t channels = (form.gray ? 1 : 3) + (form.alpha ? 1 : 0);
  const size_t bytes = form.deep ? 2 : 1;
  TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, picture.width);
  TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, picture.height);
  TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, channels);
  TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, bytes * 8);
  TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, form.gray ? PHOTOMETRIC_MINISBLACK : PHOTOMETRIC_RGB);
  TIFFSetField(tiff, TIFFTAG_COMPRESSION, form.compression);
  TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, form.planes ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG);
  TIFFSetField(tiff, TIFFTAG_ORIENTATION, form.bottom_up ? ORIENTATION_BOTLEFT : ORIENTATION_TOPLEFT);
  if (form.alpha) {
    const uint16_t kind = EXTRASAMPLE_UNASSALPHA;
    TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, 1, &kind);
  }
  const std::vector<uint8_t> samples = Samples(picture, channels, form.deep);
  const size_t pixel = channels * bytes, row = picture.width * pixel;
  if (form.tiles) {
    constexpr uint32_t kSide = 16;
    TIFFSetField(tiff, TIFFTAG_TILEWIDTH, kSide);
    TIFFSetField(tiff, TIFFTAG_TILELENGTH, kSide);
    for (uint32_t top = 0; top < picture.height; top += kSide) {
      for (uint32_t left = 0; left < picture.width; left += kSide) {
        std::vector<uint8_t> tile(kSide * kSide * pixel);
        for (uint32_t y = top; y < std::min(top + kSide, picture.height); ++y) {
          const size_t count = std::min(kSide, picture.width - left) * pixel;
          std::copy_n(&samples[y * row + left * pixel], count, &tile[(y - top) * kSide * pixel]);
        }
        TIFFWriteTile(tiff, tile.data(), left, top, 0, 0);
      }
    }
  } else {
    TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, 4);
    for (uint16_t plane = 0; plane < (form.planes ? channels : 1); ++plane) {
      for (uint32_t y = 0; y < picture.height; ++y) {
        const uint32_t from = form.bottom_up ? picture.height - 1 - y : y;
        std::vector<uint8_t> line(samples.begin() + static_cast<std::ptrdiff_t>(from * row),
                                  samples.begin() + static_cast<std::ptrdiff_t>((from + 1) * row));
        if (form.planes) {
          for (uint32_t x = 0; x < picture.width; ++x)
            std::copy_n(&samples[from * row + x * pixel + plane * bytes], bytes, &line[x * bytes]);
        }
        Require(TIFFWriteScanline(tiff, line.data(), y, plane) == 1, "TIFF");
      }
    }
  }
  TIFFClose(tiff);
  return std::move(file.bytes);
}

std::string Jpeg2000(const Picture& picture, const Jpeg2000Form& form) {
  File file;
  const uint32_t channels = form.gray ? 1 : 3;
  std::vector<opj_image_cmptparm_t> components(channels);
  for (opj_image_cmptparm_t& component : components) {
    component.dx = component.dy = 1;
    component.w = picture.width;
    component.h = picture.height;
    component.prec = 8;
  }
  opj_image_t* image = opj_image_create(channels, components.data(), form.gray ? OPJ_CLRSPC_GRAY : OPJ_CLRSPC_SRGB);
  image->x1 = picture.width;
  image->y1 = picture.height;
  for (size_t i = 0; i < picture.pixels.size() / 3; ++i)
    for (uint32_t c = 0; c < channels; ++c) image->comps[c].data[i] = picture.pixels[i * 3 + c];
  opj_cparameters_t parameters;
  opj_set_default_encoder_parameters(&parameters);
  parameters.tcp_numlayers = 1;
  parameters.cp_disto_alloc = 1;
  parameters.tcp_rates[0] = form.ratio == 1 ? 0 : form.ratio;
  parameters.irreversible = form.ratio == 1 ? 0 : 1;
  parameters.numresolution = 2;
  opj_codec_t* codec = opj_create_compress(form.boxed ? OPJ_CODEC_JP2 : OPJ_CODEC_J2K);
  opj_stream_t* stream = opj_stream_create(1 << 16, OPJ_FALSE);
  opj_stream_set_user_data(stream, &file, nullptr);
  opj_stream_set_write_function(stream, [](void* from, OPJ_SIZE_T count, void* to) -> OPJ_SIZE_T {
    return static_cast<File*>(to)->Write(from, count);
  });
  opj_stream_set_skip_function(stream, [](OPJ_OFF_T count, void* of) -> OPJ_OFF_T {
    static_cast<File*>(of)->at += static_cast<size_t>(count);
    return count;
  });
  opj_stream_set_seek_function(stream, [](OPJ_OFF_T to, void* of) -> OPJ_BOOL {
    static_cast<File*>(of)->at = static_cast<size_t>(to);
    return OPJ_TRUE;
  });
  const bool good = opj_setup_encoder(codec, &parameters, image) != 0 &&
                    opj_start_compress(codec, image, stream) != 0 && opj_encode(codec, stream) != 0 &&
                    opj_end_compress(codec, stream) != 0;
  opj_stream_destroy(stream);
  opj_destroy_codec(codec);
  opj_image_destroy(image);
  Require(good, "JPEG 2000");
  return std::move(file.bytes);
}

}  // namespace epiphyte::test
