// MatMulNBits of com.microsoft, compared with a product with the same weights as floats.
#include "tests/vulkan/ops/operator_harness.h"
#include "tests/vulkan/ops/product_models.h"

namespace epiphyte::test {
namespace {

enum class Zeros { kMiddle, kPacked, kNumbers };

class MatMulNBits : public OperatorTest {
 protected:
  static constexpr int64_t kBlock = 16;
  static constexpr int64_t kInner = 40;  // the third block is not full
  static constexpr int64_t kBlocks = 3;
  static constexpr int64_t kColumns = 5;

  static std::vector<double> Bytes(int64_t count, uint32_t seed) {
    std::vector<double> bytes;
    for (int64_t i = 0; i < count; ++i) {
      seed = seed * 1664525u + 1013904223u;
      bytes.push_back(seed >> 24);
    }
    return bytes;
  }
  // Returns number `index` of those with `bits` bits each that are packed from byte `first` on.
  static int Unpack(const std::vector<double>& bytes, int64_t first, int64_t index, int bits) {
    const int byte = static_cast<int>(bytes[static_cast<size_t>(first + index * bits / 8)]);
    return byte >> (index * bits % 8) & ((1 << bits) - 1);
  }

  void Check(int64_t rows, int bits, Zeros zeros, bool bias) {
    SCOPED_TRACE(testing::Message() << rows << " rows, " << bits << " bits, zero points " << static_cast<int>(zeros));
    const int64_t blob = kBlock * bits / 8, zero_row = (kBlocks * bits + 7) / 8;
    const std::vector<double> weights = Bytes(kColumns * kBlocks * blob, 1);
    const std::vector<double> packed = Bytes(kColumns * zero_row, 2);
    const std::vector<double> scales = SmallNumbers({kColumns * kBlocks}, 3);
    const std::vector<double> numbers = Bytes(kColumns * kBlocks, 4);
    std::vector<double> floats(static_cast<size_t>(kInner * kColumns));
    for (int64_t n = 0; n < kColumns; ++n) {
      for (int64_t k = 0; k < kInner; ++k) {
        const int64_t block = n * kBlocks + k / kBlock;
        const double zero = zeros == Zeros::kMiddle   ? 1 << (bits - 1)
                            : zeros == Zeros::kPacked ? Unpack(packed, n * zero_row, k / kBlock, bits)
                                                      : numbers[static_cast<size_t>(block)];
        floats[static_cast<size_t>(k * kColumns + n)] =
            (Unpack(weights, block * blob, k % kBlock, bits) - zero) * scales[static_cast<size_t>(block)];
      }
    }
    const ValuePtr a = Scaled({rows, kInner}, 5);
    const ValuePtr added = Scaled({kColumns}, 6);
    const std::vector<ValuePtr> expected =
        RunCpu("g (float[M,K] a, float[K,N] b, float[N] c) => (float[] y) { p = MatMul(a, b) y = Add(p, c) }",
               {a, Numbers(DataType::kFloat, {kInner, kColumns}, floats),
                bias ? added : Numbers(DataType::kFloat, {kColumns}, std::vector<double>(kColumns, 0))});

    std::string inputs = "float[M,40] a, uint8" + ShapeName({kColumns, kBlocks, blob}) + " b, float[15] s";
    std::string names = "a, b, s";
    std::vector<ValuePtr> values = {a, Numbers(DataType::kUint8, {kColumns, kBlocks, blob}, weights),
                                    Numbers(DataType::kFloat, {kColumns * kBlocks}, scales)};
    if (zeros == Zeros::kPacked) {
      inputs += ", uint8" + ShapeName({kColumns * zero_row}) + " z";
      values.push_back(Numbers(DataType::kUint8, {kColumns * zero_row}, packed));
    } else if (zeros == Zeros::kNumbers) {
      inputs += ", float[15] z";
      values.push_back(Numbers(DataType::kFloat, {kColumns * kBlocks}, numbers));
    }
    names += zeros == Zeros::kMiddle ? ", , " : ", z, ";
    if (bias) {
      inputs += ", float[5] c";
      names += ", c";
      values.push_back(added);
    }
    const OperatorRun run = {.imports = ", \"com.microsoft\" : 1"};
    const std::vector<ValuePtr> found = RunVulkan(
        "g (" + inputs + ") => (float[] y) { y = com.microsoft.MatMulNBits <K = 40, N = 5, block_size = 16, bits = " +
            std::to_string(bits) + "> (" + names + ") }",
        values, run);
    EXPECT_EQ(conformance::CompareValues(*found[0], *expected[0], {.relative = 1e-4, .absolute = 1e-3}).difference, "");
  }
};

TEST_F(MatMulNBits, OfEveryWidthAndZeroPoint) {
  for (const int bits : {2, 4, 8})
    for (const Zeros zeros : {Zeros::kMiddle, Zeros::kPacked, Zeros::kNumbers}) Check(6, bits, zeros, false);
}

TEST_F(MatMulNBits, OfARowWithABias) { Check(1, 4, Zeros::kPacked, true); }

}  // namespace
}  // namespace epiphyte::test
