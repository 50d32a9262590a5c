// Context container: a payload format for plugins that have none of their own. It has numbered sections, some with
// names, and a key: a text that says what the sections were made for.
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
//   std::span<const std::byte> weights = container.Find("part_0/weights");  // in place, without a copy
//
// Sections begin at multiples of 64 bytes. The same sections in the same order give the same bytes.
//
// The reader trusts nothing in a file. It checks sizes, numbers and names, and digests cover every byte (layout.hpp).
// The digests of the header and of small sections are always compared. Those of large sections are compared on demand:
// reading gigabytes takes time, and the host compares the digest of the whole payload before the plugin sees it, unless
// the user waives that.
//
// A payload is a mapped file, and another process may write to it at any time. Data that steers a plugin (programs,
// offsets, counts, indices) must not change between check and use. So the container copies its table, and Own() copies
// a section. Use only weights in place.
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

// The format of a plugin's containers.
struct ContainerFormat {
  std::string_view magic;                  // the 1 to 8 bytes that each container begins with
  uint32_t version = 1;                    // raise it when the meaning of the sections changes
  std::string_view whose = "the context";  // subject of messages: "the myep context is damaged: …"
};

class ContextContainerBuilder {
 public:
  // Throws INVALID_ARGUMENT for an empty magic and for one longer than 8 bytes.
  explicit ContextContainerBuilder(const ContainerFormat& format, std::string key = "");

  // Adds a section and returns its number. If a section with the same bytes exists, returns that one's number. `data`
  // must stay valid and unchanged until the last Write.
  uint32_t Add(const void* data, uint64_t size);
  // Does the same and gives the section a name. Throws INVALID_ARGUMENT for a name that was given before.
  uint32_t Add(std::string name, const void* data, uint64_t size);
  // Does the same with bytes that the builder keeps.
  uint32_t Add(std::string name, std::string bytes);

  // Passes the bytes of the container to `write`, front to back.
  void Write(const std::function<void(const void* data, uint64_t size)>& write) const;
  // `writer` has a member function Write(const void*, uint64_t).
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

// A copy of a section. Later changes of the file do not affect it.
struct OwnSection {
  std::span<const std::byte> bytes;
  std::shared_ptr<void> owner;  // keeps `bytes` alive
};

enum class ContainerDigests {
  kSmallSections,  // sections of up to 256 KiB
  kAll,
};

// A view of a container's bytes. The bytes must outlive the view and the sections that it returns. [any thread]
class ContextContainer {
 public:
  // Throws INVALID_GRAPH with one line that names the error and advises to compile again.
  ContextContainer(std::span<const std::byte> blob, const ContainerFormat& format,
                   ContainerDigests digests = ContainerDigests::kSmallSections);

  // The key that the builder was given.
  std::string_view key() const { return key_; }
  // A copy of ContainerFormat::whose.
  std::string_view whose() const { return whose_; }
  uint32_t section_count() const { return static_cast<uint32_t>(sections_.size()); }

  // Returns a section in place, at a multiple of 64 bytes. The bytes can change with the file. Throws INVALID_GRAPH for
  // a section that does not exist.
  std::span<const std::byte> section(uint32_t number) const;
  std::span<const std::byte> Find(std::string_view name) const { return section(NumberOf(name)); }
  uint32_t NumberOf(std::string_view name) const;
  bool Has(std::string_view name) const { return Lookup(name) != nullptr; }
  // Names with their sections' numbers, in ascending order of the names.
  using Name = std::pair<std::string_view, uint32_t>;
  const std::vector<Name>& names() const { return names_; }

  // Copies a section to memory that only this process writes to, and compares the digest of the copy. Copies are
  // shared: a section has at most one at a time. Throws INVALID_GRAPH.
  OwnSection Own(uint32_t number) const;

  // Compares the digest of a section, or of each, unless opening the container did so. Throws INVALID_GRAPH.
  void CompareDigest(uint32_t number) const;
  void CompareDigests() const;

  // Owner of a copy of the container's bytes, which is made when they do not begin at a multiple of 64. Sections lie in
  // the copy; hold the owner as long as you use them. Null when sections lie in the given bytes.
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
