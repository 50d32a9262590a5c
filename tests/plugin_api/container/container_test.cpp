// Context containers: sections are read back unchanged and in place. Any bytes are either a valid container or refused.
#include "epiphyte/kit/container/container.hpp"

#include <gmock/gmock.h>

#include <random>

#include "tests/plugin_api/container/container_fixture.h"

namespace epiphyte::test {
namespace {

using kit::ContainerDigests;
using kit::ContextContainer;
using kit::ContextContainerBuilder;
using kit::container::Entry;
using kit::container::Header;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr size_t kTable = sizeof(Header);

// A container with a key, sections 0 to 3 (section 1 has no name), and the names "a", "big", "none" and "same" (equal
// to "a").
std::string SmallContainer() {
  static const std::string big(300 << 10, 'x');
  ContextContainerBuilder builder(kTestFormat, "chip=1");
  builder.Add("big", big.data(), big.size());
  builder.Add("numbered", 8);
  builder.Add("a", std::string("text of a"));
  builder.Add("same", std::string("text of a"));
  builder.Add("none", nullptr, 0);
  return BytesOf(builder);
}

std::string Opened(const std::string& bytes, ContainerDigests digests = ContainerDigests::kAll) {
  const Blob blob(bytes);
  return OutcomeOf([&] {
    const ContextContainer container(blob, kTestFormat, digests);
    size_t sum = 0;
    for (uint32_t i = 0; i < container.section_count(); ++i)
      for (const std::byte byte : container.section(i)) sum += std::to_integer<size_t>(byte);
    for (const auto& [name, number] : container.names()) sum += name.size() + number;
    sum += container.key().size();
    EXPECT_GT(sum, 0u);
  });
}

template <typename T>
std::string With(std::string bytes, size_t at, const T& value) {
  std::memcpy(bytes.data() + at, &value, sizeof(value));
  return bytes;
}
template <typename Change>
std::string WithHeader(std::string bytes, const Change& change) {
  Header header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  change(header);
  return Sealed(With(std::move(bytes), 0, header));
}
size_t TableSize(const std::string& bytes) {
  Header header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  return static_cast<size_t>(header.table_size);
}

TEST(ContextContainer, SectionsComeBackByNameAndByNumber) {
  const Blob blob(SmallContainer());
  const ContextContainer container(blob, kTestFormat, ContainerDigests::kAll);
  EXPECT_EQ(container.key(), "chip=1");
  EXPECT_EQ(container.section_count(), 4u);
  EXPECT_EQ(TextOf(container.Find("a")), "text of a");
  EXPECT_EQ(TextOf(container.section(1)), "numbered");
  EXPECT_EQ(container.Find("big").size(), size_t{300} << 10);
  EXPECT_TRUE(container.Find("none").empty());
  EXPECT_TRUE(container.Has("none"));
  EXPECT_FALSE(container.Has("nonesuch"));
  std::string names;
  for (const auto& [name, number] : container.names()) names += std::string(name) + std::to_string(number) + " ";
  EXPECT_EQ(names, "a2 big0 none3 same2 ");
}

TEST(ContextContainer, SectionsLieAtMultiplesOf64AndAreNotCopied) {
  const std::string bytes = SmallContainer();
  const Blob blob(bytes);
  const std::span<const std::byte> whole = blob;
  const ContextContainer container(blob, kTestFormat);
  EXPECT_EQ(container.owner(), nullptr);
  for (uint32_t i = 0; i < container.section_count(); ++i) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(container.section(i).data()) % 64, 0u);
    EXPECT_GE(container.section(i).data(), whole.data());
    EXPECT_LE(container.section(i).data() + container.section(i).size(), whole.data() + whole.size());
  }
}

// Another process may write to a mapped file between the check and the use of a number.
TEST(ContextContainer, StructuralDataIsCopiedOutOfTheMapping) {
  Blob blob(SmallContainer());
  const ContextContainer container(blob, kTestFormat);
  const uint32_t big = container.NumberOf("big");
  const kit::OwnSection own = container.Own(big);
  EXPECT_EQ(container.Own(big).bytes.data(), own.bytes.data()) << "one copy serves all";
  const kit::OwnSection small = container.Own(container.NumberOf("a"));
  const std::string before(TextOf(own.bytes));
  blob.Overwrite('\xEE');
  EXPECT_EQ(TextOf(small.bytes), "text of a");
  EXPECT_EQ(TextOf(own.bytes), before);
  EXPECT_NE(TextOf(container.section(big)), before) << "weights stay where they are";
}

TEST(ContextContainer, AnOwnSectionIsComparedWithItsDigest) {
  std::string bytes = SmallContainer();
  bytes[bytes.size() / 2] = 'y';  // in "big"
  const Blob blob(bytes);
  const ContextContainer container(blob, kTestFormat);
  EXPECT_THAT(OutcomeOf([&] { container.Own(0); }), HasSubstr("section 0 were changed"));
}

TEST(ContextContainer, BytesThatDoNotLieAtAMultipleOf64AreCopiedThere) {
  for (size_t shift : {1, 7, 8, 63}) {
    const Blob blob(SmallContainer(), shift);
    const ContextContainer container(blob, kTestFormat, ContainerDigests::kAll);
    EXPECT_NE(container.owner(), nullptr);
    EXPECT_EQ(TextOf(container.Find("a")), "text of a");
    EXPECT_EQ(reinterpret_cast<uintptr_t>(container.Find("a").data()) % 64, 0u);
    EXPECT_EQ(container.key(), "chip=1");
  }
}

TEST(ContextContainer, EqualBytesAreStoredOnce) {
  const std::string first(5000, 'w'), second(5000, 'w'), other(5000, 'v');
  ContextContainerBuilder builder(kTestFormat);
  EXPECT_EQ(builder.Add(first.data(), first.size()), 0u);
  EXPECT_EQ(builder.Add("named", second.data(), second.size()), 0u);
  EXPECT_EQ(builder.Add(other.data(), other.size()), 1u);
  EXPECT_EQ(builder.Add(other.data(), other.size()), 1u);
  EXPECT_EQ(builder.Add(first.data(), 4999), 2u) << "zeros behind a section are none of its bytes";
  EXPECT_EQ(builder.Add(nullptr, 0), builder.Add(first.data(), 0));
  EXPECT_LT(BytesOf(builder).size(), 16000u);
}

TEST(ContextContainer, ItMayBeEmpty) {
  const std::string bytes = BytesOf(ContextContainerBuilder(kTestFormat));
  const Blob blob(bytes);
  const ContextContainer container(blob, kTestFormat);
  EXPECT_EQ(container.section_count(), 0u);
  EXPECT_EQ(container.key(), "");
  EXPECT_TRUE(container.names().empty());
}

TEST(ContextContainer, TheSameSectionsGiveTheSameBytes) { EXPECT_EQ(SmallContainer(), SmallContainer()); }

TEST(ContextContainer, ABuilderWritesAsOftenAsItIsAsked) {
  ContextContainerBuilder builder(kTestFormat, "k");
  builder.Add("a", std::string("1"));
  const std::string once = BytesOf(builder);
  EXPECT_EQ(BytesOf(builder), once);
  builder.Add("b", std::string("2"));
  EXPECT_NE(BytesOf(builder), once);
}

TEST(ContextContainer, WritersNeedOnlyAWrite) {
  struct {
    std::string bytes;
    void Write(const void* data, uint64_t size) { bytes.append(static_cast<const char*>(data), size); }
  } writer;
  ContextContainerBuilder builder(kTestFormat);
  builder.Write(writer);
  EXPECT_EQ(writer.bytes, BytesOf(builder));
}

TEST(ContextContainer, MistakesOfThePluginAreReported) {
  ContextContainerBuilder builder(kTestFormat);
  builder.Add("weights", std::string("1"));
  EXPECT_THAT(OutcomeOf([&] { builder.Add("weights", std::string("2")); }), HasSubstr("two sections 'weights'"));
  EXPECT_THAT(OutcomeOf([] { ContextContainerBuilder none({"", 1}); }), HasSubstr("1 to 8 expected"));
  EXPECT_THAT(OutcomeOf([] { ContextContainerBuilder nine({"123456789", 1}); }), HasSubstr("has 9 bytes"));
  const Blob blob(SmallContainer());
  const ContextContainer container(blob, kTestFormat);
  EXPECT_EQ(OutcomeOf([&] { container.Find("b"); }),
            "INVALID_GRAPH: the test's context is damaged: it has no section 'b'; compile the model again");
  EXPECT_THAT(OutcomeOf([&] { container.section(4); }), HasSubstr("section 4 of 4 is asked for"));
}

TEST(ContextContainer, OtherFormatOrVersionIsRefusedWithBothNumbers) {
  const std::string bytes = SmallContainer();
  const Blob blob(bytes);
  const auto open = [&](kit::ContainerFormat format) { return OutcomeOf([&] { ContextContainer(blob, format); }); };
  EXPECT_EQ(open(kTestFormat), "OK");
  EXPECT_EQ(open({"\1TEST", 7}),
            "INVALID_GRAPH: the context is damaged: its first bytes are not those of its format; compile the model "
            "again");
  EXPECT_EQ(open({"\1TESTS", 8, "the test's context"}),
            "INVALID_GRAPH: the test's context has format 7, format 8 expected; compile the model again with this "
            "version");
  EXPECT_THAT(Opened(WithHeader(bytes, [](Header& header) { header.layout = 9; })),
              HasSubstr("has layout 9, layout 1 expected"));
}

TEST(ContextContainer, EveryTruncationIsRefused) {
  const std::string bytes = SmallContainer();
  for (size_t size = 0; size < bytes.size(); size += size < 1024 ? 1 : 997) {
    for (const std::string& changed : {bytes.substr(0, size), Sealed(bytes.substr(0, size))}) {
      ASSERT_THAT(Opened(changed), AllOf(StartsWith("INVALID_GRAPH"), EndsWith("compile the model again"))) << size;
    }
  }
  for (size_t more : {1, 63, 64}) {
    EXPECT_THAT(Opened(bytes + std::string(more, '\0')), HasSubstr("bytes found"));
    EXPECT_THAT(Opened(WithHeader(bytes + std::string(more, '\0'), [&](Header& header) { header.size += more; })),
                HasSubstr("belong to no section"));
  }
}

TEST(ContextContainer, EveryFlipIsSeen) {
  const std::string bytes = SmallContainer();
  for (size_t at = 0; at < bytes.size(); at += at < 1024 ? 1 : 499) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ (1 << at % 8));
    ASSERT_THAT(Opened(changed), AllOf(StartsWith("INVALID_GRAPH"), HasSubstr("compile the model again"))) << at;
  }
}

TEST(ContextContainer, LargeSectionsAreComparedOnDemand) {
  std::string bytes = SmallContainer();
  const std::string intact = bytes;
  bytes[bytes.size() / 2] = 'y';  // in "big"
  EXPECT_EQ(Opened(bytes, ContainerDigests::kSmallSections), "OK");
  EXPECT_THAT(Opened(bytes, ContainerDigests::kAll), HasSubstr("the 307200 bytes of section 0 were changed"));
  const Blob blob(bytes);
  const ContextContainer container(blob, kTestFormat);
  EXPECT_THAT(OutcomeOf([&] { container.CompareDigests(); }), HasSubstr("section 0 were changed"));
  EXPECT_THAT(OutcomeOf([&] { container.CompareDigest(0); }), HasSubstr("section 0 were changed"));
  EXPECT_EQ(OutcomeOf([&] { container.CompareDigest(1); }), "OK");
  const Blob good(intact);
  EXPECT_EQ(OutcomeOf([&] { ContextContainer(good, kTestFormat).CompareDigests(); }), "OK");
}

// Digests detect damage, not forgery. With matching digests, every number must be checked on its own.
TEST(ContextContainer, NumbersThatMakeNoSenseAreRefused) {
  const std::string bytes = SmallContainer();
  for (uint64_t size : {uint64_t{0}, uint64_t{63}, uint64_t{1} << 32, uint64_t{1} << 63, UINT64_MAX, UINT64_MAX - 63}) {
    EXPECT_THAT(Opened(WithHeader(bytes, [&](Header& header) { header.size = size; })), HasSubstr("bytes found"));
    EXPECT_THAT(Opened(WithHeader(bytes, [&](Header& header) { header.table_size = size; })),
                StartsWith("INVALID_GRAPH"));
    if (size == 0 || size == 63) continue;
    for (size_t section : {0, 1, 3})
      EXPECT_THAT(Opened(Sealed(With(bytes, kTable + section * sizeof(Entry), size))), HasSubstr("are left"));
  }
  for (uint32_t count : {0u, 3u, 5u, 1000u, UINT32_MAX}) {
    EXPECT_THAT(Opened(WithHeader(bytes, [&](Header& header) { header.section_count = count; })),
                StartsWith("INVALID_GRAPH"));
    EXPECT_THAT(Opened(WithHeader(bytes, [&](Header& header) { header.name_count = count; })),
                StartsWith("INVALID_GRAPH"));
  }
  const size_t key = kTable + 4 * sizeof(Entry);
  const size_t name = key + 4 + 6;  // entry of "a": section, length, text
  ASSERT_EQ(bytes.substr(key + 4, 6), "chip=1");
  ASSERT_EQ(bytes[name + 8], 'a');
  for (uint32_t size : {7u, 1000u, UINT32_MAX}) {
    EXPECT_THAT(Opened(Sealed(With(bytes, key, size))), StartsWith("INVALID_GRAPH"));
    EXPECT_THAT(Opened(Sealed(With(bytes, name + 4, size))), StartsWith("INVALID_GRAPH"));
    EXPECT_THAT(Opened(Sealed(With(bytes, name, size))), HasSubstr("of 4"));
  }
  EXPECT_THAT(Opened(Sealed(With(bytes, name + 8, 'z'))), HasSubstr("out of order"));
  EXPECT_THAT(Opened(WithHeader(bytes, [](Header& header) { --header.name_count; })), HasSubstr("belong to nothing"));
}

TEST(ContextContainer, ANameTwiceIsRefused) {
  ContextContainerBuilder builder(kTestFormat);
  builder.Add("a", std::string("1"));
  builder.Add("b", std::string("2"));
  std::string bytes = BytesOf(builder);
  const size_t b = bytes.find('b', kTable + 2 * sizeof(Entry));
  EXPECT_THAT(Opened(Sealed(With(bytes, b, 'a'))), HasSubstr("out of order"));
}

TEST(ContextContainer, FlipsWithFittingDigestsAreContainersOrRefused) {
  const std::string bytes = SmallContainer();
  const size_t end = kTable + TableSize(bytes);
  int refused = 0;
  for (size_t at = 0; at < end; ++at) {
    for (int flip : {0x01, 0x02, 0x10, 0x80, 0xFF}) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      const std::string outcome = Opened(Sealed(std::move(changed)));
      refused += outcome == "OK" ? 0 : 1;
      ASSERT_EQ(outcome.find('\n'), std::string::npos);
    }
  }
  EXPECT_GT(refused, 300);
}

}  // namespace
}  // namespace epiphyte::test
