#include <cstring>
#include <limits>

#include "epiphyte/kit/container/container.hpp"
#include "epiphyte/kit/container/layout.hpp"
#include "epiphyte/kit/memory/digest.hpp"

namespace epiphyte::kit {

using container::Aligned;

namespace {

template <typename T>
void Append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void AppendText(std::string& bytes, std::string_view text) {
  if (text.size() > std::numeric_limits<uint32_t>::max())
    throw Error(EP_STATUS_INVALID_ARGUMENT,
                "a context's key or name has " + std::to_string(text.size()) + " bytes; less than 4 GiB expected");
  Append(bytes, static_cast<uint32_t>(text.size()));
  bytes += text;
}

}  // namespace

ContextContainerBuilder::ContextContainerBuilder(const ContainerFormat& format, std::string key)
    : version_(format.version), key_(std::move(key)) {
  if (format.magic.empty() || format.magic.size() > sizeof(magic_))
    throw Error(EP_STATUS_INVALID_ARGUMENT, "the magic of a context's format has " +
                                                std::to_string(format.magic.size()) + " bytes; 1 to 8 expected");
  std::memcpy(magic_, format.magic.data(), format.magic.size());
}

uint32_t ContextContainerBuilder::Add(const void* data, uint64_t size) {
  const auto [known, is_new] = by_address_.try_emplace({data, size}, 0);
  if (!is_new) return known->second;
  const uint64_t digest = Digest(data, size, container::Aligned(size) - size);
  std::vector<uint32_t>& alike = by_digest_[{digest, size}];
  for (const uint32_t number : alike) {
    if (size == 0 || std::memcmp(sections_[number].data, data, static_cast<size_t>(size)) == 0)
      return known->second = number;
  }
  known->second = static_cast<uint32_t>(sections_.size());
  alike.push_back(known->second);
  sections_.push_back({data, size, digest});
  return known->second;
}

uint32_t ContextContainerBuilder::Add(std::string name, const void* data, uint64_t size) {
  if (names_.find(name) != names_.end())
    throw Error(EP_STATUS_INVALID_ARGUMENT, "the context has two sections '" + name + "'; give each its own name");
  const uint32_t number = Add(data, size);
  names_.emplace(std::move(name), number);
  return number;
}

uint32_t ContextContainerBuilder::Add(std::string name, std::string bytes) {
  const std::string& kept = kept_.emplace_back(std::move(bytes));
  return Add(std::move(name), kept.data(), kept.size());
}

void ContextContainerBuilder::Write(const std::function<void(const void* data, uint64_t size)>& write) const {
  container::Header header;
  std::string table;
  for (const Section& section : sections_) Append(table, container::Entry{section.size, section.digest});
  AppendText(table, key_);
  for (const auto& [name, number] : names_) {
    Append(table, number);
    AppendText(table, name);
  }
  std::memcpy(header.magic, magic_, sizeof(magic_));
  header.version = version_;
  header.table_size = table.size();
  header.section_count = static_cast<uint32_t>(sections_.size());
  header.name_count = static_cast<uint32_t>(names_.size());
  table.resize(static_cast<size_t>(Aligned(table.size())), '\0');
  header.size = sizeof(header) + table.size();
  for (const Section& section : sections_) header.size += Aligned(section.size);
  header.table_digest = Digest(table.data(), table.size());
  header.header_digest = Digest(&header, container::kDigestedHeaderSize);

  write(&header, sizeof(header));
  write(table.data(), table.size());
  static constexpr char kZeros[container::kAlignment] = {};
  for (const Section& section : sections_) {
    if (section.size != 0) write(section.data, section.size);
    if (const uint64_t padding = Aligned(section.size) - section.size; padding != 0) write(kZeros, padding);
  }
}

}  // namespace epiphyte::kit
