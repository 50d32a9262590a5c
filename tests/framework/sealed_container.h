// Forged context containers with valid digests, whatever the bytes say.
//
//   std::string forged = bytes;
//   forged[80] = 1;
//   Open(test::Sealed(std::move(forged)));
//
// Programs that use this link Epiphyte::Kit.
#pragma once

#include <cstring>
#include <string>

#include "epiphyte/kit/container/layout.hpp"
#include "epiphyte/kit/memory/digest.hpp"

namespace epiphyte::test {

// Sets the digests of sections, table and header to match the bytes, as far as the sizes allow finding them.
inline std::string Sealed(std::string bytes) {
  namespace container = kit::container;
  container::Header header;
  if (bytes.size() < sizeof(header)) return bytes;
  std::memcpy(&header, bytes.data(), sizeof(header));
  const uint64_t table_room = bytes.size() - sizeof(header);
  if (header.table_size <= table_room && container::Aligned(header.table_size) <= table_room) {
    const size_t table_end = sizeof(header) + static_cast<size_t>(container::Aligned(header.table_size));
    size_t data = table_end;
    for (uint64_t i = 0; i < header.section_count && (i + 1) * sizeof(container::Entry) <= header.table_size; ++i) {
      char* const at = bytes.data() + sizeof(header) + i * sizeof(container::Entry);
      container::Entry entry;
      std::memcpy(&entry, at, sizeof(entry));
      if (entry.size > bytes.size() - data || container::Aligned(entry.size) > bytes.size() - data) break;
      entry.digest = kit::Digest(bytes.data() + data, container::Aligned(entry.size));
      std::memcpy(at, &entry, sizeof(entry));
      data += static_cast<size_t>(container::Aligned(entry.size));
    }
    header.table_digest = kit::Digest(bytes.data() + sizeof(header), table_end - sizeof(header));
  }
  header.header_digest = kit::Digest(&header, container::kDigestedHeaderSize);
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

}  // namespace epiphyte::test
