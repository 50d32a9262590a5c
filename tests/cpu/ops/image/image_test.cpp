// ImageDecoder on files that are written out byte by byte.
#include "tests/cpu/ops/move_testing.h"

namespace epiphyte::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

OpRunner Decoder(const std::string& file, const std::string& format = "RGB") {
  OpRunner decoder("ImageDecoder", 20);
  decoder.Attribute("pixel_format", format);
  decoder.Input<uint8_t>({static_cast<int64_t>(file.size())}, std::vector<uint8_t>(file.begin(), file.end()));
  return decoder;
}

void Append(std::string& file, uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) file.push_back(static_cast<char>(value >> (8 * i)));
}

std::string Bmp(int32_t width, int32_t height, uint32_t bits, const std::string& palette, const std::string& rows) {
  std::string file = "BM";
  file.append(8, '\0');
  Append(file, static_cast<uint32_t>(54 + palette.size()), 4);
  Append(file, 40, 4);
  Append(file, static_cast<uint32_t>(width), 4);
  Append(file, static_cast<uint32_t>(height), 4);
  Append(file, 1, 2);
  Append(file, bits, 2);
  file.append(24, '\0');
  return file + palette + rows;
}

TEST(ImageDecoder, BmpRowsRunUpwards) {
  // Two rows of one pixel (blue, green, red), each padded to four bytes.
  OpRunner decoder = Decoder(Bmp(1, 2, 24, "", std::string("\x01\x02\x03\0\x0b\x0c\x0d\0", 8)));
  decoder.Run();
  EXPECT_EQ(decoder.Dims(0), (Shape{2, 1, 3}));
  EXPECT_THAT(decoder.Output<uint8_t>(0), ElementsAre(13, 12, 11, 3, 2, 1));
}

TEST(ImageDecoder, BmpWithAPaletteTopDown) {
  const std::string palette("\0\0\0\0\x10\x20\x30\0", 8);
  OpRunner decoder = Decoder(Bmp(3, -1, 1, palette, std::string("\xa0\0\0\0", 4)), "BGR");
  decoder.Run();
  EXPECT_THAT(decoder.Output<uint8_t>(0), ElementsAre(16, 32, 48, 0, 0, 0, 16, 32, 48));
}

TEST(ImageDecoder, PnmInTextAndBinary) {
  OpRunner text = Decoder("P3 # a comment\n2 1 15\n15 0 0  0 15 5\n");
  text.Run();
  EXPECT_THAT(text.Output<uint8_t>(0), ElementsAre(255, 0, 0, 0, 255, 85));
  OpRunner gray = Decoder(std::string("P5 2 1 255\n\x40\xff", 13), "Grayscale");
  gray.Run();
  EXPECT_EQ(gray.Dims(0), (Shape{1, 2, 1}));
  EXPECT_THAT(gray.Output<uint8_t>(0), ElementsAre(64, 255));
  OpRunner bits = Decoder(std::string("P4 2 2\n\x40\x80", 9), "Grayscale");
  bits.Run();
  EXPECT_THAT(bits.Output<uint8_t>(0), ElementsAre(255, 0, 0, 255));
}

TEST(ImageDecoder, RefusesFilesShorterThanTheirHeaderSays) {
  OpRunner huge = Decoder(Bmp(1'000'000, 1'000'000, 24, "", "abc"));
  EXPECT_THAT(Failure(huge), HasSubstr("more bytes expected"));
  OpRunner header = Decoder("BM");
  EXPECT_THAT(Failure(header), HasSubstr("more bytes expected"));
  OpRunner rows = Decoder("P5 9 9 255\nabc");
  EXPECT_THAT(Failure(rows), HasSubstr("more bytes expected"));
  OpRunner nothing = Decoder("");
  EXPECT_THAT(Failure(nothing), HasSubstr("no known image format"));
}

TEST(ImageDecoder, NamesTheFormatsItKnows) {
  OpRunner unknown = Decoder("GIF89a");
  EXPECT_THAT(Failure(unknown), HasSubstr("BMP, JPEG, JPEG 2000, PNG, PNM, TIFF or WebP expected"));
}

}  // namespace
}  // namespace epiphyte::test
