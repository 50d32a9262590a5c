// Layouts as text in contexts: a written layout is read back unchanged with every version of oneDNN.
#include "plugins/cpu/onednn/layout.h"

#include <gtest/gtest.h>

#include <string>

namespace epiphyte::test {
namespace {

using cpu::DescToText;
using cpu::DimsOf;
using cpu::MemoryDesc;
using cpu::ParseDesc;
using Tag = dnnl::memory::format_tag;

MemoryDesc Floats(const dnnl::memory::dims& dims, Tag tag) {
  return MemoryDesc(dims, dnnl::memory::data_type::f32, tag);
}

TEST(LayoutText, IsReadBackAsItWasWritten) {
  // Weights of convolutions and GEMMs, with sizes that fill blocks and sizes that don't.
  const MemoryDesc descs[] = {Floats({64, 32, 3, 3}, Tag::abcd),        Floats({64, 32, 3, 3}, Tag::acdb),
                              Floats({64, 32, 3, 3}, Tag::ABcd16b16a),  Floats({17, 33, 3, 3}, Tag::ABcd16b16a),
                              Floats({17, 33, 1, 1}, Tag::ABcd8b8a),    Floats({64, 3, 7, 7}, Tag::Acdb16a),
                              Floats({32, 1, 1, 3, 3}, Tag::Abcde16a),  Floats({4, 24, 8, 3, 3}, Tag::aBCde8c8b),
                              Floats({768, 3072}, Tag::BA16a16b),       Floats({5, 7}, Tag::BA16a16b),
                              Floats({768, 3072}, Tag::BA16a64b),       Floats({100, 130}, Tag::BA16a64b),
                              Floats({12, 64, 96, 3}, Tag::aCBd16b16c), Floats({2, 17, 5, 7}, Tag::aBcd16b)};
  for (const MemoryDesc& desc : descs) {
    const std::string text = DescToText(desc);
    ASSERT_NE(text, "");
    MemoryDesc read;
    ASSERT_TRUE(ParseDesc(text, EP_TYPE_FLOAT, DimsOf(desc), desc.get_size(), &read)) << text;
    EXPECT_TRUE(read == desc) << text;
    EXPECT_EQ(DescToText(read), text);
    EXPECT_FALSE(ParseDesc(text, EP_TYPE_FLOAT, DimsOf(desc), desc.get_size() - 1, &read))
        << "beyond the memory: " << text;
  }
}

TEST(LayoutText, ALayoutThatOneDnnCannotHaveIsRefused) {
  const std::vector<int64_t> dims = {32, 32};
  MemoryDesc read;
  // The fields are: dims, padded dims, strides, block sizes, block dims.
  EXPECT_TRUE(ParseDesc("blocked;32,32,;32,32,;256,512,;16,16,;0,1,;", EP_TYPE_FLOAT, dims, 4096, &read));
  for (const char* text :
       {"", "blocked;", "any;32,32,;32,32,;32,1,;;;", "blocked;32,32,;32,32,;32,1,;;", "blocked;32,31,;32,32,;32,1,;;;",
        "blocked;32,32,;32,33,;33,1,;;;", "blocked;32,32,;32,32,;-32,1,;;;",
        "blocked;32,32,;32,32,;9223372036854775807,1,;;;", "blocked;32,32,;32,32,;256,512,;16,16,;0,2,;",
        "blocked;32,32,;32,32,;256,512,;16,16,;0,-1,;", "blocked;32,32,;32,32,;256,512,;0,16,;0,1,;",
        "blocked;32,32,;32,32,;256,512,;16,16,;0,;", "blocked;32,32,;32,32,;32,1,;;;x"}) {
    EXPECT_FALSE(ParseDesc(text, EP_TYPE_FLOAT, dims, 4096, &read)) << text;
  }
}

}  // namespace
}  // namespace epiphyte::test
