// The contents of a blob are read back unchanged. For any other bytes the reader describes the error.
#include "plugins/npu/simulator/blob/blob.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "nsdk.h"
#include "plugins/npu/simulator/blob/digest.h"
#include "plugins/npu/simulator/blob/format.h"
#include "plugins/npu/simulator/blob/little_endian.h"
#include "plugins/npu/simulator/isa/encoding.h"
#include "tests/npu/simulator/blob/forge.h"

namespace epiphyte::npusim {
namespace {

using Bytes = std::vector<std::byte>;
using testing::HasSubstr;

Bytes Text(std::string_view text) {
  Bytes bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

TEST(Digest, IsXxh64AsPublished) {
  // Expected values are from the reference implementation's README, and from its own test of bytes.
  EXPECT_EQ(Digest({}), 0xEF46DB3751D8E999u);
  EXPECT_EQ(Digest(Text("a")), 0xD24EC4F1A98C6E5Bu);
  EXPECT_EQ(Digest(Text("abc")), 0x44BC2CF5AD770999u);
  EXPECT_EQ(Digest(Text("The quick brown fox jumps over the lazy dog")), 0x0B242D361FDA71BCu);
}

TEST(Digest, DependsOnEveryByteAndTheSeed) {
  Bytes bytes(101, std::byte{7});
  const uint64_t before = Digest(bytes);
  for (std::byte& b : bytes) {
    b ^= std::byte{1};
    EXPECT_NE(Digest(bytes), before);
    b ^= std::byte{1};
  }
  EXPECT_NE(Digest(bytes, 1), before);
}

std::shared_ptr<const Bytes> Piece(size_t size, int value) {
  return std::make_shared<const Bytes>(size, static_cast<std::byte>(value));
}

// A program that loads 32 bytes of weights and its input, and stores the input.
CompiledGraph SmallGraph(const std::string& name, int weights) {
  CompiledGraph graph;
  graph.name = name;
  graph.inputs = {{"x", NSDK_INT8, {4, 8}, 0.5f, -3, 32}};
  graph.outputs = {{"y", NSDK_INT8, {4, 8}, 0.25f, 1, 32}};
  graph.op_names = {"first", "second"};
  graph.weights = {{0, Piece(100, 1)}, {128, Piece(32, weights)}};
  graph.scratch_size = 4096;
  graph.scratchpad_peak = 256;
  LoadCommand load;
  load.region = kWeights;
  load.external_offset = 128;
  load.run = 32;
  graph.program.push_back({.queue = kLoad, .work = load, .op = 0});
  load.region = kInputs;
  load.external_offset = 0;
  load.scratchpad_offset = 64;
  graph.program.push_back({.queue = kLoad, .work = load, .op = 1});
  StoreCommand store;
  store.region = kOutputs;
  store.scratchpad_offset = 64;
  store.run = 32;
  graph.program.push_back({.queue = kStore, .work = store, .wait = {2, 0, 0}, .op = 1});
  return graph;
}

Bytes SmallBlob() {
  const CompiledGraph graph = SmallGraph("net", 5);
  return WriteBlob({}, std::array{&graph}, "1.2.3");
}

BlobError::Kind KindOf(const Bytes& bytes) {
  try {
    ReadBlob(bytes);
  } catch (const BlobError& e) {
    return e.kind;
  }
  ADD_FAILURE() << "the blob was read";
  return BlobError::kCorrupt;
}

Bytes WithSection(Bytes blob, size_t section, const std::function<void(std::byte* bytes, size_t size)>& change) {
  Forge(blob, section, [&](std::span<std::byte> bytes) { change(bytes.data(), bytes.size()); });
  return blob;
}

void ExpectCorrupt(const Bytes& blob, const std::string& why) {
  try {
    ReadBlob(blob);
    ADD_FAILURE() << "the blob was read, expected: " << why;
  } catch (const BlobError& e) {
    EXPECT_EQ(e.kind, BlobError::kCorrupt);
    EXPECT_THAT(e.what(), HasSubstr(why));
  }
}

TEST(Blob, IsReadAsItWasWritten) {
  const Bytes bytes = SmallBlob();
  const Blob blob = ReadBlob(bytes);
  EXPECT_EQ(blob.version, kBlobVersion);
  EXPECT_EQ(blob.compiler_revision, kCompilerRevision);
  EXPECT_EQ(blob.sdk_version, "1.2.3");
  EXPECT_EQ(blob.architecture, Architecture({}));
  EXPECT_EQ(blob.config, Config{});
  EXPECT_EQ(blob.size, bytes.size());
  ASSERT_EQ(blob.graphs.size(), 1u);
  const BlobGraph& graph = blob.graphs[0];
  EXPECT_EQ(graph.name, "net");
  EXPECT_EQ(graph.inputs[0].name, "x");
  EXPECT_EQ(graph.inputs[0].dims, (std::vector<int64_t>{4, 8}));
  EXPECT_EQ(graph.inputs[0].scale, 0.5f);
  EXPECT_EQ(graph.inputs[0].zero_point, -3);
  EXPECT_EQ(graph.outputs[0].size, 32u);
  EXPECT_EQ(graph.op_names, (std::vector<std::string>{"first", "second"}));
  EXPECT_EQ(graph.scratch_size, 4096u);
  EXPECT_EQ(graph.weights_size, 132u);
  ASSERT_EQ(graph.program.size(), 3u);
  EXPECT_EQ(graph.program[2].wait[kLoad], 2u);
  // The weights are read in place, at an address that is a multiple of 64 bytes.
  EXPECT_GE(blob.weights.data(), bytes.data());
  EXPECT_LE(blob.weights.data() + blob.weights.size(), bytes.data() + bytes.size());
  EXPECT_EQ((blob.weights.data() - bytes.data()) % 64, 0);
  EXPECT_EQ(blob.weights[std::get<LoadCommand>(graph.program[0].work).external_offset], std::byte{5});
}

TEST(Blob, BytesBehindItAreNoPartOfIt) {
  Bytes bytes = SmallBlob();
  const size_t size = bytes.size();
  bytes.resize(size + 1000, std::byte{9});
  EXPECT_EQ(ReadBlob(bytes).size, size);
}

TEST(Blob, HasEqualWeightsOfSeveralGraphsOnce) {
  const CompiledGraph a = SmallGraph("a", 5), b = SmallGraph("b", 5), c = SmallGraph("c", 6);
  const Bytes one = WriteBlob({}, std::array{&a}, ""), two = WriteBlob({}, std::array{&a, &b}, ""),
              three = WriteBlob({}, std::array{&a, &b, &c}, "");
  EXPECT_EQ(ReadBlob(two).weights.size(), ReadBlob(one).weights.size());
  const Blob blob = ReadBlob(three);
  EXPECT_EQ(blob.weights.size(), 128u + 64u + 32u);
  for (size_t i = 0; i < 3; ++i) {
    const auto& load = std::get<LoadCommand>(blob.graphs[i].program[0].work);
    EXPECT_EQ(blob.weights[load.external_offset], static_cast<std::byte>(i == 2 ? 6 : 5)) << i;
  }
}

TEST(Blob, GraphsOfOneNameAreRefused) {
  const CompiledGraph a = SmallGraph("a", 5);
  EXPECT_THROW(WriteBlob({}, std::array{&a, &a}, ""), std::invalid_argument);
}

TEST(Blob, EveryChangedByteIsFound) {
  const Bytes bytes = SmallBlob();
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const uint8_t bits : {0x01, 0x80, 0xff}) {
      Bytes damaged = bytes;
      damaged[i] ^= static_cast<std::byte>(bits);
      EXPECT_THROW(ReadBlob(damaged), BlobError) << "byte " << i;
    }
  }
}

size_t OffsetOf(const Bytes& blob, size_t section) {
  return LittleEndian<uint64_t>(blob.data() + kHeadSize + section * kSectionEntrySize + 8);
}

TEST(Blob, ItsDescriptionIsWhatItSaysAndNoPrograms) {
  const Bytes bytes = SmallBlob();
  const Blob whole = ReadBlob(bytes), said = ReadDescription(bytes);
  EXPECT_EQ(said.architecture, whole.architecture);
  EXPECT_EQ(said.sdk_version, whole.sdk_version);
  EXPECT_EQ(said.size, whole.size);
  EXPECT_EQ(said.weights.data(), whole.weights.data());
  EXPECT_EQ(said.weights.size(), whole.weights.size());
  ASSERT_EQ(said.graphs.size(), 1u);
  EXPECT_EQ(said.graphs[0].name, "net");
  EXPECT_EQ(said.graphs[0].inputs[0].dims, whole.graphs[0].inputs[0].dims);
  EXPECT_EQ(said.graphs[0].outputs[0].size, 32u);
  EXPECT_EQ(said.graphs[0].scratch_size, 4096u);
  EXPECT_EQ(said.graphs[0].weights_size, 132u);
  EXPECT_TRUE(said.graphs[0].program.empty());
}

// Sections of the blob: 0 the device, 1 the weights, 2 the graph, 3 its program.
TEST(Blob, ItsDescriptionFindsDamageOnlyInWhatItSays) {
  const Bytes bytes = SmallBlob();
  for (size_t i = 0; i < bytes.size(); ++i) {
    Bytes damaged = bytes;
    damaged[i] ^= std::byte{0x10};
    const bool weights = i >= OffsetOf(bytes, 1) && i < OffsetOf(bytes, 1) + 160;
    const bool program = i >= OffsetOf(bytes, 3);
    if (weights || program) {
      EXPECT_NO_THROW(ReadDescription(damaged)) << "byte " << i;
    } else {
      EXPECT_THROW(ReadDescription(damaged), BlobError) << "byte " << i;
    }
  }
  for (size_t size = 0; size < bytes.size(); ++size) {
    const Bytes cut(bytes.begin(), bytes.begin() + static_cast<int64_t>(size));
    EXPECT_THROW(ReadDescription(cut), BlobError) << size;
  }
}

TEST(Blob, EveryShorterOneIsFound) {
  const Bytes bytes = SmallBlob();
  for (size_t size = 0; size < bytes.size(); ++size) {
    // The copy is a heap block of its own, so that a sanitizer finds a read beyond its end.
    const Bytes cut(bytes.begin(), bytes.begin() + static_cast<int64_t>(size));
    EXPECT_EQ(KindOf(cut), BlobError::kCorrupt) << size;
  }
}

TEST(Blob, OfAnotherVersionOrByteOrderIsIncompatible) {
  Bytes version = SmallBlob();
  version[kVersionAt] = std::byte{2};
  EXPECT_EQ(KindOf(version), BlobError::kIncompatible);
  Bytes order = SmallBlob();
  std::reverse(order.begin() + kEndianAt, order.begin() + kEndianAt + 4);
  EXPECT_EQ(KindOf(order), BlobError::kIncompatible);
  EXPECT_EQ(KindOf(Text("not a blob at all, but a text that is longer than a head")), BlobError::kCorrupt);
}

// Sections are checked even if their digests match.
TEST(Blob, WrongSizesAreFound) {
  const Bytes bytes = SmallBlob();
  // The graph's section begins with the size of its name.
  ExpectCorrupt(WithSection(bytes, 2, [](std::byte* b, size_t) { b[0] = b[1] = b[2] = b[3] = std::byte{0xff}; }),
                "ends within a field");
  // Sizes of weights, scratch and peak follow the name ("net").
  ExpectCorrupt(WithSection(bytes, 2, [](std::byte* b, size_t) { b[7 + 7] = std::byte{1}; }), "more weights");
  ExpectCorrupt(WithSection(bytes, 2, [](std::byte* b, size_t) { b[15 + 7] = std::byte{1}; }), "scratch");
  ExpectCorrupt(WithSection(bytes, 2, [](std::byte* b, size_t) { b[23 + 3] = std::byte{1}; }), "scratchpad");
  // The number of inputs follows.
  ExpectCorrupt(WithSection(bytes, 2, [](std::byte* b, size_t) { b[27 + 2] = std::byte{1}; }), "entries follow");
}

TEST(Blob, EveryChangedFieldOfASectionIsReadOrRefused) {
  const Bytes bytes = SmallBlob();
  for (const size_t section : {0, 2, 3}) {
    const std::byte* entry = bytes.data() + kHeadSize + section * kSectionEntrySize;
    const auto size = LittleEndian<uint64_t>(entry + 16);
    for (size_t i = 0; i < size; ++i) {
      for (const uint8_t value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
        const Bytes changed =
            WithSection(bytes, section, [&](std::byte* b, size_t) { b[i] = static_cast<std::byte>(value); });
        try {
          const Blob blob = ReadBlob(changed);
          // A blob that is read has a verified program, so it can run.
          ASSERT_EQ(blob.graphs.size(), 1u);
        } catch (const BlobError&) {
        }
      }
    }
  }
}

TEST(Blob, ACommandThatReachesOutsideIsFound) {
  CompiledGraph graph = SmallGraph("net", 5);
  std::get<StoreCommand>(graph.program[2].work).run = 33;
  ExpectCorrupt(WriteBlob({}, std::array{&graph}, ""), "beyond a region");
  graph = SmallGraph("net", 5);
  std::get<LoadCommand>(graph.program[1].work).scratchpad_offset = Config{}.scratchpad_bytes - 31;
  ExpectCorrupt(WriteBlob({}, std::array{&graph}, ""), "beyond the scratchpad");
  graph = SmallGraph("net", 5);
  graph.program[2].op = 2;
  ExpectCorrupt(WriteBlob({}, std::array{&graph}, ""), "an operator that there isn't");
  graph = SmallGraph("net", 5);
  graph.program[1].wait[kStore] = 1;
  ExpectCorrupt(WriteBlob({}, std::array{&graph}, ""), "token");
}

TEST(Fit, SaysWhatIsDifferent) {
  const Bytes bytes = SmallBlob();
  Blob blob = ReadBlob(bytes);
  std::string why;
  EXPECT_EQ(FitOf(blob, {}, &why), Fit::kOptimal);
  Config other;
  other.dma_millibytes_per_cycle = 4'000;
  EXPECT_EQ(FitOf(blob, other, &why), Fit::kPreferRecompile);
  EXPECT_THAT(why, HasSubstr("port"));
  other = {};
  other.rows = 8;
  EXPECT_EQ(FitOf(blob, other, &why), Fit::kMustRecompile);
  EXPECT_THAT(why, HasSubstr("npusim-8x16-256k-64k"));
  blob.compiler_revision = kCompilerRevision + 1;
  EXPECT_EQ(FitOf(blob, {}, &why), Fit::kPreferRecompile);
  EXPECT_THAT(why, HasSubstr("revision"));
}

}  // namespace
}  // namespace epiphyte::npusim
