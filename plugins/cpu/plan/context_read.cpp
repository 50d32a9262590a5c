#include <bit>
#include <cstring>

#include "plan_generated.h"
#include "plugins/cpu/plan/context.h"
#include "plugins/cpu/plan/context_format.h"

namespace epiphyte::cpu {
namespace {

template <typename... Args>
[[noreturn]] void Damaged(fmt::format_string<Args...> format, Args&&... args) {
  throw OpError(
      EP_STATUS_INVALID_GRAPH,
      "the cpu context is damaged: " + fmt::format(format, std::forward<Args>(args)...) + "; compile the model again");
}

// Entries of an optional FlatBuffers vector.
template <typename T>
uint32_t Count(const flatbuffers::Vector<T>* list) {
  return list == nullptr ? 0 : list->size();
}
// As bytes: the verifier does not promise that the elements of a hostile vector are aligned.
template <typename T>
void CopyNumbers(const flatbuffers::Vector<T>* list, std::vector<T>& to) {
  static_assert(std::endian::native == std::endian::little);
  to.resize(Count(list));
  if (!to.empty()) std::memcpy(to.data(), list->Data(), to.size() * sizeof(T));
}

struct File {
  ContextFileHeader header;
  const uint8_t* table = nullptr;
  const char* data = nullptr;
  std::shared_ptr<void> data_owner;  // set when the mapped data was not aligned and had to be copied
};

File OpenFile(const void* bytes, uint64_t size) {
  File file;
  if (bytes == nullptr || size < sizeof file.header)
    Damaged("{} bytes found, at least {} expected", size, sizeof file.header);
  std::memcpy(&file.header, bytes, sizeof file.header);
  const ContextFileHeader& header = file.header;
  if (header.magic != kContextMagic) Damaged("its first bytes are not those of a cpu context");
  if (header.format != kContextFormat)
    throw OpError(EP_STATUS_INVALID_GRAPH, fmt::format("the cpu context has format {}, format {} expected; compile the "
                                                       "model again with this version",
                                                       header.format, kContextFormat));
  if (header.table_bytes > size - sizeof header || header.data_offset > size ||
      header.data_offset < sizeof header + header.table_bytes || header.data_offset % kDataAlignment != 0 ||
      header.data_bytes > size - header.data_offset)
    Damaged("its sections don't fit into {} bytes", size);
  file.table = static_cast<const uint8_t*>(bytes) + sizeof header;
  file.data = static_cast<const char*>(bytes) + header.data_offset;
  return file;
}

const fb::Context* VerifyTable(const File& file) {
  // A graph's table is flat; the limits only keep a hostile one from taking long.
  flatbuffers::Verifier verifier(file.table, file.header.table_bytes, 16, 500'000'000);
  if (!fb::VerifyContextBuffer(verifier)) Damaged("its table does not verify");
  return fb::GetContext(file.table);
}

class PlanReader {
 public:
  PlanReader(const File& file, const fb::Plan& plan) : file_(file), fb_(plan) {}

  LoadedPlan Read() {
    def_.name = fb_.name()->str();
    ReadValues();
    state_.assign(def_.values.size(), false);
    CopyNumbers(fb_.inputs(), def_.inputs);
    CopyNumbers(fb_.outputs(), def_.outputs);
    for (int32_t input : def_.inputs) Define(input);
    ReadConstants();
    ReadNodes();
    for (int32_t output : def_.outputs)
      if (!IsDefined(output)) Damaged("plan '{}' gives out value {}, which nothing makes", def_.name, output);
    ReadPacked();
    return std::move(result_);
  }

 private:
  void ReadValues() {
    for (uint32_t i = 0; i < Count(fb_.values()); ++i) {
      const fb::Value& from = *fb_.values()->Get(i);
      ValueInfo value;
      value.name = from.name()->str();
      value.type = from.type();
      value.kind = from.kind();
      value.rank = from.rank();
      CopyNumbers(from.dims(), value.dims);
      const size_t rank = value.rank < 0 ? 0 : static_cast<size_t>(value.rank);
      if (value.type < 0 || value.type >= 64 || value.rank < -1 || value.dims.size() != rank)
        Damaged("the type of value '{}' makes no sense", value.name);
      for (int64_t dim : value.dims)
        if (dim < -1) Damaged("value '{}' has a dimension of {}", value.name, dim);
      def_.AddValue(std::move(value));
    }
  }

  const char* Bytes(uint64_t offset, uint64_t bytes) const {
    if (offset % kDataAlignment != 0 || offset > file_.header.data_bytes || bytes > file_.header.data_bytes - offset)
      Damaged("data at {} of {} bytes lies outside of its section", offset, bytes);
    return file_.data + offset;
  }

  Tensor ReadTensor(const fb::Tensor& from, bool expect_data) {
    Tensor tensor;
    tensor.type = from.type();
    uint64_t count = 1;
    std::vector<int64_t> dims;
    CopyNumbers(from.dims(), dims);
    for (int64_t dim : dims) {
      if (dim < 0 || __builtin_mul_overflow(count, static_cast<uint64_t>(dim), &count) || count > (uint64_t{1} << 44))
        Damaged("a tensor has a dimension of {}", dim);
      tensor.dims.push_back(dim);
    }
    if (!expect_data) return tensor;
    if (tensor.type == EP_TYPE_STRING) {
      if (Count(from.strings()) != count) Damaged("{} strings found, {} expected", Count(from.strings()), count);
      tensor.strings = std::make_shared<std::vector<std::string>>();
      for (uint32_t i = 0; i < Count(from.strings()); ++i) tensor.strings->push_back(from.strings()->Get(i)->str());
    } else {
      const uint64_t bytes = ElementBytes(tensor.type, count);
      if (!from.has_data() || from.bytes() != bytes || (bytes == 0 && count != 0))
        Damaged("a tensor has {} bytes; {} expected", from.bytes(), bytes);
      tensor.data = const_cast<char*>(Bytes(from.offset(), bytes));
    }
    return tensor;
  }

  void ReadConstants() {
    for (uint32_t i = 0; i < Count(fb_.constants()); ++i) {
      const fb::Constant& from = *fb_.constants()->Get(i);
      ConstantDef constant;
      constant.value = from.value();
      constant.dropped = from.dropped();
      constant.tensor = ReadTensor(*from.tensor(), !from.dropped());
      constant.owner = file_.data_owner;
      Define(constant.value);
      const ValueInfo& value = def_.values[constant.value];
      if (value.type != constant.tensor.type || value.rank != static_cast<int32_t>(constant.tensor.rank()) ||
          !std::equal(value.dims.begin(), value.dims.end(), constant.tensor.dims.begin()))
        Damaged("constant '{}' is not of its value's type", value.name);
      def_.constant_of_value[constant.value] = static_cast<int32_t>(def_.constants.size());
      def_.constants.push_back(std::move(constant));
    }
  }

  void ReadNodes() {
    for (uint32_t i = 0; i < Count(fb_.nodes()); ++i) {
      const fb::Node& from = *fb_.nodes()->Get(i);
      NodeDef node;
      node.op_type = from.op_type()->str();
      node.domain = from.domain()->str();
      node.name = from.name()->str();
      node.since_version = from.since_version();
      CopyNumbers(from.inputs(), node.inputs);
      CopyNumbers(from.outputs(), node.outputs);
      for (int32_t input : node.inputs)
        if (input != -1 && !IsDefined(input)) Damaged("node '{}' reads value {}, which nothing made", node.name, input);
      for (int32_t output : node.outputs)
        if (output != -1) Define(output);
      for (uint32_t a = 0; a < Count(from.attributes()); ++a) {
        const fb::Attribute& attribute = *from.attributes()->Get(a);
        AttributeValue value;
        value.name = attribute.name()->str();
        value.type = attribute.type();
        CopyNumbers(attribute.floats(), value.floats);
        CopyNumbers(attribute.ints(), value.ints);
        for (uint32_t s = 0; s < Count(attribute.strings()); ++s)
          value.strings.push_back(attribute.strings()->Get(s)->str());
        for (uint32_t t = 0; t < Count(attribute.tensors()); ++t)
          value.tensors.push_back(ReadTensor(*attribute.tensors()->Get(t), true));
        if (file_.data_owner) value.tensor_owners.push_back(file_.data_owner);
        node.attributes.push_back(std::move(value));
      }
      def_.nodes.push_back(std::move(node));
    }
  }

  void ReadPacked() {
    for (uint32_t i = 0; i < Count(fb_.packed()); ++i) {
      const fb::Packed& from = *fb_.packed()->Get(i);
      PackedData packed;
      packed.node = from.node();
      packed.key = from.key()->str();
      packed.format = from.format()->str();
      packed.bytes = from.bytes();
      packed.data = Bytes(from.offset(), from.bytes());
      packed.owner = file_.data_owner;
      if (packed.node < 0 || static_cast<size_t>(packed.node) >= def_.nodes.size())
        Damaged("packed data belongs to node {} of {}", packed.node, def_.nodes.size());
      result_.packed.push_back(std::move(packed));
    }
  }

  bool IsDefined(int32_t value) const {
    return value >= 0 && static_cast<size_t>(value) < state_.size() && state_[value];
  }
  void Define(int32_t value) {
    if (value < 0 || static_cast<size_t>(value) >= state_.size() || state_[value])
      Damaged("value {} is made twice or does not exist", value);
    state_[value] = true;
  }

  const File& file_;
  const fb::Plan& fb_;
  LoadedPlan result_;
  PlanDef& def_ = result_.def;
  std::vector<bool> state_;  // values made so far
};

ContextKey ReadKey(const fb::Context& context) {
  return {context.onednn()->str(), context.isa()->str(), context.threads(), context.precision()->str()};
}

}  // namespace

LoadedContext LoadedContext::Parse(const void* data, uint64_t size) {
  File file = OpenFile(data, size);
  // A table that is not aligned can't be read in place either; embedded payloads may lie anywhere.
  std::shared_ptr<void> table_copy;
  if (reinterpret_cast<uintptr_t>(file.table) % kDataAlignment != 0) {
    table_copy = AllocateShared(file.header.table_bytes);
    std::memcpy(table_copy.get(), file.table, file.header.table_bytes);
    file.table = static_cast<const uint8_t*>(table_copy.get());
  }
  const fb::Context* context = VerifyTable(file);
  if (reinterpret_cast<uintptr_t>(file.data) % kDataAlignment != 0) {
    file.data_owner = AllocateShared(file.header.data_bytes);
    std::memcpy(file.data_owner.get(), file.data, file.header.data_bytes);
    file.data = static_cast<const char*>(file.data_owner.get());
  }
  LoadedContext result;
  result.key = ReadKey(*context);
  for (uint32_t i = 0; i < Count(context->plans()); ++i)
    result.plans.push_back(PlanReader(file, *context->plans()->Get(i)).Read());
  return result;
}

bool PeekContextKey(const void* data, uint64_t size, ContextKey* key) {
  try {
    File file = OpenFile(data, size);
    std::vector<uint64_t> aligned(file.header.table_bytes / 8 + 1);
    std::memcpy(aligned.data(), file.table, file.header.table_bytes);
    file.table = reinterpret_cast<const uint8_t*>(aligned.data());
    *key = ReadKey(*VerifyTable(file));
    return true;
  } catch (const OpError&) {
    return false;
  }
}

}  // namespace epiphyte::cpu
