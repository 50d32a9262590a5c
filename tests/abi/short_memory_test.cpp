// Each allocation of the host is made to fail, one after the other. No object that a plugin made may be lost, released
// twice or left half done.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "core/abi/handles.h"
#include "core/abi/provider.h"

namespace {

// Number of allocations of this thread that still succeed before one fails; negative: all succeed.
thread_local int64_t t_allocations_left = -1;

void* Allocate(size_t bytes) noexcept {
  if (t_allocations_left >= 0 && t_allocations_left-- == 0) return nullptr;
  return std::malloc(bytes == 0 ? 1 : bytes);
}

void* AllocateOrThrow(size_t bytes) {
  if (void* memory = Allocate(bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(size_t bytes) { return AllocateOrThrow(bytes); }
void* operator new[](size_t bytes) { return AllocateOrThrow(bytes); }
// AddressSanitizer replaces each form of new and delete on its own, so all forms that can meet must be defined here.
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return Allocate(bytes); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return Allocate(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace epiphyte::core {
namespace {

// Calls step(0), step(1), … until no allocation fails. Each step calls FailAllocation and then Failed.
template <typename Step>
int FailEachAllocation(Step&& step) {
  for (int n = 0;; ++n) {
    SCOPED_TRACE("allocation " + std::to_string(n));
    const bool failed = step(n);
    if (!failed || testing::Test::HasFatalFailure()) return n;
  }
}

void FailAllocation(int n) { t_allocations_left = n; }

// Returns whether the chosen allocation was reached and failed. All allocations succeed from now on.
bool Failed() {
  const bool failed = t_allocations_left < 0;
  t_allocations_left = -1;
  return failed;
}

class CountingWriter : public PayloadWriter {
 public:
  explicit CountingWriter(uint64_t* bytes) : bytes_(bytes) {}
  void Write(const void*, uint64_t size) override { *bytes_ += size; }
  void End() override {}

 private:
  uint64_t* bytes_;
};

TEST(ShortMemory, APayloadThatCouldNotBeBegunTakesNoIndex) {
  const int failures = FailEachAllocation([](int n) {
    uint64_t bytes = 0;
    EpContextSink sink;
    sink.partition_names = {"p"};
    sink.sources = {"s"};
    int made = 0;
    sink.new_writer = [&] {
      auto counting = std::make_unique<CountingWriter>(&bytes);
      ++made;
      return counting;
    };
    EpContextWriter* writer = nullptr;
    FailAllocation(n);
    EpStatus* status = kContextApi.BeginPayload(sink.open.handle(), &writer);
    const bool failed = Failed();
    EXPECT_EQ(status != nullptr, failed);
    kStatusApi.Release(status);
    EXPECT_EQ(sink.writers.size(), failed ? 0u : 1u);
    EXPECT_EQ(sink.result.payloads.size(), failed ? 0u : 1u);
    if (failed) {
      EXPECT_EQ(kContextApi.BeginPayload(sink.open.handle(), &writer), nullptr) << "there is memory again";
    }
    EXPECT_EQ(kContextApi.Write(writer, "four", 4), nullptr);
    EXPECT_EQ(kContextApi.EndPayload(writer), nullptr);
    EpContextNodeDesc node = {};
    node.struct_size = sizeof(node);
    node.main_context = 1;
    node.payload = writer;
    EXPECT_EQ(kContextApi.AddNode(sink.open.handle(), &node), nullptr);
    EXPECT_EQ(sink.result.nodes.at(0).payload, 0);
    EXPECT_EQ(sink.result.payloads.size(), 1u);
    EXPECT_EQ(made, 1) << "none that was made is left without a handle";
    EXPECT_EQ(bytes, 4u);
    return failed;
  });
  EXPECT_GE(failures, 3);
}

// --- kernels

constexpr size_t kKernels = 4;
std::array<int, kKernels> g_kernels;  // number of live objects for each kernel
bool g_same_twice = false;

EpStatus* EP_CALL MakeProvider(EpPlugin*, const EpProviderConfig*, EpProvider** provider) {
  *provider = reinterpret_cast<EpProvider*>(&g_kernels);
  return nullptr;
}

EpStatus* EP_CALL Load(EpProvider*, const EpContextNodeInfo* const*, uint64_t count, const EpContextBlob* const*,
                       uint64_t, EpTask*, EpKernel** kernels) {
  for (uint64_t i = 0; i < count; ++i) {
    int& kernel = g_kernels.at(g_same_twice && i + 1 == count ? 0 : i);
    if (&kernel != &g_kernels[0] || i == 0) ++kernel;
    kernels[i] = reinterpret_cast<EpKernel*>(&kernel);
  }
  return nullptr;
}

const EpProviderApi& ProviderApi() {
  static const EpProviderApi api = [] {
    EpProviderApi made = {};
    made.struct_size = sizeof(made);
    made.CreateProvider = MakeProvider;
    made.DestroyProvider = [](EpProvider*) {};
    made.GetEpContextNodes = [](EpProvider*, EpContextSink*, EpTask*) -> EpStatus* { return nullptr; };
    made.LoadContext = Load;
    made.ReleaseKernel = [](EpKernel* kernel) { --*reinterpret_cast<int*>(kernel); };
    made.Execute = [](EpKernel*, EpKernelState*, EpRun*) -> EpStatus* { return nullptr; };
    return made;
  }();
  return api;
}

class ShortMemoryWithKernels : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Abi, ShortMemoryWithKernels, testing::Bool(),
                         [](const auto& info) { return info.param ? "OneTwice" : "EachOnce"; });

TEST_P(ShortMemoryWithKernels, EachIsReleasedOnce) {
  g_same_twice = GetParam();
  g_kernels.fill(0);
  EpPluginDescriptor descriptor = {};
  descriptor.struct_size = sizeof(descriptor);
  descriptor.provider = &ProviderApi();
  LoadedPlugin plugin;
  plugin.descriptor = &descriptor;
  plugin.name = "short";
  const auto provider = Provider::Create(plugin, {});
  std::vector<ContextNodeToLoad> nodes(kKernels);
  for (size_t i = 0; i < kKernels; ++i) nodes[i].partition_name = "partition " + std::to_string(i);

  const int failures = FailEachAllocation([&](int n) {
    std::vector<std::unique_ptr<Kernel>> kernels;
    bool refused = false;
    FailAllocation(n);
    try {
      kernels = provider->LoadContext(nodes, {});
    } catch (const std::exception&) {
      refused = true;
    }
    const bool failed = Failed();
    EXPECT_EQ(refused, failed || g_same_twice);
    EXPECT_EQ(kernels.size(), refused ? 0u : kKernels);
    kernels.clear();
    EXPECT_THAT(g_kernels, testing::Each(0));
    g_kernels.fill(0);
    return failed;
  });
  EXPECT_GE(failures, 10);
}

}  // namespace
}  // namespace epiphyte::core
