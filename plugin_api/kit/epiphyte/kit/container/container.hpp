// Context container: named, aligned sections in one payload, for providers that have no format of their own.
//
//   ContextContainerBuilder builder("MYEP", /*version=*/3);
//   builder.Add("partition_0/weights", weights.data(), weights.size());
//   builder.Write(writer);
//
//   ContextContainer container(blob, "MYEP", 3);              // throws INVALID_GRAPH on anything that does not fit
//   std::span<const std::byte> weights = container.Find("partition_0/weights");
//
// Layout, little endian: magic[8], version u32, section count u32, total size u64, then for each section offset u64,
// size u64, name length u32, name; sections start at multiples of 64. The reader checks every number before it uses it;
// the host has compared the payload's digest before.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "epiphyte/kit/abi/error.hpp"

namespace epiphyte::kit {

static_assert(std::endian::native == std::endian::little,
              "the container is written in native order, which must be little endian");

constexpr uint64_t kContainerAlignment = 64;

class ContextContainerBuilder {
 public:
  ContextContainerBuilder(std::string_view magic, uint32_t version) : version_(version) {
    std::memcpy(magic_, magic.data(), std::min(magic.size(), sizeof(magic_)));
  }

  // `data` must stay valid until Write.
  void Add(std::string name, const void* data, uint64_t size) { sections_.push_back({std::move(name), data, size}); }

  // `writer` has Write(const void*, uint64_t).
  template <typename Writer>
  void Write(Writer& writer) const {
    uint64_t header = sizeof(magic_) + 16;
    for (const Section& section : sections_) header += 20 + section.name.size();
    std::vector<uint64_t> offsets;
    uint64_t end = Align(header);
    for (const Section& section : sections_) {
      offsets.push_back(end);
      end = Align(end + section.size);
    }
    std::string table(magic_, sizeof(magic_));
    Append(table, version_);
    Append(table, static_cast<uint32_t>(sections_.size()));
    Append(table, end);
    for (size_t i = 0; i < sections_.size(); ++i) {
      Append(table, offsets[i]);
      Append(table, sections_[i].size);
      Append(table, static_cast<uint32_t>(sections_[i].name.size()));
      table += sections_[i].name;
    }
    table.resize(Align(table.size()), '\0');
    writer.Write(table.data(), table.size());
    const char zeros[kContainerAlignment] = {};
    for (const Section& section : sections_) {
      writer.Write(section.data, section.size);
      if (uint64_t padding = Align(section.size) - section.size; padding != 0) writer.Write(zeros, padding);
    }
  }

 private:
  struct Section {
    std::string name;
    const void* data;
    uint64_t size;
  };
  static uint64_t Align(uint64_t value) {
    return (value + kContainerAlignment - 1) / kContainerAlignment * kContainerAlignment;
  }
  template <typename T>
  static void Append(std::string& text, T value) {
    text.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }

  char magic_[8] = {};
  uint32_t version_;
  std::vector<Section> sections_;
};

class ContextContainer {
 public:
  ContextContainer(std::span<const std::byte> blob, std::string_view magic, uint32_t version) : blob_(blob) {
    char expected[8] = {};
    std::memcpy(expected, magic.data(), std::min(magic.size(), sizeof(expected)));
    if (blob.size() < 24 || std::memcmp(blob.data(), expected, sizeof(expected)) != 0) {
      Refuse("it does not begin with '" + std::string(magic) + "'");
    }
    uint64_t at = 8;
    uint32_t found_version = Read<uint32_t>(&at);
    uint32_t count = Read<uint32_t>(&at);
    uint64_t total = Read<uint64_t>(&at);
    if (found_version != version)
      Refuse("it has format version " + std::to_string(found_version) + ", expected " + std::to_string(version));
    if (total != blob.size())
      Refuse("it has " + std::to_string(blob.size()) + " bytes, expected " + std::to_string(total));
    for (uint32_t i = 0; i < count; ++i) {
      uint64_t offset = Read<uint64_t>(&at);
      uint64_t size = Read<uint64_t>(&at);
      uint32_t name_size = Read<uint32_t>(&at);
      if (name_size > blob.size() - at || offset > blob.size() || size > blob.size() - offset ||
          offset % kContainerAlignment != 0) {
        Refuse("its section table is damaged");
      }
      std::string name(reinterpret_cast<const char*>(blob.data() + at), name_size);
      at += name_size;
      if (!sections_.emplace(std::move(name), blob.subspan(static_cast<size_t>(offset), static_cast<size_t>(size)))
               .second) {
        Refuse("it has a section twice");
      }
    }
  }

  bool Has(std::string_view name) const { return sections_.find(name) != sections_.end(); }
  std::span<const std::byte> Find(std::string_view name) const {
    auto found = sections_.find(name);
    if (found == sections_.end()) Refuse("it has no section '" + std::string(name) + "'");
    return found->second;
  }
  size_t section_count() const { return sections_.size(); }

 private:
  template <typename T>
  T Read(uint64_t* at) const {
    if (blob_.size() - *at < sizeof(T)) Refuse("it ends inside its section table");
    T value;
    std::memcpy(&value, blob_.data() + *at, sizeof(T));
    *at += sizeof(T);
    return value;
  }
  [[noreturn]] static void Refuse(const std::string& why) {
    throw Error(EP_STATUS_INVALID_GRAPH, "the context's payload can't be used: " + why + "; compile the model again");
  }

  std::span<const std::byte> blob_;
  std::map<std::string, std::span<const std::byte>, std::less<>> sections_;
};

}  // namespace epiphyte::kit
