// Transposition of matrices in tiles of workgroup memory. The software device uses these kernels only when a test
// prefers them.

#include <numeric>

#include "tests/vulkan/ops/math/op_run.h"

namespace epiphyte::vulkan {
namespace {

class TiledTranspose : public OpTest {
 protected:
  void SetUp() override {
    OpTest::SetUp();
    Prefer(Capability::kSharedMemory);
  }

  // Transposes a tensor of shape [batch, rows, columns] with distinct elements, and checks each.
  template <typename T>
  void ExpectTransposed(const char* type, int64_t batch, int64_t rows, int64_t columns) {
    std::vector<T> x(static_cast<size_t>(batch * rows * columns));
    std::iota(x.begin(), x.end(), T{0});
    const std::string from = std::string(type) + kit::ShapeText(Dims{batch, rows, columns});
    const std::string to = std::string(type) + kit::ShapeText(Dims{batch, columns, rows});
    const std::vector<T> y = Run("in x: " + from + "\ny = Transpose@13<perm=[0,2,1]>(x) : " + to + "\nout y\n",
                                 {Of<T>({batch, rows, columns}, x)})[0]
                                 .template As<T>();
    ASSERT_EQ(program().dispatches.size(), 1u);
    EXPECT_TRUE(program().dispatches[0].shader.starts_with("tiled_transpose")) << program().dispatches[0].shader;
    ASSERT_EQ(y.size(), x.size());
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c)
          ASSERT_EQ(y[static_cast<size_t>((b * columns + c) * rows + r)],
                    x[static_cast<size_t>((b * rows + r) * columns + c)])
              << b << ' ' << r << ' ' << c;
  }
};

TEST_F(TiledTranspose, OfWholeTilesAndOfPartsInEveryWidth) {
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{32, 64}, {33, 31}, {16, 100}, {70, 65}}) {
    ExpectTransposed<uint8_t>("uint8", 2, rows, columns);
    ExpectTransposed<float>("float", 3, rows, columns);
    ExpectTransposed<int64_t>("int64", 2, rows, columns);
  }
}

TEST_F(TiledTranspose, IsNotForShortRowsAndNotWithoutFastMemory) {
  const char* model = "in x: float[%d,40]\ny = Transpose@13(x) : float[40,%d]\nout y\n";
  const auto shader_of = [&](int rows) {
    char text[128];
    std::snprintf(text, sizeof text, model, rows, rows);
    Run(text, {Of<float>({rows, 40}, std::vector<float>(static_cast<size_t>(rows) * 40))});
    return program().dispatches.at(0).shader;
  };
  EXPECT_EQ(shader_of(15), "strided_copy.b4");
  EXPECT_EQ(shader_of(16), "tiled_transpose.b4");
  Disable(Capability::kSharedMemory);
  EXPECT_EQ(shader_of(16), "strided_copy.b4");
  ASSERT_EQ(program().notes.size(), 1u);
  EXPECT_EQ(program().notes[0].second,
            "strided_copy; not tiled_transpose: shared_memory is turned off by option 'disable'");
}

}  // namespace
}  // namespace epiphyte::vulkan
