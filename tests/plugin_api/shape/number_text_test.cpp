// Numbers as text: the shortest text that reads back as the same number, without an exponent for common magnitudes.
#include "epiphyte/kit/shape/number_text.hpp"

#include <gtest/gtest.h>

#include <charconv>
#include <limits>

namespace epiphyte::test {
namespace {

using kit::NumberText;

TEST(NumberText, IsTheShortestThatReadsBack) {
  EXPECT_EQ(NumberText(0.1f), "0.1");
  EXPECT_EQ(NumberText(0.1), "0.1");
  EXPECT_EQ(NumberText(1.0f / 3), "0.33333334");
  EXPECT_EQ(NumberText(1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(NumberText(-2.5), "-2.5");
  for (const double number : {1e-300, 5e-324, 123456.789, 1.7976931348623157e308}) {
    const std::string text = NumberText(number);
    double read = 0;
    std::from_chars(text.data(), text.data() + text.size(), read);
    EXPECT_EQ(read, number) << text;
  }
}

TEST(NumberText, HasAnExponentForWhatIsVerySmallOrLargeOnly) {
  EXPECT_EQ(NumberText(0.0), "0");
  EXPECT_EQ(NumberText(-0.0), "-0");
  EXPECT_EQ(NumberText(0.0001), "0.0001");
  EXPECT_EQ(NumberText(0.00001), "1e-05");
  EXPECT_EQ(NumberText(1e15), "1000000000000000");
  EXPECT_EQ(NumberText(1e16), "1e+16");
}

TEST(NumberText, NamesWhatIsNotFinite) {
  EXPECT_EQ(NumberText(std::numeric_limits<float>::quiet_NaN()), "nan");
  EXPECT_EQ(NumberText(std::numeric_limits<float>::infinity()), "inf");
  EXPECT_EQ(NumberText(-std::numeric_limits<double>::infinity()), "-inf");
}

}  // namespace
}  // namespace epiphyte::test
