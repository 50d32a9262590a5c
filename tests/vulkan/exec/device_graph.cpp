#include "tests/vulkan/exec/device_graph.h"

#include "epiphyte/kit/graph/text.hpp"
#include "plugins/vulkan/exec/fuse.h"
#include "tests/vulkan/lavapipe.h"
#include "tests/vulkan/program/program_text.h"

namespace epiphyte::vulkan {

void DeviceGraphTest::SetUp() {
  if (!PinLavapipe()) GTEST_SKIP() << kNoLavapipe;
  // All tests share one instance, because opening it takes a while.
  static const std::shared_ptr<Instance> instance = OpenInstance().instance;
  ASSERT_NE(instance, nullptr);
  device_ = Device::Open(instance, instance->devices().at(0), {.kernels = &BuiltInKernels()});
}

CompileConfig DeviceGraphTest::Config() const {
  CompileConfig config;
  config.operators = &AllOperators();
  config.device = device_;
  config.capabilities = device_->info().capabilities;
  return config;
}

std::shared_ptr<CompiledGraph> DeviceGraphTest::Compile(std::string_view text) const {
  ir::Graph graph = kit::ir::FromText(text);
  const CompileConfig config = Config();
  Fuse(graph, AllOperators(), config.capabilities);
  return CompiledGraph::Build(std::move(graph), config);
}

}  // namespace epiphyte::vulkan
