#include "epiphyte/kit/container/container.hpp"

#include <algorithm>
#include <cstring>

#include "epiphyte/kit/container/layout.hpp"
#include "epiphyte/kit/memory/digest.hpp"
#include "epiphyte/kit/memory/heap.hpp"

namespace epiphyte::kit {

using container::Aligned;
using container::Entry;
using container::Header;
using container::kAlignment;

ContextContainer::ContextContainer(std::span<const std::byte> blob, const ContainerFormat& format,
                                   ContainerDigests digests)
    : whose_(format.whose) {
  const auto number = [](uint64_t value) { return std::to_string(value); };
  Header header;
  char magic[sizeof(header.magic)] = {};
  std::memcpy(magic, format.magic.data(), std::min(format.magic.size(), sizeof(magic)));
  if (blob.size() < sizeof(header))
    Damaged(number(blob.size()) + " bytes found, at least " + number(sizeof(header)) + " expected");
  std::memcpy(&header, blob.data(), sizeof(header));
  if (std::memcmp(header.magic, magic, sizeof(magic)) != 0) Damaged("its first bytes are not those of its format");
  if (header.version != format.version)
    throw Error(EP_STATUS_INVALID_GRAPH, whose_ + " has format " + number(header.version) + ", format " +
                                             number(format.version) +
                                             " expected; compile the model again with this version");
  if (header.layout != container::kLayout)
    throw Error(EP_STATUS_INVALID_GRAPH, whose_ + " has layout " + number(header.layout) + ", layout " +
                                             number(container::kLayout) +
                                             " expected; compile the model again with this version");
  if (header.header_digest != Digest(blob.data(), container::kDigestedHeaderSize)) Damaged("its header was changed");
  if (header.size != blob.size()) Damaged(number(blob.size()) + " bytes found, " + number(header.size) + " expected");
  if (header.table_size > blob.size() || Aligned(header.table_size) > blob.size() - sizeof(header) ||
      header.section_count > header.table_size / sizeof(Entry))
    Damaged("the sizes in its header make no sense");

  if (reinterpret_cast<uintptr_t>(blob.data()) % kAlignment != 0) {
    owner_ = AllocateWeights(blob.size());
    std::memcpy(owner_.get(), blob.data(), blob.size());
    blob = {static_cast<const std::byte*>(owner_.get()), blob.size()};
  }
  const size_t data_begin = sizeof(header) + static_cast<size_t>(Aligned(header.table_size));
  const auto table_bytes = blob.subspan(sizeof(header), data_begin - sizeof(header));
  const std::vector<std::byte> copy(table_bytes.begin(), table_bytes.end());
  const std::span<const std::byte> table = std::span(copy).first(static_cast<size_t>(header.table_size));
  if (header.table_digest != Digest(copy.data(), copy.size())) Damaged("its table was changed");
  const size_t entries_size = header.section_count * sizeof(Entry);
  ReadSections(table.first(entries_size), blob.subspan(data_begin));
  ReadNames(table.subspan(entries_size), table_bytes.subspan(entries_size), header.name_count);

  constexpr uint64_t kSmall = 256 << 10;
  for (uint32_t i = 0; i < section_count(); ++i) {
    if (digests != ContainerDigests::kAll && sections_[i].size > kSmall) continue;
    CompareDigest(i);
    sections_[i].compared = true;
  }
}

void ContextContainer::ReadSections(std::span<const std::byte> entries, std::span<const std::byte> data) {
  sections_.reserve(entries.size() / sizeof(Entry));
  for (; !entries.empty(); entries = entries.subspan(sizeof(Entry))) {
    Entry entry;
    std::memcpy(&entry, entries.data(), sizeof(entry));
    if (entry.size > data.size() || Aligned(entry.size) > data.size())
      Damaged("section " + std::to_string(sections_.size()) + " has " + std::to_string(entry.size) +
              " bytes, but only " + std::to_string(data.size()) + " are left");
    sections_.push_back({data.data(), entry.size, entry.digest, /*compared=*/false});
    data = data.subspan(static_cast<size_t>(Aligned(entry.size)));
  }
  if (!data.empty()) Damaged(std::to_string(data.size()) + " bytes belong to no section");
}

// Numbers are read from `table`, a copy that can't change. Names are views of the same bytes in place, so that callers
// may keep them as long as the container's bytes.
void ContextContainer::ReadNames(std::span<const std::byte> table, std::span<const std::byte> in_place,
                                 uint32_t count) {
  const size_t whole = table.size();
  const auto number = [&] {
    uint32_t value = 0;
    if (table.size() < sizeof(value)) Damaged("its table ends too early");
    std::memcpy(&value, table.data(), sizeof(value));
    table = table.subspan(sizeof(value));
    return value;
  };
  const auto text = [&] {
    const uint32_t size = number();
    if (size > table.size()) Damaged("its table ends too early");
    const std::string_view found(reinterpret_cast<const char*>(in_place.data()) + (whole - table.size()), size);
    table = table.subspan(size);
    return found;
  };
  key_ = text();
  if (count > table.size() / (2 * sizeof(uint32_t))) Damaged("its table ends too early");
  names_.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t section = number();
    const std::string_view name = text();
    if (section >= sections_.size())
      Damaged("a name is of section " + std::to_string(section) + " of " + std::to_string(sections_.size()));
    if (!names_.empty() && names_.back().first >= name) Damaged("its names are out of order");
    names_.emplace_back(name, section);
  }
  if (!table.empty()) Damaged(std::to_string(table.size()) + " bytes of its table belong to nothing");
}

std::span<const std::byte> ContextContainer::section(uint32_t number) const {
  if (number >= sections_.size())
    Damaged("section " + std::to_string(number) + " of " + std::to_string(sections_.size()) + " is asked for");
  return {sections_[number].data, static_cast<size_t>(sections_[number].size)};
}

uint32_t ContextContainer::NumberOf(std::string_view name) const {
  const Name* const found = Lookup(name);
  if (found == nullptr) Damaged("it has no section '" + std::string(name) + "'");
  return found->second;
}

const ContextContainer::Name* ContextContainer::Lookup(std::string_view name) const {
  const auto found = std::lower_bound(names_.begin(), names_.end(), name,
                                      [](const Name& entry, std::string_view wanted) { return entry.first < wanted; });
  return found == names_.end() || found->first != name ? nullptr : &*found;
}

void ContextContainer::CompareDigests() const {
  for (uint32_t i = 0; i < section_count(); ++i) CompareDigest(i);
}

void ContextContainer::CompareDigest(uint32_t number) const {
  if (!sections_[number].compared) Compare(number, sections_[number].data);
}

void ContextContainer::Compare(uint32_t number, const void* data) const {
  const Section& section = sections_[number];
  if (Digest(data, Aligned(section.size)) != section.digest)
    Damaged("the " + std::to_string(section.size) + " bytes of section " + std::to_string(number) + " were changed");
}

OwnSection ContextContainer::Own(uint32_t number) const {
  const std::span<const std::byte> bytes = section(number);
  if (owner_ != nullptr) {
    CompareDigest(number);
    return {bytes, owner_};
  }
  const std::lock_guard lock(own_copies_->mutex);
  std::weak_ptr<void>& known = own_copies_->sections[number];
  std::shared_ptr<void> copy = known.lock();
  if (copy == nullptr) {
    const uint64_t size = Aligned(bytes.size());
    copy = AllocateWeights(size);
    std::memcpy(copy.get(), bytes.data(), static_cast<size_t>(size));
    Compare(number, copy.get());
    known = copy;
  }
  return {{static_cast<const std::byte*>(copy.get()), bytes.size()}, copy};
}

void ContextContainer::Damaged(std::string what) const {
  // Names in the message come from the file, so control characters are replaced.
  for (char& c : what)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  throw Error(EP_STATUS_INVALID_GRAPH, whose_ + " is damaged: " + what + "; compile the model again");
}

}  // namespace epiphyte::kit
