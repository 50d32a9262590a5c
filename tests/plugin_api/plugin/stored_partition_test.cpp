// kit::ReadPartition, tested through the cpu plugin: it finds the graph in a payload that a context node stands for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/plugin_api/provider_harness.h"

namespace epiphyte::test {
namespace {

using testing::HasSubstr;

constexpr std::string_view kOnePartition = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[2] x) => (float[2] y) { y = Neg(x) })";
// The cpu plugin has no kernel for the operator in the middle.
constexpr std::string_view kTwoPartitions = R"(<ir_version: 8, opset_import: ["" : 17, "other" : 1]>
  g (float[2] x) => (float[2] y) { a = Neg(x)  b = other.Unknown(a)  y = Neg(b) })";

class StoredPartitionTest : public testing::Test {
 protected:
  core::ContextBlob PayloadOf(std::string_view model) {
    auto provider = cpu_.Make({});
    compiled_ = cpu_.Compile(*provider, model);
    return ToBlob(Save(*provider).payloads.at(0));
  }
  // Loads `model`'s first node under this name, and returns "OK" or the error.
  std::string Load(const CompiledModel& model, std::string name, const core::ContextBlob& blob) {
    const core::Partition& partition = model.partitions.at(0);
    core::ContextNodeToLoad node;
    node.node = partition.node;
    node.blob = 0;
    node.main_context = 1;
    node.source = "EpiphyteCPU";
    node.partition_name = std::move(name);
    for (const core::ValueDef* output : partition.node->outputs()) node.output_types.push_back(output->type());
    return FailureOf([&] { cpu_.Make({})->LoadContext({&node, 1}, {&blob, 1}); });
  }

  ProviderHarness cpu_{"cpu"};
  CompiledModel compiled_;
};

TEST_F(StoredPartitionTest, IsTheGraphOfTheNodesName) {
  const core::ContextBlob blob = PayloadOf(kTwoPartitions);
  ASSERT_EQ(compiled_.partitions.size(), 2u);
  EXPECT_EQ(Load(compiled_, compiled_.partitions[0].name, blob), "OK");
  EXPECT_EQ(Load(compiled_, compiled_.partitions[1].name, blob), "OK");
}

TEST_F(StoredPartitionTest, IsTheOnlyOneForANodeWithoutAName) {
  const core::ContextBlob blob = PayloadOf(kOnePartition);
  EXPECT_EQ(Load(compiled_, "", blob), "OK");
}

TEST_F(StoredPartitionTest, IsNotGuessedAmongSeveral) {
  const core::ContextBlob blob = PayloadOf(kTwoPartitions);
  EXPECT_THAT(Load(compiled_, "", blob), HasSubstr("does not hold exactly one partition; compile the model again"));
}

TEST_F(StoredPartitionTest, OfANameThatIsNotThereIsNamed) {
  const core::ContextBlob blob = PayloadOf(kOnePartition);
  EXPECT_THAT(Load(compiled_, "cpu_of_another_model", blob),
              HasSubstr("the cpu context holds no partition 'cpu_of_another_model'; the model and its binary don't "
                        "belong together: compile the model again"));
}

TEST_F(StoredPartitionTest, OfAnotherModelsNodeIsRefused) {
  const core::ContextBlob blob = PayloadOf(kOnePartition);
  const std::string name = compiled_.partitions[0].name;
  auto provider = cpu_.Make({});
  const CompiledModel other = cpu_.Compile(*provider, R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x, float[2] z) => (float[2] y) { y = Add(x, z) })");
  EXPECT_THAT(Load(other, name, blob),
              HasSubstr("has 1 inputs and 1 outputs in the cpu context, its node has 2 and 1"));
}

}  // namespace
}  // namespace epiphyte::test
