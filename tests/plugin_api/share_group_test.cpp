// The cpu plugin in share groups: several sessions compile into one payload and load from it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <fstream>
#include <random>
#include <thread>

#include "tests/plugin_api/provider_harness.h"

#if defined(__SANITIZE_ADDRESS__)
// Declaration from sanitizer/allocator_interface.h, which GCC does not install.
extern "C" size_t __sanitizer_get_current_allocated_bytes();
#endif

namespace epiphyte::test {
namespace {

using core::ShareWorkspaces;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

constexpr int64_t kSide = 256;

// Returns the model y = x · w (+ x · w · w …) with `rows` rows. All models have the same weights, which each uses
// `products` times.
std::string Model(const std::string& name, int64_t rows, int products = 1) {
  std::mt19937 random(7);
  std::string weights;
  // The weights are not exact in 16 bits. Otherwise they would be kept in 16 bits, and widened by each session.
  for (int64_t i = 0; i < kSide * kSide; ++i)
    weights += (i == 0 ? "" : ", ") + std::to_string(int(random() % 9) - 4) + ".0001";
  std::string initializers;
  std::string nodes;
  std::string x = "x";
  for (int i = 0; i < products; ++i) {
    const std::string n = std::to_string(i);
    const std::string dims = "[" + std::to_string(kSide) + ", " + std::to_string(kSide) + "]";
    initializers += (i == 0 ? "" : ", ") + ("float" + dims) + " w" + n + " = {" + weights + "}";
    nodes += "p" + n + " = MatMul(" + x + ", w" + n + ")\n";
    x = "p" + n;
  }
  const std::string type = "float[" + std::to_string(rows) + ", " + std::to_string(kSide) + "]";
  return "<ir_version: 8, opset_import: [\"\" : 17]> " + name + " (" + type + " x) => (" + type + " y) <" +
         initializers + "> {\n" + nodes + "y = Neg(" + x + ")\n}";
}

core::ValuePtr Ones(int64_t rows) { return Floats({rows, kSide}, std::vector<float>(rows * kSide, 1.0f)); }

class CpuShareGroup : public testing::Test {
 protected:
  std::shared_ptr<core::Provider> Session(bool compiling, bool last) const {
    return cpu_.Make({workspaces_, compiling, last});
  }

  ProviderHarness cpu_{"cpu"};
  std::shared_ptr<ShareWorkspaces> workspaces_ = std::make_shared<ShareWorkspaces>("llama");
};

TEST_F(CpuShareGroup, TheLastSessionWritesOnePayloadForAll) {
  auto first = Session(true, false);
  auto last = Session(true, true);
  EXPECT_TRUE(first->DefersPayload());
  EXPECT_FALSE(last->DefersPayload());
  CompiledModel prefill = cpu_.Compile(*first, Model("prefill", 64));
  CompiledModel decode = cpu_.Compile(*last, Model("decode", 1));

  SavedContext deferred = Save(*first);
  EXPECT_THAT(deferred.payloads, IsEmpty());
  ASSERT_THAT(deferred.nodes, SizeIs(1));
  EXPECT_EQ(deferred.nodes[0].main_context, 1);
  EXPECT_EQ(deferred.nodes[0].payload, -1);
  EXPECT_THAT(deferred.compatibility_info, HasSubstr("onednn="));

  const std::vector<float> expected_prefill = RunKernel(*prefill.kernels[0], {Ones(64)});
  const std::vector<float> expected_decode = RunKernel(*decode.kernels[0], {Ones(1)});
  // A session may be destroyed before the payload is written.
  prefill.kernels.clear();
  first.reset();
  SavedContext saved = Save(*last);
  ASSERT_THAT(saved.payloads, SizeIs(1));
  ASSERT_THAT(saved.nodes, SizeIs(1));
  EXPECT_EQ(saved.nodes[0].payload, 0);

  const core::ContextBlob blob = ToBlob(saved.payloads[0]);
  auto load_decode = Session(false, false);
  auto load_prefill = Session(false, false);
  auto decode_kernels = cpu_.Load(*load_decode, decode, blob);
  auto prefill_kernels = cpu_.Load(*load_prefill, prefill, blob);
  EXPECT_EQ(RunKernel(*prefill_kernels[0], {Ones(64)}), expected_prefill);
  EXPECT_EQ(RunKernel(*decode_kernels[0], {Ones(1)}), expected_decode);
  // The kernels are destroyed in any order, and another one is made in between.
  decode_kernels.clear();
  load_decode.reset();
  auto again = Session(false, false);
  auto again_kernels = cpu_.Load(*again, decode, blob);
  prefill_kernels.clear();
  load_prefill.reset();
  EXPECT_EQ(RunKernel(*again_kernels[0], {Ones(1)}), expected_decode);
}

TEST_F(CpuShareGroup, EqualWeightsAreStoredOnce) {
  constexpr size_t kWeights = kSide * kSide * sizeof(float);
  auto alone = cpu_.Make({});
  cpu_.Compile(*alone, Model("alone", 64, 4));
  EXPECT_LT(Save(*alone).payloads.at(0).size(), 2 * kWeights) << "four equal matrices in one session";

  auto first = Session(true, false);
  auto last = Session(true, true);
  CompiledModel a = cpu_.Compile(*first, Model("a", 64, 2));
  CompiledModel b = cpu_.Compile(*last, Model("b", 64));
  Save(*first);
  const size_t size = Save(*last).payloads.at(0).size();
  EXPECT_GT(size, kWeights);
  EXPECT_LT(size, kWeights + kWeights / 3) << "layouts may pad, but nothing is there twice";
}

TEST_F(CpuShareGroup, ALastSessionWithoutPartitionsWritesTheOthers) {
  auto first = Session(true, false);
  CompiledModel a = cpu_.Compile(*first, Model("a", 2));
  const std::vector<float> expected = RunKernel(*a.kernels[0], {Ones(2)});
  Save(*first);
  SavedContext saved = Save(*Session(true, true));
  EXPECT_THAT(saved.nodes, IsEmpty());
  ASSERT_THAT(saved.payloads, SizeIs(1));
  EXPECT_EQ(RunKernel(*cpu_.Load(*cpu_.Make({}), a, ToBlob(saved.payloads[0])).at(0), {Ones(2)}), expected);
}

TEST_F(CpuShareGroup, TheWorkspaceIsEmptyAfterTheLastSession) {
  for (int round = 0; round < 2; ++round) {
    auto first = Session(true, false);
    cpu_.Compile(*first, Model("a", 2));
    Save(*first);
    auto last = Session(true, true);
    CompiledModel b = cpu_.Compile(*last, Model("b", 3));
    SavedContext saved = Save(*last);
    EXPECT_EQ(RunKernel(*cpu_.Load(*cpu_.Make({}), b, ToBlob(saved.payloads.at(0))).at(0), {Ones(3)}).size(),
              3u * kSide);
  }
  SavedContext empty = Save(*Session(true, true));
  ASSERT_THAT(empty.payloads, SizeIs(1));
  EXPECT_LT(empty.payloads[0].size(), 1024u);
}

TEST_F(CpuShareGroup, TwoPartitionsOfOneNameAreRefused) {
  auto first = Session(true, false);
  auto last = Session(true, true);
  cpu_.Compile(*first, Model("a", 2));
  cpu_.Compile(*last, Model("a", 3));
  Save(*first);
  EXPECT_THAT(FailureOf([&] { Save(*last); }), testing::AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("'a_cpu_0'"),
                                                              HasSubstr("ep.context_node_name_prefix")));
}

TEST_F(CpuShareGroup, TheSameSessionsGiveTheSameBytes) {
  std::string payloads[2];
  for (std::string& payload : payloads) {
    workspaces_ = std::make_shared<ShareWorkspaces>("llama");
    auto first = Session(true, false);
    auto last = Session(true, true);
    cpu_.Compile(*first, Model("a", 64, 2));
    cpu_.Compile(*last, Model("b", 1, 3));
    Save(*first);
    payload = Save(*last).payloads.at(0);
  }
  EXPECT_EQ(payloads[0], payloads[1]);
}

TEST_F(CpuShareGroup, AnotherPayloadAtTheSameAddressIsAnother) {
  const auto payload_of = [&](CompiledModel* model, const std::string& text) {
    auto provider = cpu_.Make({});
    *model = cpu_.Compile(*provider, text);
    model->kernels.clear();
    return Save(*provider).payloads.at(0);
  };
  CompiledModel one;
  CompiledModel two;
  const std::string first = payload_of(&one, Model("a", 2, 1));
  std::string second = payload_of(&two, Model("b", 2, 1));
  ASSERT_EQ(first.size(), second.size());
  auto keeps_group = Session(false, false);
  core::ContextBlob blob = ToBlob(first);
  { EXPECT_THAT(cpu_.Load(*Session(false, false), one, blob), SizeIs(1)); }
  // The first payload is no longer in use, so its memory may be reused.
  std::memcpy(const_cast<void*>(blob.data), second.data(), second.size());
  EXPECT_THAT(cpu_.Load(*Session(false, false), two, blob), SizeIs(1));
}

TEST_F(CpuShareGroup, ManySessionsLoadAtTheSameTime) {
  auto compiler = cpu_.Make({});
  CompiledModel model = cpu_.Compile(*compiler, Model("a", 8, 3));
  const std::vector<float> expected = RunKernel(*model.kernels[0], {Ones(8)});
  const core::ContextBlob blob = ToBlob(Save(*compiler).payloads.at(0));
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 8; ++i) {
        auto kernels = cpu_.Load(*Session(false, false), model, blob);
        good += RunKernel(*kernels[0], {Ones(8)}) == expected ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 32);
}

// Returns the memory that only this process has, which includes copies of mapped weights. It is signed, because a later
// result may be smaller.
int64_t PrivateKilobytes() {
#if defined(__SANITIZE_ADDRESS__)
  return static_cast<int64_t>(__sanitizer_get_current_allocated_bytes() / 1024);  // AddressSanitizer keeps freed memory
#else
  malloc_trim(0);  // free memory of the allocator must not count
  std::ifstream file("/proc/self/smaps_rollup");
  int64_t total = 0;
  for (std::string word; file >> word;) {
    int64_t number = 0;
    if (word == "Private_Dirty:" && file >> number) total += number;
  }
  return total;
#endif
}

TEST_F(CpuShareGroup, LoadedWeightsStayWhereTheyAre) {
  auto compiler = cpu_.Make({});
  CompiledModel model = cpu_.Compile(*compiler, Model("a", 4, 1));
  const core::ContextBlob blob = ToBlob(Save(*compiler).payloads.at(0));
  std::vector<std::shared_ptr<core::Provider>> providers;
  std::vector<std::unique_ptr<core::Kernel>> kernels;
  const auto load = [&] {
    providers.push_back(Session(false, false));
    kernels.push_back(std::move(cpu_.Load(*providers.back(), model, blob).at(0)));
  };
  for (int i = 0; i < 20; ++i) load();
  const int64_t before = PrivateKilobytes();
  ASSERT_GT(before, 0);
  constexpr int64_t kSessions = 200;
  for (int64_t i = 0; i < kSessions; ++i) load();
  const int64_t weights = kSide * kSide * sizeof(float) / 1024;
  EXPECT_LT(PrivateKilobytes() - before, kSessions * weights / 2) << "each session has a copy of its weights";
}

TEST_F(CpuShareGroup, SessionsThatCompileKeepEqualWeightsInMemoryOnce) {
  std::vector<std::shared_ptr<core::Provider>> providers;
  std::vector<CompiledModel> models;
  const auto compile = [&] {
    providers.push_back(Session(true, false));
    models.push_back(cpu_.Compile(*providers.back(), Model("m" + std::to_string(models.size()), 4, 1)));
    models.back().model = {};  // drops the host's share of the memory
    models.back().partitions.clear();
  };
  for (int i = 0; i < 5; ++i) compile();
  const int64_t before = PrivateKilobytes();
  ASSERT_GT(before, 0);
  constexpr int64_t kSessions = 40;
  for (int64_t i = 0; i < kSessions; ++i) compile();
  const int64_t weights = kSide * kSide * sizeof(float) / 1024;
  EXPECT_LT(PrivateKilobytes() - before, kSessions * weights / 2);
}

// --- a plugin made with the kit

class KitShareGroup : public testing::Test {
 protected:
  static std::unique_ptr<core::Environment> KitEnvironment() {
    core::CatalogOptions options;
    options.use_environment = false;
    options.use_user_folder = false;
    options.paths = {EPIPHYTE_KIT_PLUGIN_DIR};
    return std::make_unique<core::Environment>(std::move(options));
  }
  ProviderHarness doubler_{"doubler", KitEnvironment()};
};

TEST_F(KitShareGroup, AKitProviderKeepsAndWritesTheContextsOfAllSessions) {
  constexpr std::string_view kOne = R"(<ir_version: 8, opset_import: ["" : 17]>
    one (float[2] x) => (float[2] y) { y = Add(x, x) })";
  constexpr std::string_view kTwo = R"(<ir_version: 8, opset_import: ["" : 17]>
    two (float[2] x) => (float[2] y) { a = Add(x, x)  y = Add(a, a) })";
  auto workspaces = std::make_shared<ShareWorkspaces>("");
  auto first = doubler_.Make({workspaces, true, false});
  auto last = doubler_.Make({workspaces, true, true});
  CompiledModel one = doubler_.Compile(*first, kOne);
  CompiledModel two = doubler_.Compile(*last, kTwo);
  EXPECT_THAT(Save(*first).payloads, IsEmpty());
  SavedContext saved = Save(*last);
  ASSERT_THAT(saved.payloads, SizeIs(1));
  const core::ContextBlob blob = ToBlob(saved.payloads[0]);
  auto loader = doubler_.Make({workspaces, false, false});
  EXPECT_THAT(RunKernel(*doubler_.Load(*loader, one, blob).at(0), {Floats({2}, {1, -3})}), ElementsAre(2, -6));
  EXPECT_THAT(RunKernel(*doubler_.Load(*loader, two, blob).at(0), {Floats({2}, {1, -3})}), ElementsAre(4, -12));
}

}  // namespace
}  // namespace epiphyte::test
