#include <array>
#include <cstring>
#include <map>

#include "plan_generated.h"
#include "plugins/cpu/exec/context.h"
#include "plugins/cpu/exec/context_format.h"

namespace epiphyte::cpu {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

// The bulk data. Equal bytes are stored once, whoever uses them: plans of several sessions, packed or not.
class DataSection {
 public:
  // The index of the section that holds these bytes. They stay valid until Write.
  uint32_t Add(const void* data, uint64_t bytes) {
    const auto [known, is_new] = by_address_.try_emplace({data, bytes}, 0);
    if (!is_new) return known->second;
    const uint64_t digest = PaddedContextDigest(data, bytes);
    std::vector<uint32_t>& alike = by_digest_[{digest, bytes}];
    for (uint32_t index : alike)
      if (bytes == 0 || std::memcmp(pieces_[index], data, bytes) == 0) return known->second = index;
    known->second = static_cast<uint32_t>(pieces_.size());
    alike.push_back(known->second);
    pieces_.push_back(data);
    sections_.emplace_back(bytes, digest);
    size_ += AlignUp(bytes);
    return known->second;
  }
  uint64_t size() const { return size_; }
  const std::vector<fb::Section>& sections() const { return sections_; }
  void Write(const std::function<void(const void*, uint64_t)>& write) const {
    static constexpr std::array<char, kDataAlignment> kZeros{};
    for (size_t i = 0; i < pieces_.size(); ++i) {
      const uint64_t bytes = sections_[i].bytes();
      if (bytes != 0) write(pieces_[i], bytes);
      if (const uint64_t padding = AlignUp(bytes) - bytes; padding != 0) write(kZeros.data(), padding);
    }
  }

 private:
  std::vector<const void*> pieces_;
  std::vector<fb::Section> sections_;
  std::map<std::pair<const void*, uint64_t>, uint32_t> by_address_;
  std::map<std::pair<uint64_t, uint64_t>, std::vector<uint32_t>> by_digest_;
  uint64_t size_ = 0;
};

class Writer {
 public:
  Offset<fb::Plan> Plan(const cpu::Plan& plan) {
    const PlanDef& def = plan.def();
    std::vector<Offset<fb::Value>> values;
    for (const ValueInfo& value : def.values)
      values.push_back(fb::CreateValue(builder_, Text(value.name), value.type, value.kind, value.rank,
                                       builder_.CreateVector(value.dims)));
    std::vector<Offset<fb::Constant>> constants;
    for (const ConstantDef& constant : def.constants) {
      const bool dropped = constant.storage == ConstantDef::Storage::kDropped;
      constants.push_back(fb::CreateConstant(builder_, constant.value, dropped, Tensor(constant.tensor, !dropped)));
    }
    std::vector<Offset<fb::Node>> nodes;
    for (const NodeDef& node : def.nodes) {
      std::vector<Offset<fb::Attribute>> attributes;
      for (const AttributeValue& attribute : node.attributes) attributes.push_back(Attribute(attribute));
      nodes.push_back(fb::CreateNode(builder_, Text(node.op_type), Text(node.domain), Text(node.name),
                                     node.since_version, builder_.CreateVector(node.inputs),
                                     builder_.CreateVector(node.outputs), builder_.CreateVector(attributes)));
    }
    std::vector<Offset<fb::Packed>> packed;
    for (const PackedData& entry : plan.packed())
      packed.push_back(fb::CreatePacked(builder_, entry.node, Text(entry.key), Text(entry.format),
                                        data_.Add(entry.data, entry.bytes)));
    return fb::CreatePlan(builder_, Text(def.name), builder_.CreateVector(values), builder_.CreateVector(constants),
                          builder_.CreateVector(nodes), builder_.CreateVector(def.inputs),
                          builder_.CreateVector(def.outputs), builder_.CreateVector(packed));
  }

  void Finish(const ContextKey& key, const std::vector<Offset<fb::Plan>>& plans,
              const std::function<void(const void*, uint64_t)>& write) {
    fb::FinishContextBuffer(
        builder_,
        fb::CreateContext(builder_, Text(key.onednn), Text(key.isa), key.threads, Text(key.precision), Text(key.plugin),
                          builder_.CreateVectorOfStructs(data_.sections()), builder_.CreateVector(plans)));
    ContextFileHeader header;
    header.table_bytes = builder_.GetSize();
    header.data_offset = AlignUp(sizeof header + header.table_bytes);
    header.data_bytes = data_.size();
    header.table_digest = PaddedContextDigest(builder_.GetBufferPointer(), header.table_bytes);
    header.header_digest = ContextDigest(&header, kDigestedHeaderBytes);
    write(&header, sizeof header);
    write(builder_.GetBufferPointer(), header.table_bytes);
    static constexpr std::array<char, kDataAlignment> kZeros{};
    if (const uint64_t padding = header.data_offset - sizeof header - header.table_bytes; padding != 0)
      write(kZeros.data(), padding);
    data_.Write(write);
  }

 private:
  Offset<flatbuffers::String> Text(const std::string& text) { return builder_.CreateString(text); }

  struct TextList {
    Offset<flatbuffers::String> text;
    Offset<flatbuffers::Vector<uint64_t>> ends;
  };
  TextList Texts(const std::vector<std::string>& texts) {
    if (texts.empty()) return {};
    std::string all;
    std::vector<uint64_t> ends;
    for (const std::string& text : texts) {
      all += text;
      ends.push_back(all.size());
    }
    return {Text(all), builder_.CreateVector(ends)};
  }

  Offset<fb::Tensor> Tensor(const ir::Tensor& tensor, bool with_data) {
    const std::vector<int64_t> dims(tensor.dims.begin(), tensor.dims.end());
    const TextList strings = with_data && tensor.strings ? Texts(*tensor.strings) : TextList();
    const bool has_data = with_data && tensor.type != EP_TYPE_STRING;
    const uint32_t section = has_data ? data_.Add(tensor.data, tensor.Bytes()) : 0;
    return fb::CreateTensor(builder_, tensor.type, builder_.CreateVector(dims), has_data, section, strings.text,
                            strings.ends);
  }

  Offset<fb::Attribute> Attribute(const AttributeValue& attribute) {
    const TextList strings = Texts(attribute.strings);
    std::vector<Offset<fb::Tensor>> tensors;
    for (const ir::Tensor& tensor : attribute.tensors) tensors.push_back(Tensor(tensor, true));
    return fb::CreateAttribute(builder_, Text(attribute.name), attribute.type, builder_.CreateVector(attribute.floats),
                               builder_.CreateVector(attribute.ints), strings.text, strings.ends,
                               builder_.CreateVector(tensors));
  }

  FlatBufferBuilder builder_{1 << 16};
  DataSection data_;
};

}  // namespace

void WriteContext(const ContextKey& key, std::span<const Plan* const> plans,
                  const std::function<void(const void* data, uint64_t size)>& write) {
  Writer writer;
  std::vector<Offset<fb::Plan>> offsets;
  for (const Plan* plan : plans) offsets.push_back(writer.Plan(*plan));
  writer.Finish(key, offsets, write);
}

}  // namespace epiphyte::cpu
