// The cpu plugin's payload through the ABI, without the host's digest check. For any bytes the result is an error or
// correct numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/abi/context_check.h"
#include "tests/framework/sealed_container.h"
#include "tests/plugin_api/provider_harness.h"

namespace epiphyte::test {
namespace {

using core::ContextVerdict;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// A model with every kind of content in its payload: packed weights, constants, strings, numbers.
constexpr std::string_view kModel = R"(<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]>
  g (float[2, 3] x, int64[2] i) => (float[2, 2] y)
  <float[3, 2] w = {1, 2, 3, 4, 5, 6}, float[2] b = {0.5, -0.5}> {
    column = Constant <value = int64[2] {1, 0}> ()
    word = ai.onnx.ml.LabelEncoder <keys_int64s = [0, 1], values_strings = ["a", "bc"]> (i)
    number = ai.onnx.ml.LabelEncoder <keys_strings = ["a", "bc"], values_floats = [1.5, 2.5]> (word)
    product = MatMul(x, w)
    biased = Add(product, b)
    shares = Softmax <axis = 1> (biased)
    turned = Gather <axis = 1> (shares, column)
    y = Add(turned, number)
  })";

class ContextDamage : public testing::Test {
 protected:
  ContextDamage() {
    auto provider = cpu_.Make({});
    model_ = cpu_.Compile(*provider, kModel);
    if (model_.kernels.size() != 1) throw std::runtime_error("the model is expected to be one partition");
    saved_ = Save(*provider);
    payload_ = saved_.payloads.at(0);
    expected_ = Run(*model_.kernels[0]);
  }

  std::vector<float> Run(core::Kernel& kernel) const {
    std::vector<core::ValuePtr> inputs;
    for (const core::ValueDef* input : model_.partitions[0].node->inputs()) {
      inputs.push_back(input->name() == "x" ? Floats({2, 3}, {0.1f, -0.2f, 0.3f, 0.25f, 0.5f, -0.6f})
                                            : Int64s({2}, {1, 0}));
    }
    return RunKernel(kernel, inputs);
  }
  // Returns the error of loading and running these bytes, or "OK". Wrong numbers fail the test.
  std::string Outcome(const std::string& bytes, bool compare = true) {
    return FailureOf([&] {
      auto kernels = cpu_.Load(*cpu_.Make({}), model_, ToBlob(bytes));
      const std::vector<float> found = Run(*kernels.at(0));
      if (compare) {
        EXPECT_EQ(found, expected_);
      }
    });
  }
  core::ContextCheck Check(const core::ContextHeader& header, const core::ContextPlace& place = {}) const {
    return core::CheckContext(cpu_.plugin(), header, place);
  }
  core::ContextHeader Header() const {
    core::ContextHeader header;
    header.source = "EpiphyteCPU";
    header.ep_sdk_version = saved_.nodes[0].ep_sdk_version;
    header.hardware_architecture = saved_.nodes[0].hardware_architecture;
    header.compatibility_info = saved_.compatibility_info;
    return header;
  }

  ProviderHarness cpu_{"cpu"};
  CompiledModel model_;
  SavedContext saved_;
  std::string payload_;
  std::vector<float> expected_;
};

kit::container::Header HeaderOf(const std::string& bytes) {
  kit::container::Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header;
}
// Returns the offsets of the bytes that describe plans: the table, and the section that begins with the partition's
// name.
std::vector<size_t> DescriptionBytes(const std::string& bytes, const std::string& partition) {
  std::vector<size_t> places;
  for (size_t at = 0; at < sizeof(kit::container::Header) + HeaderOf(bytes).table_size; ++at) places.push_back(at);
  for (size_t at = bytes.rfind(partition) - sizeof(uint32_t); at < bytes.size(); ++at) places.push_back(at);
  return places;
}

std::string Replaced(std::string text, std::string_view what, std::string_view by) {
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what << " in " << text;
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

TEST_F(ContextDamage, TheUnchangedPayloadGivesTheSameNumbers) { EXPECT_EQ(Outcome(payload_), "OK"); }

TEST_F(ContextDamage, EveryTruncationIsRefused) {
  for (size_t size = 0; size < payload_.size(); ++size) {
    ASSERT_THAT(Outcome(payload_.substr(0, size)),
                AllOf(StartsWith("INVALID_GRAPH"), HasSubstr("compile the model again")))
        << size << " of " << payload_.size();
  }
}

TEST_F(ContextDamage, BytesBehindTheEndAreRefused) {
  EXPECT_THAT(Outcome(payload_ + std::string(64, '\0')), StartsWith("INVALID_GRAPH"));
}

TEST_F(ContextDamage, EveryFlipIsSeen) {
  for (size_t at = 0; at < payload_.size(); ++at) {
    for (int flip : {1 << (at % 8), 0xFF}) {
      std::string changed = payload_;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      ASSERT_THAT(Outcome(changed), AllOf(StartsWith("INVALID_GRAPH"), HasSubstr("compile the model again")))
          << "byte " << at << " of " << payload_.size() << ", ^" << flip;
    }
  }
}

// Digests detect damage, not forgery. With matching digests, every field of header and table must be checked on its
// own.
TEST_F(ContextDamage, FlipsWithFittingDigestsNeverCrash) {
  int refused = 0;
  for (const size_t at : DescriptionBytes(payload_, model_.partitions[0].name)) {
    for (int flip : {0x01, 0x02, 0x10, 0x80, 0xFF}) {
      std::string changed = payload_;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      refused += Outcome(Sealed(std::move(changed)), false) == "OK" ? 0 : 1;
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST_F(ContextDamage, WordsWithFittingDigestsNeverCrash) {
  const std::vector<size_t> places = DescriptionBytes(payload_, model_.partitions[0].name);
  size_t refused = 0, tried = 0;
  for (uint32_t word : {0u, 1u, 0x7FFFFFFFu, 0x80000000u, 0xFFFFFFFFu, 0x10000u}) {
    for (size_t i = 0; i < places.size(); i += 2) {
      if (places[i] + sizeof word > payload_.size()) continue;
      std::string changed = payload_;
      std::memcpy(changed.data() + places[i], &word, sizeof word);
      const std::string outcome = Outcome(Sealed(std::move(changed)), false);
      ASSERT_EQ(outcome.find('\n'), std::string::npos) << outcome;
      refused += outcome == "OK" ? 0 : 1;
      ++tried;
    }
  }
  EXPECT_GT(refused, tried / 10);
}

TEST_F(ContextDamage, ASizeThatOverflowsIsRefused) {
  using kit::container::Header;
  for (uint64_t size : {uint64_t{0}, uint64_t{1} << 31, uint64_t{1} << 50, UINT64_MAX, UINT64_MAX - 63}) {
    for (uint64_t Header::*field : {&Header::size, &Header::table_size}) {
      Header header = HeaderOf(payload_);
      header.*field = size;
      std::string changed = payload_;
      std::memcpy(changed.data(), &header, sizeof header);
      EXPECT_THAT(Outcome(Sealed(std::move(changed))), StartsWith("INVALID_GRAPH"));
    }
  }
}

// A model with constants that nodes use as positions, counts and orders. They are large, because small constants are
// copied with their sections.
std::string SteeringModel() {
  constexpr int kCount = 8192;
  std::string numbers, places, flags;
  for (int i = 0; i < kCount; ++i) {
    const char* comma = i == 0 ? "" : ", ";
    numbers += comma + std::to_string(i * 37 % 8191);
    places += comma + std::to_string(i % 3);
    flags += comma + std::to_string(i % 5 == 0);
  }
  const std::string count = std::to_string(kCount);
  return R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[3] x) => (float[5] top, float numbers_found, float[3] sums, float some)
    <float[)" +
         count + "] t = {" + numbers + "}, int64[" + count + "] at = {" + places + "}, bool[" + count + "] f = {" +
         flags + R"(}, int64[1] five = {5}, float[3] zeros = {0, 0, 0}> {
      top, which = TopK(t, five)
      found = NonZero(t)
      found_floats = Cast <to = 1> (found)
      numbers_found = ReduceSum <keepdims = 0> (found_floats)
      spread = Gather(x, at)
      sums = ScatterElements <reduction = "add"> (zeros, at, spread)
      chosen = Compress(spread, f)
      some = ReduceSum <keepdims = 0> (chosen)
    })";
}

// A payload is a mapped file. Another process that changes it during a session may change numbers, but nothing else.
TEST(ContextThatChanges, StillFindsItsPlacesAndCounts) {
  const ProviderHarness cpu("cpu");
  auto provider = cpu.Make({});
  const CompiledModel model = cpu.Compile(*provider, SteeringModel());
  ASSERT_EQ(model.kernels.size(), 1u);
  const std::string payload = Save(*provider).payloads.at(0);
  const auto run = [&](core::Kernel& kernel) {
    std::vector<core::ValuePtr> outputs(model.partitions[0].node->outputs().size());
    const core::ValuePtr x = Floats({3}, {1, 10, 100});
    core::Value* input = x.get();
    kernel.Execute({&input, 1}, outputs);
    std::vector<std::vector<float>> all;
    for (const core::ValuePtr& output : outputs) all.push_back(FloatsOf(*output));
    return all;
  };
  const auto expected = run(*model.kernels[0]);
  for (const char with : {'\x7F', '\xFF', '\0'}) {
    const core::ContextBlob blob = ToBlob(payload);
    const auto kernels = cpu.Load(*cpu.Make({}), model, blob);
    std::memset(const_cast<void*>(blob.data), with, blob.size);
    EXPECT_EQ(run(*kernels.at(0)), expected) << static_cast<int>(with);
  }
}

TEST_F(ContextDamage, APartitionThatIsNotThereIsNamed) {
  model_.partitions[0].name = "somebody_else";
  EXPECT_THAT(Outcome(payload_), AllOf(StartsWith("INVALID_GRAPH"), HasSubstr("no partition 'somebody_else'")));
}

// --- CheckContext

TEST_F(ContextDamage, AContextOfThisMachineIsOptimal) {
  EXPECT_EQ(Check(Header()).verdict, ContextVerdict::kOptimal);
  core::ContextHeader header = Header();
  header.blob = ToBlob(payload_);
  EXPECT_EQ(Check(header).verdict, ContextVerdict::kOptimal);
  // Each of the three descriptions is sufficient on its own.
  core::ContextHeader attributes = Header();
  attributes.compatibility_info.clear();
  EXPECT_EQ(Check(attributes).verdict, ContextVerdict::kOptimal);
  core::ContextHeader blob_only;
  blob_only.source = "EpiphyteCPU";
  blob_only.blob = ToBlob(payload_);
  EXPECT_EQ(Check(blob_only).verdict, ContextVerdict::kOptimal);
}

TEST_F(ContextDamage, ThePrecisionOfTheSessionThatAsksCounts) {
  const core::ContextPlace same = {{0}, {{"precision", "f32"}}};
  const core::ContextPlace other = {{0}, {{"precision", "int8-dynamic"}}};
  core::ContextHeader by_payload;
  by_payload.source = "EpiphyteCPU";
  by_payload.blob = ToBlob(payload_);
  for (const core::ContextHeader& header : {Header(), by_payload}) {
    EXPECT_EQ(Check(header, same).verdict, ContextVerdict::kOptimal);
    const core::ContextCheck check = Check(header, other);
    EXPECT_EQ(check.verdict, ContextVerdict::kPreferRecompilation);
    EXPECT_THAT(check.reason, AllOf(HasSubstr("precision f32"), HasSubstr("precision int8-dynamic")));
  }
}

TEST_F(ContextDamage, WhatDiffersDecidesTheVerdict) {
  struct Case {
    const char* what;
    std::function<void(core::ContextHeader&)> change;
    ContextVerdict verdict;
    std::string reason;
  };
  const std::string sdk = Header().ep_sdk_version;  // "oneDNN 2.6.3 …"
  const std::string version = sdk.substr(7);
  const std::string isa = Header().hardware_architecture;
  const std::string machine = isa.substr(0, isa.find('/'));
  const std::string made_isa = "isa=" + isa.substr(isa.find('/') + 1);
  const Case cases[] = {
      {"another source", [](auto& h) { h.source = "QNN"; }, ContextVerdict::kNotApplicable, "'QNN'"},
      {"nothing said",
       [](auto& h) {
         h = {};
         h.source = "EpiphyteCPU";
       },
       ContextVerdict::kNotApplicable, "binary"},
      {"another oneDNN",
       [&](auto& h) { h.compatibility_info = Replaced(h.compatibility_info, "onednn=" + version, "onednn=3.9.9 abc"); },
       ContextVerdict::kUnsupported, "oneDNN 3.9.9 abc"},
      {"another oneDNN in the node", [](auto& h) { h.ep_sdk_version = "oneDNN 1.0 x"; }, ContextVerdict::kUnsupported,
       "oneDNN 1.0 x"},
      {"another SDK", [](auto& h) { h.ep_sdk_version = "QAIRT 2.31"; }, ContextVerdict::kUnsupported, "QAIRT 2.31"},
      {"another machine", [](auto& h) { h.hardware_architecture = "riscv64/isa0"; }, ContextVerdict::kUnsupported,
       "riscv64"},
      {"another machine in the key",
       [&](auto& h) { h.compatibility_info = Replaced(h.compatibility_info, "machine=" + machine, "machine=riscv64"); },
       ContextVerdict::kUnsupported, "machine riscv64, here it is machine " + machine},
      {"a lower ISA", [&](auto& h) { h.compatibility_info = Replaced(h.compatibility_info, made_isa, "isa=sse41"); },
       ContextVerdict::kPreferRecompilation, "sse41"},
      {"a lower ISA in the node", [&](auto& h) { h.hardware_architecture = machine + "/sse41"; },
       ContextVerdict::kPreferRecompilation, "sse41"},
      {"another plugin version",
       [](auto& h) { h.compatibility_info = Replaced(h.compatibility_info, "plugin=", "plugin=9."); },
       ContextVerdict::kPreferRecompilation, "version 9."},
      {"another format", [](auto& h) { h.compatibility_info = Replaced(h.compatibility_info, "format=", "format=9"); },
       ContextVerdict::kUnsupported, "compile the model again"},
      {"garbage", [](auto& h) { h.compatibility_info = "\xff;=;;"; }, ContextVerdict::kUnsupported,
       "compile the model again"},
      {"threads of another session",
       [](auto& h) { h.compatibility_info = Replaced(h.compatibility_info, "threads=1", "threads=7"); },
       ContextVerdict::kOptimal, ""},
  };
  for (const Case& c : cases) {
    core::ContextHeader header = Header();
    c.change(header);
    const core::ContextCheck check = Check(header);
    EXPECT_EQ(check.verdict, c.verdict) << c.what << ": " << check.reason;
    EXPECT_THAT(check.reason, HasSubstr(c.reason)) << c.what;
  }
}

TEST_F(ContextDamage, CheckingTheBytesFindsEveryFlipAndTruncation) {
  core::ContextHeader header = Header();
  const auto refused = [&](const std::string& bytes) {
    header.blob = ToBlob(bytes);
    const core::ContextCheck check = Check(header);
    return check.verdict == ContextVerdict::kUnsupported && !check.reason.empty();
  };
  for (size_t at = 0; at < payload_.size(); at += 3) {
    std::string changed = payload_;
    changed[at] = static_cast<char>(changed[at] ^ 0x40);
    ASSERT_TRUE(refused(changed)) << at;
    ASSERT_TRUE(refused(payload_.substr(0, at))) << at;
  }
  EXPECT_TRUE(refused("QNN context binary, or whatever this is; at least it is longer than a header of 64 bytes"));
}

}  // namespace
}  // namespace epiphyte::test
