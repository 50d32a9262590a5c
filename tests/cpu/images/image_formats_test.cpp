// ImageDecoder on files that the formats' own libraries have written.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>

#include "tests/cpu/ops/move_testing.h"
#include "tests/framework/images/encoders.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::vector<uint8_t> Decode(const std::string& file, const std::string& format, Shape* dims = nullptr) {
  OpRunner decoder("ImageDecoder", 20);
  decoder.Attribute("pixel_format", format);
  decoder.Input<uint8_t>({static_cast<int64_t>(file.size())}, std::vector<uint8_t>(file.begin(), file.end()));
  decoder.Run();
  if (dims != nullptr) *dims = decoder.Dims(0);
  return decoder.Output<uint8_t>(0);
}

std::string Refusal(const std::string& file) {
  try {
    Decode(file, "RGB");
  } catch (const kit::Error& error) {
    return error.what();
  }
  return "OK";
}

std::vector<uint8_t> As(const Picture& picture, const std::string& format) {
  std::vector<uint8_t> expected;
  for (size_t i = 0; i < picture.pixels.size(); i += 3) {
    const uint32_t red = picture.pixels[i], green = picture.pixels[i + 1], blue = picture.pixels[i + 2];
    if (format == "Grayscale") {
      expected.push_back(static_cast<uint8_t>((red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16));
    } else {
      for (const uint32_t sample : format == "RGB" ? std::array{red, green, blue} : std::array{blue, green, red})
        expected.push_back(static_cast<uint8_t>(sample));
    }
  }
  return expected;
}

void ExpectEach(const Picture& picture, const std::string& file, int most_apart) {
  for (const char* format : {"RGB", "BGR", "Grayscale"}) {
    Shape dims;
    const std::vector<uint8_t> found = Decode(file, format, &dims), expected = As(picture, format);
    ASSERT_EQ(dims, (Shape{picture.height, picture.width, std::string_view(format) == "Grayscale" ? 1 : 3}));
    int worst = 0;
    for (size_t i = 0; i < found.size(); ++i) worst = std::max(worst, std::abs(found[i] - expected[i]));
    EXPECT_LE(worst, most_apart) << format;
  }
}

constexpr uint32_t kHeight = 21, kWidth = 34;

TEST(ImageFormats, PngIsExact) {
  const Picture noise = Noise(kHeight, kWidth);
  ExpectEach(noise, Png(noise), 0);
  ExpectEach(noise, Png(noise, {.interlaced = true}), 0);
  ExpectEach(noise, Png(noise, {.alpha = true}), 0);
  ExpectEach(noise, Png(noise, {.deep = true}), 0);
  ExpectEach(Gray(noise), Png(noise, {.gray = true}), 0);
  ExpectEach(Gray(noise), Png(noise, {.gray = true, .alpha = true, .deep = true, .interlaced = true}), 0);
  ExpectEach(Gray(noise), Png(Gray(noise), {.palette = true}), 0);
}

TEST(ImageFormats, TiffIsExact) {
  const Picture noise = Noise(kHeight, kWidth);
  for (const uint16_t compression : {1, 5, 8, 32773}) ExpectEach(noise, Tiff(noise, {.compression = compression}), 0);
  ExpectEach(noise, Tiff(noise, {.alpha = true}), 0);
  ExpectEach(noise, Tiff(noise, {.deep = true}), 0);
  ExpectEach(noise, Tiff(noise, {.tiles = true}), 0);
  ExpectEach(noise, Tiff(noise, {.planes = true}), 0);
  ExpectEach(noise, Tiff(noise, {.bottom_up = true}), 0);
  ExpectEach(noise, Tiff(noise, {.deep = true, .big_endian = true}), 0);
  ExpectEach(Gray(noise), Tiff(noise, {.gray = true}), 0);
}

TEST(ImageFormats, WebpWithoutLossIsExact) {
  const Picture noise = Noise(kHeight, kWidth);
  ExpectEach(noise, Webp(noise, true), 0);
}

TEST(ImageFormats, Jpeg2000WithoutLossIsExact) {
  const Picture noise = Noise(kHeight, kWidth);
  for (const bool boxed : {true, false}) {
    ExpectEach(noise, Jpeg2000(noise, {.boxed = boxed}), 0);
    ExpectEach(Gray(noise), Jpeg2000(noise, {.boxed = boxed, .gray = true}), 0);
  }
}

TEST(ImageFormats, WithLossesAreClose) {
  const Picture smooth = Gradients(kHeight, kWidth);
  ExpectEach(smooth, Jpeg(smooth), 10);
  ExpectEach(smooth, Jpeg(smooth, {.progressive = true}), 10);
  ExpectEach(smooth, Jpeg(smooth, {.quality = 100, .inks = true}), 6);
  ExpectEach(Gray(smooth), Jpeg(smooth, {.gray = true}), 4);
  ExpectEach(smooth, Webp(smooth, false), 24);
  ExpectEach(smooth, Jpeg2000(smooth, {.ratio = 4}), 24);
}

TEST(ImageFormats, OfOnePixel) {
  const Picture one = Noise(1, 1);
  for (const std::string& file : {Png(one), Tiff(one), Webp(one, true)}) ExpectEach(one, file, 0);
}

std::vector<std::pair<std::string, std::string>> Files() {
  const Picture noise = Noise(kHeight, kWidth), smooth = Gradients(kHeight, kWidth);
  return {{"PNG", Png(noise)},
          {"interlaced PNG", Png(smooth, {.interlaced = true})},
          {"PNG with a palette", Png(Gray(smooth), {.palette = true})},
          {"JPEG", Jpeg(smooth)},
          {"progressive JPEG", Jpeg(smooth, {.progressive = true})},
          {"WebP", Webp(smooth, false)},
          {"WebP without loss", Webp(smooth, true)},
          {"TIFF", Tiff(noise)},
          {"TIFF in tiles", Tiff(smooth, {.compression = 8, .tiles = true})},
          {"TIFF with LZW", Tiff(smooth, {.compression = 5})},
          {"JP2", Jpeg2000(smooth)},
          {"JPEG 2000 code stream", Jpeg2000(smooth, {.boxed = false, .ratio = 3})}};
}

// Only files cut to less than 3/4 must fail: the last bytes of some formats aren't needed for the pixels.
TEST(ImageFormats, ThatEndTooEarlyAreRefused) {
  for (const auto& [name, file] : Files()) {
    testing::internal::CaptureStderr();
    for (size_t size = 1; size < file.size(); size += std::max<size_t>(1, file.size() / 97)) {
      const std::string failure = Refusal(file.substr(0, size));
      if (size < file.size() * 3 / 4) {
        EXPECT_THAT(failure, Not(HasSubstr("OK"))) << name << " cut to " << size << " of " << file.size();
      }
      EXPECT_THAT(failure, Not(HasSubstr("\n"))) << name;
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << name;
  }
}

// Any bytes give an image or a message. Nothing is printed, and no access goes out of bounds.
TEST(ImageFormats, OfAnyBytesEndWell) {
  for (const auto& [name, file] : Files()) {
    std::mt19937 random(1);
    testing::internal::CaptureStderr();
    for (int i = 0; i < 150; ++i) {
      std::string changed = file;
      // Half of the changes are in the first 64 bytes, which hold the sizes.
      for (uint32_t change = 0; change <= random() % 3; ++change) {
        const size_t at = random() % (random() % 2 == 0 ? changed.size() : std::min<size_t>(changed.size(), 64));
        changed[at] = static_cast<char>(random() % 3 == 0 ? 0xff : random());
      }
      try {
        Decode(changed, "Grayscale");
      } catch (const kit::Error& error) {
        EXPECT_THAT(error.what(), Not(HasSubstr("\n"))) << name;
      } catch (const std::exception&) {
        // The changed sizes ask for more memory than there is. In a session the run's limit reports this first.
      }
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << name;
  }
}

// Changes the sizes in a JPEG file; no checksum protects them.
std::string WithSizes(std::string jpeg, uint32_t height, uint32_t width) {
  const size_t frame = jpeg.find("\xff\xc0");
  for (const auto& [at, size] : {std::pair{frame + 5, height}, {frame + 7, width}}) {
    jpeg[at] = static_cast<char>(size >> 8);
    jpeg[at + 1] = static_cast<char>(size);
  }
  return jpeg;
}

int64_t MostMegabytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

TEST(ImageFormats, TextsBesideThePixelsTakeNoMemory) {
  const Picture one = Noise(1, 1);
  std::string file = Png(one, {.text = 4'000'000});
  const size_t kind = file.find("zTXt");
  ASSERT_NE(kind, std::string::npos);
  const size_t end = file.find("IDAT") - 4;
  const std::string chunk = file.substr(kind - 4, end - (kind - 4));
  for (int i = 0; i < 100; ++i) file.insert(end, chunk);
  const int64_t before = MostMegabytes();
  ExpectEach(one, file, 0);
  EXPECT_LT(MostMegabytes() - before, 100);
}

// Writes integers of several bytes, most significant byte first (`big`) or last.
class Writer {
 public:
  explicit Writer(bool big) : big_(big) {}
  Writer& Put(uint32_t number, int bytes) {
    for (int i = 0; i < bytes; ++i) text_ += static_cast<char>(number >> 8 * (big_ ? bytes - 1 - i : i));
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  bool big_;
  std::string text_;
};

// Returns the start of a code stream. `precincts`: exponents of the precincts' sizes; 0xff for a stream without them.
std::string Jpeg2000Head(uint32_t width, uint32_t height, uint32_t tile_width, uint32_t components,
                         uint32_t precincts = 0xff) {
  Writer file(true);
  file.Put(0xff4fff51, 4).Put(38 + 3 * components, 2).Put(0, 2);
  for (const uint32_t size : {width, height, 0u, 0u, tile_width, height, 0u, 0u}) file.Put(size, 4);
  file.Put(components, 2);
  for (uint32_t i = 0; i < components; ++i) file.Put(0x070101, 3);
  file.Put(0xff52000d, 4).Put(0x01000001, 4).Put(0x00000404, 4).Put(0x0001, 2).Put(precincts, 1);
  return file.Put(0xff5c0004, 4).Put(0x4040, 2).text();
}

// Returns a code stream with tiles of one pixel and `bytes` bytes for all of them together.
std::string Jpeg2000OfTiles(uint32_t tiles, uint32_t components, uint32_t bytes) {
  return Jpeg2000Head(tiles, 1, 1, components) + std::string(bytes, '\0');
}

// Returns a code stream with one tile that consists of empty packets.
std::string Jpeg2000OfPrecincts(uint32_t side, uint32_t exponents) {
  Writer tile(true);
  tile.Put(0xff90000a, 4).Put(0, 2).Put(0, 4).Put(0x0001, 2).Put(0xff93, 2);
  return Jpeg2000Head(side, side, side, 1, exponents) + tile.text() + std::string(64, '\0') + "\xff\xd9";
}

// Returns an image of one gray pixel in a tile of `side` by `side` pixels, all black.
std::string TiffOfATile(uint32_t side) {
  std::string packed;
  for (uint32_t i = 0; i < side * side; i += 128) packed += std::string("\x81\0", 2);
  constexpr uint32_t kTags = 10, kHead = 8, kEnd = kHead + 2 + kTags * 12 + 4;
  constexpr uint32_t kPackBits = 32773;
  Writer file(false);
  file.Put(0x002a4949, 4).Put(kHead, 4).Put(kTags, 2);
  for (const auto& [tag, value] : {std::pair{256u, 1u},
                                   {257u, 1u},
                                   {258u, 8u},
                                   {259u, kPackBits},
                                   {262u, 1u},
                                   {277u, 1u},
                                   {322u, side},
                                   {323u, side},
                                   {324u, kEnd},
                                   {325u, static_cast<uint32_t>(packed.size())}})
    file.Put(tag, 2).Put(4, 2).Put(1, 4).Put(value, 4);
  return file.Put(0, 4).text() + packed;
}

TEST(ImageFormats, Jpeg2000HasBytesForEachComponentOfATile) {
  EXPECT_THAT(Refusal(Jpeg2000OfTiles(200, 200, 200 * 14)), HasSubstr("fewer bytes than its tiles need"));
  EXPECT_THAT(Refusal(Jpeg2000OfTiles(200, 2, 200 * 14)), Not(HasSubstr("fewer bytes than its tiles need")));
}

// A session with the installed plugin.
class ImageSession {
 public:
  explicit ImageSession(std::unique_ptr<core::Environment> environment, const std::string& most_bytes = "0")
      : environment_(std::move(environment)) {
    const std::string model = OnnxFromText(R"(<ir_version: 9, opset_import: ["" : 20]>
      g (uint8[N] file) => (uint8[H,W,C] image) { image = ImageDecoder(file) })");
    core::SessionOptions options = OptionsFor({"cpu"});
    options.Set("session.max_value_bytes", most_bytes);
    session_ = std::make_unique<core::Session>(*environment_, model.data(), model.size(), core::SessionConfig(options));
  }
  core::ValuePtr Run(const std::string& file) {
    core::ValuePtr input =
        core::Value::Tensor(core::DataType::kUint8, std::vector<int64_t>{static_cast<int64_t>(file.size())});
    std::copy(file.begin(), file.end(), static_cast<uint8_t*>(input->mutable_data()));
    return session_->Run(std::vector<core::ValuePtr>{input})[0];
  }

 private:
  std::unique_ptr<core::Environment> environment_;
  std::unique_ptr<core::Session> session_;
};

// The plugin finds the library beside itself, and checks the run's limit before it allocates memory.
TEST(ImageFormats, InASessionKeepToItsLimits) {
  ImageSession session(BuildTreeEnvironment(), "1000000");
  const Picture smooth = Gradients(kHeight, kWidth);
  const core::ValuePtr image = session.Run(Png(smooth));
  EXPECT_TRUE(std::equal(smooth.pixels.begin(), smooth.pixels.end(), image->data_as<uint8_t>()));
  EXPECT_THAT(FailureOf([&] { session.Run(WithSizes(Jpeg(smooth), 65000, 65000)); }),
              AllOf(HasSubstr("FAIL"), HasSubstr("session.max_value_bytes"), HasSubstr("12675000000")));
}

// The limit also covers a tile larger than the image, and the library's memory for each component of each tile.
TEST(ImageFormats, InASessionKeepToItsLimitsWhereTilesAreLarge) {
  ImageSession session(BuildTreeEnvironment(), "1000000");
  EXPECT_EQ(FailureOf([&] { session.Run(TiffOfATile(128)); }), "OK");
  EXPECT_THAT(FailureOf([&] { session.Run(TiffOfATile(1024)); }),
              AllOf(HasSubstr("FAIL"), HasSubstr("session.max_value_bytes")));
  EXPECT_THAT(FailureOf([&] { session.Run(Jpeg2000OfTiles(50, 50, 50 * 50)); }),
              AllOf(HasSubstr("FAIL"), HasSubstr("session.max_value_bytes")));
}

TEST(ImageFormats, InASessionKeepToItsLimitsWherePrecinctsAreSmall) {
  ImageSession session(BuildTreeEnvironment(), "1000000");
  const auto run = [&](uint32_t side, uint32_t exponents) {
    return FailureOf([&] { session.Run(Jpeg2000OfPrecincts(side, exponents)); });
  };
  const auto refused = AllOf(HasSubstr("FAIL"), HasSubstr("session.max_value_bytes"));
  EXPECT_EQ(run(330, 0xff), "OK");
  EXPECT_EQ(run(330, 0x66), "OK");
  EXPECT_THAT(run(100, 0x00), refused);
  EXPECT_THAT(run(330, 0x0f), refused);
}

TEST(ImageFormats, WithoutTheirLibraryAreRefusedAndOthersAreNot) {
  const std::filesystem::path installed =
      std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "lib/epiphyte/plugins";
  const TempDir alone;
  for (const char* file : {"cpu.yaml", "libepiphyte_cpu.so", "libepiphyte_cpu_omp.so"})
    std::filesystem::copy_file(installed / file, alone / file);
  core::CatalogOptions options;
  options.paths = {alone.path()};
  options.use_environment = options.use_user_folder = options.use_system_folders = false;
  ImageSession session(std::make_unique<core::Environment>(options));
  EXPECT_THAT(FailureOf([&] { session.Run(Png(Noise(2, 2))); }),
              AllOf(HasSubstr("NOT_IMPLEMENTED"), HasSubstr("libepiphyte_cpu_images.so")));
  EXPECT_EQ(session.Run(std::string("P5 2 1 255\n\x40\xff", 13))->data_as<uint8_t>()[3], 255);
}

TEST(ImageFormats, AnimationsAreNamed) {
  // The file has the chunks RIFF, WEBP and VP8X with the animation flag, and one pixel.
  std::string file("RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\x02\0\0\0\0\0\0\0\0\0", 30);
  EXPECT_THAT(Refusal(file), HasSubstr("animation"));
}

}  // namespace
}  // namespace epiphyte::test
