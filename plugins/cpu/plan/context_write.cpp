#include <array>

#include "plan_generated.h"
#include "plugins/cpu/plan/context.h"
#include "plugins/cpu/plan/context_format.h"

namespace epiphyte::cpu {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

// Hands out places in the data section and remembers what goes there.
class DataSection {
 public:
  uint64_t Add(const void* data, uint64_t bytes) {
    const uint64_t offset = size_;
    pieces_.push_back({data, bytes});
    size_ += AlignUp(bytes);
    return offset;
  }
  uint64_t size() const { return size_; }
  void Write(const std::function<void(const void*, uint64_t)>& write) const {
    static constexpr std::array<char, kDataAlignment> kZeros{};
    for (const auto& [data, bytes] : pieces_) {
      if (bytes != 0) write(data, bytes);
      if (const uint64_t padding = AlignUp(bytes) - bytes; padding != 0) write(kZeros.data(), padding);
    }
  }

 private:
  std::vector<std::pair<const void*, uint64_t>> pieces_;
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
    for (const ConstantDef& constant : def.constants)
      constants.push_back(
          fb::CreateConstant(builder_, constant.value, constant.dropped, Tensor(constant.tensor, !constant.dropped)));
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
                                        data_.Add(entry.data, entry.bytes), entry.bytes));
    return fb::CreatePlan(builder_, Text(def.name), builder_.CreateVector(values), builder_.CreateVector(constants),
                          builder_.CreateVector(nodes), builder_.CreateVector(def.inputs),
                          builder_.CreateVector(def.outputs), builder_.CreateVector(packed));
  }

  void Finish(const ContextKey& key, const std::vector<Offset<fb::Plan>>& plans,
              const std::function<void(const void*, uint64_t)>& write) {
    fb::FinishContextBuffer(builder_, fb::CreateContext(builder_, Text(key.onednn), Text(key.isa), key.threads,
                                                        Text(key.precision), builder_.CreateVector(plans)));
    ContextFileHeader header;
    header.table_bytes = builder_.GetSize();
    header.data_offset = AlignUp(sizeof header + header.table_bytes);
    header.data_bytes = data_.size();
    write(&header, sizeof header);
    write(builder_.GetBufferPointer(), header.table_bytes);
    static constexpr std::array<char, kDataAlignment> kZeros{};
    if (const uint64_t padding = header.data_offset - sizeof header - header.table_bytes; padding != 0)
      write(kZeros.data(), padding);
    data_.Write(write);
  }

 private:
  Offset<flatbuffers::String> Text(const std::string& text) { return builder_.CreateString(text); }

  Offset<fb::Tensor> Tensor(const cpu::Tensor& tensor, bool with_data) {
    std::vector<int64_t> dims(tensor.dims.begin(), tensor.dims.end());
    std::vector<Offset<flatbuffers::String>> strings;
    if (with_data && tensor.strings)
      for (const std::string& text : *tensor.strings) strings.push_back(Text(text));
    const bool has_data = with_data && tensor.type != EP_TYPE_STRING;
    const uint64_t bytes = has_data ? tensor.Bytes() : 0;
    const uint64_t offset = has_data ? data_.Add(tensor.data, bytes) : 0;
    return fb::CreateTensor(builder_, tensor.type, builder_.CreateVector(dims), has_data, offset, bytes,
                            builder_.CreateVector(strings));
  }

  Offset<fb::Attribute> Attribute(const AttributeValue& attribute) {
    std::vector<Offset<flatbuffers::String>> strings;
    for (const std::string& text : attribute.strings) strings.push_back(Text(text));
    std::vector<Offset<fb::Tensor>> tensors;
    for (const cpu::Tensor& tensor : attribute.tensors) tensors.push_back(Tensor(tensor, true));
    return fb::CreateAttribute(builder_, Text(attribute.name), attribute.type, builder_.CreateVector(attribute.floats),
                               builder_.CreateVector(attribute.ints), builder_.CreateVector(strings),
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
