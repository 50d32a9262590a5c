// Fused activations: a kernel with an activation gives what the kernel and the activation give one after the other, in
// every variant.
#include <cmath>

#include "epiphyte/kit/fuse/elementwise_program.hpp"
#include "tests/vulkan/ops/math/op_run.h"

namespace epiphyte::vulkan {
namespace {

using kit::fuse::ElementwiseOp;

OpTensor Waves(const Dims& dims, float step) {
  std::vector<float> values;
  for (int64_t i = 0; i < dims.Count(); ++i) values.push_back(0.6f * std::sin(static_cast<float>(i) * step));
  return Of<float>(dims, values);
}

class FusedActivation : public OpTest {
 protected:
  // Compares the kit's operator `op` with each fused activation against the operator and the activation one by one.
  // `a`, `b` and `y` are the types of inputs and output.
  void ExpectAsAlone(const std::string& op, const std::string& a, const std::string& b, const std::string& y,
                     const Tensors& inputs, const std::string& shader) {
    const auto run = [&](const std::string& attributes) {
      return Run(
          "in a: " + a + "\nin b: " + b + "\ny = epiphyte.kit::" + op + attributes + "(a, b) : " + y + "\nout y\n",
          inputs)[0];
    };
    const OpTensor plain = run("");
    EXPECT_EQ(program().dispatches.back().shader, shader + ".f32");
    for (auto i = static_cast<int32_t>(ElementwiseOp::kRelu); i < static_cast<int32_t>(ElementwiseOp::kCount); ++i) {
      const std::string name(NameOf(static_cast<ElementwiseOp>(i)));
      SCOPED_TRACE(op + " and " + name);
      const OpTensor fused = run("<activation=\"" + name + "\",activation_alpha=0.25,activation_beta=0.75>");
      EXPECT_THAT(program().dispatches.back().shader, testing::StartsWith(shader)) << "not fused";
      const OpTensor alone = Run("in x: " + y + "\ny = epiphyte.kit::Elementwise<code=[" + std::to_string(i) +
                                     ",0,-1],parameters=[0.25,0.75]>(x) : " + y + "\nout y\n",
                                 {plain})[0];
      EXPECT_THAT(fused.As<float>(), testing::Pointwise(testing::NanSensitiveFloatNear(1e-5f), alone.As<float>()));
    }
  }
};

TEST_F(FusedActivation, OfConvolutions) {
  ExpectAsAlone("Conv", "float[1,3,4,5]", "float[9,3,1,1]", "float[1,9,4,5]",
                {Waves({1, 3, 4, 5}, 0.7f), Waves({9, 3, 1, 1}, 0.9f)}, "conv");
}

TEST_F(FusedActivation, OfProducts) {
  ExpectAsAlone("MatMul", "float[4,8]", "float[8,12]", "float[4,12]", {Waves({4, 8}, 0.7f), Waves({8, 12}, 0.9f)},
                "matmul_rows_4");
}

}  // namespace
}  // namespace epiphyte::vulkan
