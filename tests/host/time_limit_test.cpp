// --time-limit: a command ends in time whatever its input file is.
#include <gmock/gmock.h>
#include <onnx/onnx_pb.h>

#include <chrono>

#include "tests/framework/temp_dir.h"
#include "tests/host/run_program.h"
#include "tests/host/small_models.h"

namespace epiphyte::test {
namespace {

using std::chrono::steady_clock;
using testing::HasSubstr;

// A model with a Loop of 2^62 iterations.
std::string EndlessModel() {
  onnx::ModelProto model;
  model.ParseFromString(CountingModel());
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.mutable_input()->DeleteSubrange(0, 1);
  onnx::TensorProto* trips = graph.add_initializer();
  trips->set_name("trips");
  trips->set_data_type(onnx::TensorProto::INT64);
  trips->add_int64_data(int64_t{1} << 62);
  return model.SerializeAsString();
}

TEST(TimeLimit, EndsARun) {
  TempDir folder;
  folder.Write("endless.onnx", EndlessModel());
  const auto begin = steady_clock::now();
  const ProgramResult result = RunEpiphyte({"run", "endless.onnx", "--ep", "cpu", "--time-limit", "1"}, folder.path());
  EXPECT_GT(result.code, 0);
  EXPECT_LT(result.code, 128);
  EXPECT_THAT(result.err, HasSubstr("epiphyte: error: the time limit of 1 s was over while running"));
  EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds(60));
}

TEST(TimeLimit, LeavesACommandAloneThatIsFaster) {
  TempDir folder;
  folder.Write("add.onnx", AddModel());
  const ProgramResult result = RunEpiphyte({"run", "add.onnx", "--ep", "cpu", "--time-limit", "1000"}, folder.path());
  EXPECT_EQ(result.code, 0) << result.err;
}

TEST(TimeLimit, MustBeATime) {
  for (const char* text : {"0", "-1", "soon"}) {
    const ProgramResult result = RunEpiphyte({"run", "m.onnx", "--time-limit", text});
    EXPECT_GT(result.code, 0);
    EXPECT_THAT(result.err, HasSubstr("--time-limit"));
  }
}

}  // namespace
}  // namespace epiphyte::test
