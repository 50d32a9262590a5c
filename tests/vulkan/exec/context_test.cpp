// Contexts: a graph is restored as it was, a context made on another device is judged with a reason, and damaged or
// hostile bytes are refused without a crash.
#include "plugins/vulkan/exec/context.h"

#include <random>

#include "epiphyte/kit/container/layout.hpp"
#include "epiphyte/kit/graph/text.hpp"
#include "epiphyte/kit/memory/heap.hpp"
#include "tests/framework/sealed_container.h"
#include "tests/vulkan/exec/device_graph.h"
#include "tests/vulkan/program/program_text.h"

namespace epiphyte::vulkan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr const char* kGraph = R"(graph "part_0"
in x: float[2,4]
const w: float[4,3] = [1,2,3,4,5,6,7,8,9,10,11,12]
const b: float[3] = [1,2,3]
p = MatMul@13(x, w) : float[2,3]
a = Add@14(p, b) : float[2,3]
y = Softmax@13(a) : float[2,3]
out y
)";

class Context : public DeviceGraphTest {
 protected:
  kit::CompatibilityKey Key() const { return KeyOf(device()->info()); }
  kit::CompatibilityKey KeyOf(const DeviceInfo& info) const {
    return ContextKey(info, info.capabilities, BuiltInKernels().digest());
  }
  std::string Write(const CompiledGraph& graph, std::string_view pipelines = {}) const {
    std::string bytes;
    const CompiledGraph* graphs[] = {&graph};
    WriteContext(Key(), graphs, std::as_bytes(std::span(pipelines)),
                 [&](const void* data, uint64_t size) { bytes.append(static_cast<const char*>(data), size); });
    return bytes;
  }
  kit::ContextVerdict Judge(const std::string& bytes, const DeviceInfo& info) const {
    memory_ = kit::AllocateShared(bytes.size());
    std::memcpy(memory_.get(), bytes.data(), bytes.size());
    EpContextHeader header = {};
    header.struct_size = sizeof header;
    header.blob = memory_.get();
    header.blob_size = bytes.size();
    return CheckContextHeader(header, "EpiphyteVulkan", info, info.capabilities, BuiltInKernels().digest(),
                              AllOperators());
  }
  kit::ContextVerdict Judge(const std::string& bytes) const { return Judge(bytes, device()->info()); }

 private:
  mutable std::shared_ptr<void> memory_;
};

TEST_F(Context, AGraphComesBackWithItsPackedWeights) {
  const auto made = Compile(kGraph);
  const std::string bytes = Write(*made);
  const kit::ContextContainer container(std::as_bytes(std::span(bytes)), kContextFormat);
  EXPECT_THAT(kit::GraphNames(container), ElementsAre("part_0"));
  kit::StoredGraph stored = kit::ReadGraph(container, "part_0", kit::GraphCheck::kLater);
  EXPECT_EQ(kit::ir::ToText(stored.graph), kit::ir::ToText(made->graph()));
  EXPECT_EQ(stored.packed.size(), made->packed().size());
  const auto loaded =
      CompiledGraph::Build(std::move(stored.graph), Config(), GraphOrigin::kContext, std::move(stored.packed));
  EXPECT_EQ(loaded->programs_made(), 1u);
}

TEST_F(Context, TheSameGraphGivesTheSameBytes) { EXPECT_EQ(Write(*Compile(kGraph)), Write(*Compile(kGraph))); }

TEST_F(Context, ItIsOptimalWhereItWasMade) {
  const kit::ContextVerdict verdict = Judge(Write(*Compile(kGraph)));
  EXPECT_EQ(verdict.verdict, EP_CONTEXT_OPTIMAL) << verdict.reason;
}

struct Difference {
  const char* words;
  std::function<void(DeviceInfo&)> make;
};

TEST_F(Context, AnotherDeviceOrDriverBuildsPipelinesAgain) {
  const std::string bytes = Write(*Compile(kGraph));
  const Difference differences[] = {
      {"driver version 99", [](DeviceInfo& info) { info.driver_version = 99; }},
      {"driver 'other'", [](DeviceInfo& info) { info.driver_name = "other"; }},
      {"driver 'newer'", [](DeviceInfo& info) { info.driver_info = "newer"; }},
      {"driver number 77", [](DeviceInfo& info) { info.driver_id = 77; }},
      {"vendor 4318", [](DeviceInfo& info) { info.vendor_id = 4318; }},
      {"device 5", [](DeviceInfo& info) { info.device_id = 5; }},
      {"'card'", [](DeviceInfo& info) { info.name = "card"; }},
      {"01000000-", [](DeviceInfo& info) { info.device_uuid = {1}; }},
      {"02000000-", [](DeviceInfo& info) { info.driver_uuid = {2}; }},
      {"03000000-", [](DeviceInfo& info) { info.pipeline_cache_uuid = {3}; }},
      {"Vulkan 1.1.0", [](DeviceInfo& info) { info.api_version = (1u << 22) | (1u << 12); }},
      {"subgroups 64", [](DeviceInfo& info) { info.subgroup_size = 64; }},
      {"subgroups", [](DeviceInfo& info) { info.capabilities.full_subgroups = !info.capabilities.full_subgroups; }},
      {"16x16x16", [](DeviceInfo& info) { info.coop_matrix_shapes = "16x16x16 f16"; }},
      {"capabilities", [](DeviceInfo& info) { info.capabilities.Disable(Capability::kFp16); }},
      {"limits", [](DeviceInfo& info) { info.capabilities.max_shared_memory = 1; }},
  };
  for (const Difference& difference : differences) {
    DeviceInfo other = device()->info();
    difference.make(other);
    const kit::ContextVerdict verdict = Judge(bytes, other);
    EXPECT_EQ(verdict.verdict, EP_CONTEXT_PREFER_RECOMPILATION) << difference.words;
    EXPECT_THAT(verdict.reason, HasSubstr(difference.words));
    EXPECT_THAT(verdict.reason, HasSubstr("pipelines are built again"));
  }
}

// Without subgroups the packed weights are the same and only the kernels differ. The plugin advises recompilation; it
// doesn't refuse the context.
TEST_F(Context, MadeWithSubgroupsItIsRebuiltWithoutThem) {
  DeviceInfo with = device()->info(), without = device()->info();
  with.capabilities.Prefer(Capability::kSubgroup);
  without.capabilities.Disable(Capability::kSubgroup);
  std::string bytes;
  const auto made = Compile(kGraph);
  const CompiledGraph* graphs[] = {made.get()};
  WriteContext(KeyOf(with), graphs, {},
               [&](const void* data, uint64_t size) { bytes.append(static_cast<const char*>(data), size); });
  EXPECT_EQ(Judge(bytes, with).verdict, EP_CONTEXT_OPTIMAL);
  const kit::ContextVerdict verdict = Judge(bytes, without);
  EXPECT_EQ(verdict.verdict, EP_CONTEXT_PREFER_RECOMPILATION);
  EXPECT_THAT(verdict.reason, HasSubstr(",subgroup"));
  EXPECT_THAT(verdict.reason, HasSubstr("pipelines are built again"));
}

TEST_F(Context, ADeviceThatCannotHoldTheGraphRefusesIt) {
  DeviceInfo small = device()->info();
  small.capabilities.max_buffer_range = 16;
  const kit::ContextVerdict verdict = Judge(Write(*Compile(kGraph)), small);
  EXPECT_EQ(verdict.verdict, EP_CONTEXT_UNSUPPORTED);
  EXPECT_THAT(verdict.reason, HasSubstr("one buffer of the device holds 16"));
}

// A context that is judged for two devices: it doesn't fit the first one and was made on the second one.
class ContextOfTwoDevices : public Context {
 protected:
  ContextOfTwoDevices() = default;
  kit::ContextVerdict JudgeFor(const std::vector<uint32_t>& session_devices,
                               const std::vector<EpKeyValue>& options = {}) const {
    DeviceInfo small = device()->info();
    small.name = "small device";
    small.index = 0;
    small.capabilities.max_buffer_range = 16;
    DeviceInfo good = device()->info();
    good.index = 1;
    const DeviceInfo devices[] = {small, good};
    const std::string bytes = Write(*Compile(kGraph));
    const std::shared_ptr<void> memory = kit::AllocateShared(bytes.size());
    std::memcpy(memory.get(), bytes.data(), bytes.size());
    EpContextHeader header = {};
    header.struct_size = sizeof header;
    header.blob = memory.get();
    header.blob_size = bytes.size();
    header.devices = session_devices.data();
    header.device_count = static_cast<uint32_t>(session_devices.size());
    header.options = options.data();
    header.option_count = static_cast<uint32_t>(options.size());
    return CheckContextForDevices(kit::ContextHeader(header), "EpiphyteVulkan", devices, BuiltInKernels().digest(),
                                  AllOperators());
  }
};

TEST_F(ContextOfTwoDevices, WithoutASessionTheBestDeviceCounts) {
  EXPECT_EQ(JudgeFor({}).verdict, EP_CONTEXT_OPTIMAL) << JudgeFor({}).reason;
}

TEST_F(ContextOfTwoDevices, ASessionsDeviceCounts) {
  EXPECT_EQ(JudgeFor({0}).verdict, EP_CONTEXT_UNSUPPORTED);
  EXPECT_EQ(JudgeFor({1}).verdict, EP_CONTEXT_OPTIMAL);
}

TEST_F(ContextOfTwoDevices, TheOptionUseGoesBeforeTheSessionsDevice) {
  EXPECT_EQ(JudgeFor({1}, {{"use", "small"}}).verdict, EP_CONTEXT_UNSUPPORTED);
  EXPECT_EQ(JudgeFor({0}, {{"use", device()->info().name.c_str()}}).verdict, EP_CONTEXT_OPTIMAL);
}

TEST_F(ContextOfTwoDevices, WhatASessionWouldFailWithIsUnsupported) {
  const kit::ContextVerdict absent = JudgeFor({}, {{"use", "no such device"}});
  EXPECT_EQ(absent.verdict, EP_CONTEXT_UNSUPPORTED);
  EXPECT_THAT(absent.reason, HasSubstr("no such device"));
  EXPECT_EQ(JudgeFor({}, {{"disable", "warp_drive"}}).verdict, EP_CONTEXT_UNSUPPORTED);
  EXPECT_EQ(JudgeFor({7}).verdict, EP_CONTEXT_UNSUPPORTED);
}

TEST_F(Context, AnotherFormatIsRefused) {
  std::string bytes = Write(*Compile(kGraph));
  const std::string from = "format=1;";
  bytes.replace(bytes.find(from), from.size(), "format=9;");
  const kit::ContextVerdict verdict = Judge(test::Sealed(bytes));
  EXPECT_EQ(verdict.verdict, EP_CONTEXT_UNSUPPORTED);
  EXPECT_THAT(verdict.reason, HasSubstr("it was made for format 9, here it is format 1; compile the model again"));
}

TEST_F(Context, AnotherPluginsIsNotApplicable) {
  EpContextHeader header = {};
  header.struct_size = sizeof header;
  header.source = "EpiphyteCPU";
  EXPECT_EQ(CheckContextHeader(header, "EpiphyteVulkan", device()->info(), GoodDevice(), 1, AllOperators()).verdict,
            EP_CONTEXT_NOT_APPLICABLE);
}

TEST_F(Context, APipelineSectionThatIsDamagedNeverReachesTheDriver) {
  const std::string bytes = Write(*Compile(kGraph), "these are no pipelines");
  const kit::ContextContainer container(std::as_bytes(std::span(bytes)), kContextFormat);
  EXPECT_NE(device()->UsePipelineCacheData(PipelinesOf(container).bytes), "");
}

TEST_F(Context, EveryCutAndEveryFlippedByteIsNoticed) {
  const std::string bytes = Write(*Compile(kGraph));
  for (size_t size = 0; size < bytes.size(); size += 7)
    EXPECT_EQ(Judge(bytes.substr(0, size)).verdict, EP_CONTEXT_UNSUPPORTED) << size;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x40);
    EXPECT_EQ(Judge(flipped).verdict, EP_CONTEXT_UNSUPPORTED) << at;
  }
}

// The digests of the forged bytes match, so only verification can refuse them.
TEST_F(Context, ForgedBytesAreRefusedOrRunButNeverCrash) {
  const std::string bytes = Write(*Compile(kGraph));
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string forged = bytes;
    for (int change = 0; change < 3; ++change)
      forged[sizeof(kit::container::Header) + random() % (forged.size() - sizeof(kit::container::Header))] =
          static_cast<char>(random());
    forged = test::Sealed(std::move(forged));
    if (Judge(forged).verdict == EP_CONTEXT_UNSUPPORTED) continue;
    const std::shared_ptr<void> memory = kit::AllocateShared(forged.size());
    std::memcpy(memory.get(), forged.data(), forged.size());
    MessageOf([&] {
      const kit::ContextContainer container({static_cast<const std::byte*>(memory.get()), forged.size()},
                                            kContextFormat);
      for (const std::string_view name : kit::GraphNames(container)) {
        kit::StoredGraph stored = kit::ReadGraph(container, name, kit::GraphCheck::kLater);
        CompiledGraph::Build(std::move(stored.graph), Config(), GraphOrigin::kContext, std::move(stored.packed));
      }
    });
  }
}

// --- operators on quantized numbers

// Sets an attribute; an empty list removes it.
void SetInts(ir::Node& node, const std::string& name, std::vector<int64_t> values) {
  std::erase_if(node.attributes, [&](const ir::Attribute& attribute) { return attribute.name == name; });
  if (values.size() == 1 && name != "code" && name != "zero_points") {
    node.attributes.push_back(ir::Attribute::Int(name, values[0]));
  } else if (!values.empty()) {
    node.attributes.push_back(ir::Attribute::Ints(name, std::move(values)));
  }
}

class QuantizedContext : public Context {
 protected:
  // Returns the error of building the changed graph from a context; "" if it is built.
  std::string Refusal(const std::function<void(ir::Graph&, std::vector<kit::PackedData>&)>& change) const {
    const auto made = Compile(kQdq);
    ir::Graph graph = made->graph();
    std::vector<kit::PackedData> packed = made->packed();
    change(graph, packed);
    return MessageOf(
        [&] { CompiledGraph::Build(std::move(graph), Config(), GraphOrigin::kContext, std::move(packed)); });
  }
};

TEST_F(QuantizedContext, ItComesBackWithItsPackedWeights) {
  EXPECT_EQ(Refusal([](auto&, auto&) {}), "");
  const auto made = Compile(kQdq);
  ASSERT_THAT(made->graph().nodes, SizeIs(3));
  const std::string bytes = Write(*made);
  EXPECT_EQ(bytes, Write(*Compile(kQdq)));
  EXPECT_EQ(Judge(bytes).verdict, EP_CONTEXT_OPTIMAL);
}

TEST_F(QuantizedContext, BoundsThatNoByteHasAreRefused) {
  EXPECT_THAT(Refusal([](ir::Graph& graph, auto&) { SetInts(graph.nodes[0], "low", {-129}); }), HasSubstr("low"));
  EXPECT_THAT(Refusal([](ir::Graph& graph, auto&) { SetInts(graph.nodes[1], "high", {256}); }), HasSubstr("high"));
}

TEST_F(QuantizedContext, ScalesAndZeroPointsMustBeThoseOfTheOperands) {
  EXPECT_THAT(Refusal([](ir::Graph& graph, auto&) {
                SetInts(graph.nodes[1], "zero_points", {1, 2});
              }),
              HasSubstr("2 zero points, 3 of each expected"));
  EXPECT_THAT(Refusal([](ir::Graph& graph, auto&) {
                SetInts(graph.nodes[1], "zero_points", {1, 2, 400});
              }),
              HasSubstr("zero_points"));
  EXPECT_THAT(Refusal([](ir::Graph& graph, auto&) {
                std::erase_if(graph.nodes[1].attributes, [](const auto& each) { return each.name == "scales"; });
              }),
              HasSubstr("0 scales"));
}

TEST_F(QuantizedContext, ItsInstructionTakesItsOperands) {
  EXPECT_THAT(Refusal([](ir::Graph& graph, auto&) {
                SetInts(graph.nodes[1], "code", {0, 2, 0});
              }),
              HasSubstr("operands in their order"));
  EXPECT_THAT(Refusal([](ir::Graph& graph, auto&) { graph.nodes[1].inputs.pop_back(); }), HasSubstr("damaged"));
  EXPECT_THAT(Refusal([](ir::Graph& graph, auto&) {
                SetInts(graph.nodes[1], "code", {99, 0, 2});
              }),
              HasSubstr("damaged"));
}

TEST_F(QuantizedContext, PackedWeightsOfAnotherSizeAreRefused) {
  for (size_t i = 0; i < 2; ++i)
    EXPECT_THAT(Refusal([i](auto&, auto& packed) { packed[i].bytes -= 4; }), HasSubstr("expected"));
  EXPECT_THAT(Refusal([](ir::Graph& graph, auto& packed) {
                packed.clear();
                for (ir::Constant& constant : graph.constants) constant.storage = ir::Constant::Storage::kOwned;
              }),
              testing::Not(testing::IsEmpty()));
}

TEST_F(QuantizedContext, ScalesThatAreComputedAreRefused) {
  EXPECT_THAT(Refusal([](ir::Graph& graph, auto&) {
                const int32_t scale = graph.nodes[0].inputs[6];
                std::erase_if(graph.constants, [&](const auto& constant) { return constant.value == scale; });
                graph.constant_of_value.assign(graph.values.size(), -1);
                for (size_t i = 0; i < graph.constants.size(); ++i)
                  graph.constant_of_value[static_cast<size_t>(graph.constants[i].value)] = static_cast<int32_t>(i);
                graph.inputs.push_back(scale);
              }),
              HasSubstr("is no constant"));
}

TEST_F(Context, PackedDataThatBelongsNowhereIsRefused) {
  const auto made = Compile(kGraph);
  ASSERT_FALSE(made->packed().empty());
  const auto refusal = [&](const std::function<void(std::vector<kit::PackedData>&)>& change) {
    std::vector<kit::PackedData> packed = made->packed();
    change(packed);
    return MessageOf([&] {
      VerifyGraph(made->graph(), packed, AllOperators(), device()->info().capabilities, GraphOrigin::kContext);
    });
  };
  EXPECT_EQ(refusal([](auto&) {}), "");
  EXPECT_THAT(refusal([](auto& packed) { packed[0].node = 77; }), HasSubstr("belongs to node 77"));
  EXPECT_THAT(refusal([](auto& packed) { packed.push_back(packed[0]); }), HasSubstr("is there twice"));
  EXPECT_THAT(refusal([](auto& packed) { packed[0].data = nullptr; }), HasSubstr("is not there"));
  EXPECT_THAT(refusal([](auto& packed) { packed.clear(); }), HasSubstr("packed 0"));
}

}  // namespace
}  // namespace epiphyte::vulkan
