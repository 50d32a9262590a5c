// Context container: the payload of a plugin that has no format of its own. Numbered sections, some with names, and a
// text that says what they were made for.
//
//   constexpr kit::ContainerFormat kFormat = {"MYEP", 3, "the myep context"};
//
//   kit::ContextContainerBuilder builder(kFormat, key.ToText());            // key.hpp
//   const uint32_t weights = builder.Add(weights.data(), size);             // equal bytes are stored once
//   builder.Add("part_0/program", program.data(), program.size());
//   kit::AddGraph(builder, graph);                                          // graph.hpp
//   builder.Write(writer);
//
//   kit::ContextContainer container(blob, kFormat);                         // INVALID_GRAPH for what does not fit
//   const kit::ContextVerdict verdict = key.Compare(container.key());
//   const kit::OwnSection program = container.Own(container.NumberOf("part_0/program"));
//   std::span<const std::byte> weights = container.Find("part_0/weights");  // where they lie: not copied
//
// Sections begin at multiples of 64 bytes. The same sections in the same order give the same bytes. Nothing that a file
// says is trusted: sizes, numbers and names are checked, digests cover every byte (layout.hpp). Those of the header and
// of small sections are always compared; those of large ones on demand, because the host compares the digest of the
// whole payload before the plugin sees it, unless the user waives that, and reading gigabytes takes its time.
//
// A payload is a mapped file, and another process may write to it at any time. What steers a plugin (programs, offsets,
// counts, indices) must not change between its check and its use: the container reads its table from a copy, and Own()
// gives sections as copies. Only weights belong where they lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "epiphyte/kit/abi/error.hpp"

namespace epiphyte::kit {

// Whose containers they are.
struct ContainerFormat {
  std::string_view magic;                  // 1 to 8 bytes with which each begins
  uint32_t version = 1;                    // to be raised when what the sections say changes its meaning
  std::string_view whose = "the context";  // in messages: "the myep context is damaged: …"
};

class ContextContainerBuilder {
 public:
  // Throws INVALID_ARGUMENT for a magic that is empty or longer than 8 bytes.
  explicit ContextContainerBuilder(const ContainerFormat& format, std::string key = "");

  // Adds a section, unless there is one of the same bytes, and gives its number. `data` stays valid and unchanged until
  // the last Write.
  uint32_t Add(const void* data, uint64_t size);
  // As above, and gives it a name. Throws INVALID_ARGUMENT for a name that was given before.
  uint32_t Add(std::string name, const void* data, uint64_t size);
  // As above; the builder keeps the bytes.
  uint32_t Add(std::string name, std::string bytes);

  // Gives out the bytes front to back.
  void Write(const std::function<void(const void* data, uint64_t size)>& write) const;
  // `writer` has Write(const void*, uint64_t).
  template <typename Writer>
  requires requires(Writer& writer, const void* data, uint64_t size) { writer.Write(data, size); }
  void Write(Writer& writer) const {
    Write([&writer](const void* data, uint64_t size) { writer.Write(data, size); });
  }

 private:
  struct Section {
    const void* data;
    uint64_t size;
    uint64_t digest;
  };
  char magic_[8] = {};
  uint32_t version_;
  std::string key_;
  std::vector<Section> sections_;
  std::map<std::string, uint32_t, std::less<>> names_;
  std::map<std::pair<const void*, uint64_t>, uint32_t> by_address_;
  std::map<std::pair<uint64_t, uint64_t>, std::vector<uint32_t>> by_digest_;
  std::deque<std::string> kept_;
};

// A section out of reach of what changes the file.
struct OwnSection {
  std::span<const std::byte> bytes;
  std::shared_ptr<void> owner;  // of the bytes
};

enum class ContainerDigests {
  kSmallSections,  // sections of up to 256 KiB
  kAll,
};

// A view of the bytes that it was made from, which must outlive it and the sections it gives. [any thread]
class ContextContainer {
 public:
  // Throws INVALID_GRAPH, with one line that says what is wrong and to compile again.
  ContextContainer(std::span<const std::byte> blob, const ContainerFormat& format,
                   ContainerDigests digests = ContainerDigests::kSmallSections);

  // What the builder was given.
  std::string_view key() const { return key_; }
  // ContainerFormat::whose.
  std::string_view whose() const { return whose_; }
  uint32_t section_count() const { return static_cast<uint32_t>(sections_.size()); }

  // Sections, at multiples of 64 bytes, where the container's bytes lie, and may change with them. Those that aren't
  // there are INVALID_GRAPH.
  std::span<const std::byte> section(uint32_t number) const;
  std::span<const std::byte> Find(std::string_view name) const { return section(NumberOf(name)); }
  uint32_t NumberOf(std::string_view name) const;
  bool Has(std::string_view name) const { return Lookup(name) != nullptr; }
  // Names and the sections' numbers, in ascending order of the names.
  using Name = std::pair<std::string_view, uint32_t>;
  const std::vector<Name>& names() const { return names_; }

  // The section in memory that nothing but this process writes to, compared with its digest there. There is one copy of
  // a section at a time. Throws INVALID_GRAPH.
  OwnSection Own(uint32_t number) const;

  // Compare the digest of a section, or of each, unless that was done when the container was opened. Throws
  // INVALID_GRAPH.
  void CompareDigest(uint32_t number) const;
  void CompareDigests() const;

  // Bytes that do not begin at a multiple of 64 were copied, and sections lie in the copy as long as somebody holds
  // this; null when they lie where they were.
  const std::shared_ptr<void>& owner() const { return owner_; }
  // Throws INVALID_GRAPH: "<whose> is damaged: <what>; compile the model again", in one line.
  [[noreturn]] void Damaged(std::string what) const;

 private:
  struct Section {
    const std::byte* data;
    uint64_t size;
    uint64_t digest;
    bool compared;
  };
  struct OwnCopies {
    std::mutex mutex;
    std::map<uint32_t, std::weak_ptr<void>> sections;
  };
  const Name* Lookup(std::string_view name) const;
  void ReadSections(std::span<const std::byte> entries, std::span<const std::byte> data);
  void Compare(uint32_t number, const void* data) const;
  void ReadNames(std::span<const std::byte> table, std::span<const std::byte> in_place, uint32_t count);

  std::string whose_;
  std::shared_ptr<void> owner_;
  std::shared_ptr<OwnCopies> own_copies_ = std::make_shared<OwnCopies>();
  std::string_view key_;
  std::vector<Section> sections_;
  std::vector<Name> names_;
};

}  // namespace epiphyte::kit
