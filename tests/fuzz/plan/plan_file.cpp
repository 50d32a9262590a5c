#include "tests/fuzz/plan/plan_file.h"

#include <cstring>

#include "plugins/cpu/exec/context_format.h"

namespace epiphyte::fuzz {

std::optional<PlanFile> OpenPlanFile(std::string_view bytes) {
  cpu::ContextFileHeader header;
  if (bytes.size() < sizeof header) return {};
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != cpu::kContextMagic || header.data_offset > bytes.size() || header.data_offset < sizeof header ||
      header.table_bytes > header.data_offset - sizeof header)
    return {};
  // Aligned, for the table's sake.
  const std::vector<uint64_t> table = [&] {
    std::vector<uint64_t> words((header.table_bytes + 7) / 8);
    std::memcpy(words.data(), bytes.data() + sizeof header, header.table_bytes);
    return words;
  }();
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(table.data()), header.table_bytes);
  if (!fb::VerifyContextBuffer(verifier)) return {};
  PlanFile file;
  fb::GetContext(table.data())->UnPackTo(&file.context);
  std::string_view data = bytes.substr(header.data_offset);
  for (const fb::Section& section : file.context.sections) {
    if (section.bytes() > data.size()) return {};
    file.sections.emplace_back(data.substr(0, section.bytes()));
    data.remove_prefix(std::min<size_t>(cpu::AlignUp(section.bytes()), data.size()));
  }
  return file;
}

std::string Seal(PlanFile file) {
  std::string data;
  file.context.sections.clear();
  for (std::string& section : file.sections) {
    const uint64_t bytes = section.size();
    section.resize(cpu::AlignUp(bytes));
    file.context.sections.emplace_back(bytes, cpu::ContextDigest(section.data(), section.size()));
    data += section;
  }
  flatbuffers::FlatBufferBuilder builder;
  fb::FinishContextBuffer(builder, fb::Context::Pack(builder, &file.context));
  cpu::ContextFileHeader header;
  header.table_bytes = builder.GetSize();
  header.data_offset = cpu::AlignUp(sizeof header + header.table_bytes);
  header.data_bytes = data.size();
  std::string table(reinterpret_cast<const char*>(builder.GetBufferPointer()), header.table_bytes);
  table.resize(header.data_offset - sizeof header);
  header.table_digest = cpu::ContextDigest(table.data(), table.size());
  header.header_digest = cpu::ContextDigest(&header, cpu::kDigestedHeaderBytes);
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + table + data;
}

}  // namespace epiphyte::fuzz
