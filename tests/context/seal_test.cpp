// The seal: every change of a context model is detected. A model of another tool is accepted. A deliberate change can
// be sealed again. be sealed again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/context/reseal.h"
#include "core/context/seal.h"
#include "core/onnx/model_reader.h"
#include "core/onnx/write/metadata_entry.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using core::SealState;
using testing::AllOf;
using testing::HasSubstr;

std::string Plain() {
  return OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (float[2] y) { b = Constant <value = float[2] {1, 2}> () y = Add(x, b) })");
}

std::string Sealed(const std::string& model) {
  std::string bytes;
  core::SealWriter writer([&](const void* data, uint64_t size) { bytes.append(static_cast<const char*>(data), size); });
  writer.Write(model.data(), model.size() / 2);
  writer.Write(model.data() + model.size() / 2, model.size() - model.size() / 2);
  writer.Finish();
  return bytes;
}

void Require(const std::string& bytes) {
  core::ReadOptions options;
  options.accept_model = [](std::string_view seen, const std::map<std::string, std::string>& metadata) {
    core::RequireSeal(seen.data(), seen.size(), metadata, "model 'm'");
  };
  core::ReadModelMemory(bytes.data(), bytes.size(), nullptr, options);
}

TEST(Seal, IsOrdinaryMetadataForOtherTools) {
  const std::string sealed = Sealed(Plain());
  EXPECT_EQ(core::CheckSeal(sealed.data(), sealed.size()), SealState::kIntact);
  EXPECT_EQ(core::SizeWithoutSeal(sealed.data(), sealed.size()), Plain().size());
  const core::Model model = core::ReadModelMemory(sealed.data(), sealed.size(), nullptr, {});
  const auto seal = model.metadata.lower_bound(std::string(core::kSealKey));
  ASSERT_NE(seal, model.metadata.end());
  EXPECT_TRUE(core::IsSealKey(seal->first));
  EXPECT_EQ(seal->first.size(), core::kSealKey.size() + 1 + 32) << "its digest is in the key, which no other model has";
  EXPECT_EQ(model.graph->node_count(), 2u);
}

TEST(Seal, EveryFlippedBitIsSeenOrTakesTheSealAway) {
  const std::string whole = Sealed(Plain() + core::MetadataEntry(core::kContextVersionKey, core::kContextVersion));
  for (size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      EXPECT_NE(FailureOf([&] { Require(damaged); }), "OK") << at << '.' << bit;
    }
  }
}

TEST(Seal, AModelOfAnotherToolNeedsNone) {
  EXPECT_EQ(core::CheckSeal(Plain().data(), Plain().size()), SealState::kNone);
  EXPECT_EQ(FailureOf([&] { Require(Plain()); }), "OK");
  const std::string old = Plain() + core::MetadataEntry(core::kContextVersionKey, "1");
  EXPECT_EQ(FailureOf([&] { Require(old); }), "OK");
}

TEST(Seal, ModelMarkedAsSealedMustHaveASeal) {
  const std::string lost = Plain() + core::MetadataEntry(core::kContextVersionKey, core::kContextVersion);
  EXPECT_THAT(FailureOf([&] { Require(lost); }), AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("model 'm'"),
                                                       HasSubstr("no seal"), HasSubstr("ResealContext")));
  EXPECT_EQ(HintOf([&] { Require(lost); }), core::Hint::kReseal);
  const std::string elsewhere = Sealed(Plain()) + core::MetadataEntry("author", "somebody");
  EXPECT_THAT(FailureOf([&] { Require(elsewhere); }), HasSubstr("no seal at its end"));
}

TEST(Seal, OfVersion2IsStillRead) {
  const std::string plain = Plain() + core::MetadataEntry(core::kContextVersionKey, "2");
  const std::string sealed = plain + core::MetadataEntry(core::kSealKey, core::Xxh128(plain.data(), plain.size()));
  EXPECT_EQ(core::CheckSeal(sealed.data(), sealed.size()), SealState::kIntact);
  EXPECT_EQ(core::SizeWithoutSeal(sealed.data(), sealed.size()), plain.size());
  EXPECT_EQ(FailureOf([&] { Require(sealed); }), "OK");
  std::string changed = sealed;
  changed[changed.find("Add")] = 'B';
  EXPECT_EQ(core::CheckSeal(changed.data(), changed.size()), SealState::kBroken);
}

TEST(Seal, ShorterThanASealIsNoSeal) {
  for (const char* bytes : {"", "r", "r9"}) {
    EXPECT_EQ(core::CheckSeal(bytes, std::string_view(bytes).size()), SealState::kNone);
  }
}

TEST(Reseal, MakesADeliberateChangeGood) {
  TempDir dir;
  const auto path = dir.Write("m.onnx", Sealed(Plain()));
  std::string changed = ReadFile(path);
  const size_t name = changed.find("Add");
  ASSERT_NE(name, std::string::npos);
  changed.replace(name, 3, "Sub");
  dir.Write("m.onnx", changed);
  EXPECT_THAT(FailureOf([&] { Require(ReadFile(path)); }), HasSubstr("was changed"));
  core::Reseal(path);
  EXPECT_EQ(FailureOf([&] { Require(ReadFile(path)); }), "OK");
  EXPECT_EQ(ReadFile(path).size(), changed.size());
}

TEST(Reseal, FindsASealThatAnotherToolMoved) {
  TempDir dir;
  const auto path = dir.Write("m.onnx", Sealed(Plain()) + core::MetadataEntry("author", "somebody"));
  core::Reseal(path);
  const std::string bytes = ReadFile(path);
  EXPECT_EQ(core::CheckSeal(bytes.data(), bytes.size()), SealState::kIntact);
  const core::Model model = core::ReadModelMemory(bytes.data(), bytes.size(), nullptr, {});
  EXPECT_EQ(model.metadata.at("author"), "somebody");
}

TEST(Reseal, RefusesWhatIsNoModelAndLeavesItAlone) {
  TempDir dir;
  const auto path = dir.Write("m.onnx", "no model");
  EXPECT_THAT(FailureOf([&] { core::Reseal(path); }), HasSubstr("INVALID_PROTOBUF"));
  EXPECT_EQ(ReadFile(path), "no model");
}

}  // namespace
}  // namespace epiphyte::test
