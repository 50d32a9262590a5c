// Kit plugins whose classes have one name, compiled with the compiler's defaults, in one process: each runs its own
// code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/context/compatibility.h"
#include "core/onnx/model_reader.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using core::Session;
using core::ValuePtr;
using testing::ElementsAre;

std::unique_ptr<core::Environment> EnvironmentWith(std::initializer_list<const char*> twins) {
  core::CatalogOptions options;
  options.use_environment = false;
  options.use_user_folder = false;
  for (const char* twin : twins) options.paths.push_back(std::filesystem::path(EPIPHYTE_TWIN_PLUGIN_DIR) / twin);
  return std::make_unique<core::Environment>(std::move(options));
}

std::vector<float> RunOn(Session& session) {
  return FloatsOf(*session.Run(std::vector<ValuePtr>{Floats({2}, {1, -3})})[0]);
}

constexpr std::string_view kModel = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[2] x) => (float[2] y) { a = Neg(x) b = Relu(a) c = Sub(b, x) y = Abs(c) })";

TEST(KitTwins, RunTheirOwnCode) {
  TempDir dir;
  const auto model = dir.Write("m.onnx", OnnxFromText(kModel));
  const auto environment = EnvironmentWith({"twin_neg", "twin_abs"});
  Session session(*environment, model, OptionsFor({"neg", "abs"}));
  EXPECT_EQ(session.placement().Summary(), "4 nodes: neg 1 in 1 partition, abs 1 in 1 partition, cpu 2 in 1 partition");
  EXPECT_THAT(RunOn(session), ElementsAre(1, 6));
}

}  // namespace
}  // namespace epiphyte::test
