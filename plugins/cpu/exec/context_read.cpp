#include <bit>
#include <cstring>
#include <set>

#include "epiphyte/kit/memory/heap.hpp"
#include "epiphyte/kit/shape/dims.hpp"
#include "plan_generated.h"
#include "plugins/cpu/exec/context.h"
#include "plugins/cpu/exec/context_format.h"

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

// A list of texts, as it lies in the table.
std::vector<std::string> ReadTexts(const flatbuffers::String* text, const flatbuffers::Vector<uint64_t>* ends) {
  std::vector<uint64_t> numbers;
  CopyNumbers(ends, numbers);
  const std::string_view all = text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
  std::vector<std::string> texts;
  texts.reserve(numbers.size());
  uint64_t begin = 0;
  for (uint64_t end : numbers) {
    if (end < begin || end > all.size()) Damaged("a text ends at {} in {} bytes", end, all.size());
    texts.emplace_back(all.substr(begin, end - begin));
    begin = end;
  }
  if (begin != all.size()) Damaged("{} bytes of text belong to nothing", all.size() - begin);
  return texts;
}

// A table may name the same part of itself many times. What is taken out of an honest one is never more than its size.
class Budget {
 public:
  explicit Budget(uint64_t bytes) : left_(bytes) {}
  void Take(uint64_t bytes) {
    if (bytes > left_) Damaged("its table holds more than its size allows");
    left_ -= bytes;
  }

 private:
  uint64_t left_;
};

struct Section {
  const char* data = nullptr;
  uint64_t bytes = 0;
};

struct File {
  ContextFileHeader header;
  const uint8_t* table = nullptr;
  const char* data = nullptr;
  std::vector<Section> sections;
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
  if (header.header_digest != ContextDigest(bytes, kDigestedHeaderBytes)) Damaged("its header was changed");
  if (header.table_bytes > (uint64_t{1} << 31) || header.data_bytes > (uint64_t{1} << 50) ||
      header.data_offset != AlignUp(sizeof header + header.table_bytes))
    Damaged("the sizes in its header make no sense");
  if (header.data_offset + header.data_bytes != size)
    Damaged("{} bytes found, {} expected", size, header.data_offset + header.data_bytes);
  file.table = static_cast<const uint8_t*>(bytes) + sizeof header;
  file.data = static_cast<const char*>(bytes) + header.data_offset;
  if (header.table_digest != ContextDigest(file.table, header.data_offset - sizeof header))
    Damaged("its table was changed");
  return file;
}

const fb::Context* VerifyTable(const File& file) {
  // A graph's table is flat, and no table is smaller than 8 bytes: more of them would be the same ones again.
  const auto tables = static_cast<flatbuffers::uoffset_t>(file.header.table_bytes / 8 + 16);
  flatbuffers::Verifier verifier(file.table, file.header.table_bytes, 16, tables);
  if (!fb::VerifyContextBuffer(verifier)) Damaged("its table does not verify");
  return fb::GetContext(file.table);
}

// Finds the sections and compares digests: of all of them, or of those that are cheap to read.
void OpenSections(const fb::Context& context, ContextDigests digests, File* file) {
  constexpr uint64_t kCheap = 256 << 10;
  uint64_t offset = 0;
  file->sections.reserve(Count(context.sections()));
  for (uint32_t i = 0; i < Count(context.sections()); ++i) {
    fb::Section section;
    std::memcpy(&section, context.sections()->Data() + uint64_t{i} * sizeof section, sizeof section);
    const uint64_t left = file->header.data_bytes - offset;
    if (section.bytes() > left || AlignUp(section.bytes()) > left)
      Damaged("section {} has {} bytes, but only {} are left", i, section.bytes(), left);
    const char* const data = file->data + offset;
    if ((digests == ContextDigests::kAll || section.bytes() <= kCheap) &&
        ContextDigest(data, AlignUp(section.bytes())) != section.digest())
      Damaged("the {} bytes of section {} were changed", section.bytes(), i);
    file->sections.push_back({data, section.bytes()});
    offset += AlignUp(section.bytes());
  }
  if (offset != file->header.data_bytes) Damaged("{} bytes belong to no section", file->header.data_bytes - offset);
}

// Takes a plan out of the table. What is checked here is what concerns the file: that sections, texts and sizes fit.
// What the plan says is VerifyPlan's to check, when kernels are to be built of it.
class PlanReader {
 public:
  PlanReader(const File& file, const fb::Plan& plan, Budget& budget) : file_(file), fb_(plan), budget_(budget) {}

  LoadedPlan Read() {
    def_.name = Text(fb_.name());
    ReadValues();
    Numbers(fb_.inputs(), def_.inputs);
    Numbers(fb_.outputs(), def_.outputs);
    ReadConstants();
    ReadNodes();
    ReadPacked();
    return std::move(result_);
  }

 private:
  // Everything that comes out of the table comes through these, and is paid for.
  std::string Text(const flatbuffers::String* text) {
    budget_.Take(text->size() + sizeof(uint32_t));
    return text->str();
  }
  template <typename T>
  void Numbers(const flatbuffers::Vector<T>* list, std::vector<T>& to) {
    budget_.Take(uint64_t{Count(list)} * sizeof(T));
    CopyNumbers(list, to);
  }
  std::vector<std::string> Texts(const flatbuffers::String* text, const flatbuffers::Vector<uint64_t>* ends) {
    budget_.Take((text == nullptr ? 0 : text->size()) + uint64_t{Count(ends)} * sizeof(uint64_t));
    return ReadTexts(text, ends);
  }
  template <typename T>
  const T& Table(const flatbuffers::Vector<flatbuffers::Offset<T>>* list, uint32_t i) {
    budget_.Take(2 * sizeof(uint32_t));
    return *list->Get(i);
  }

  void ReadValues() {
    for (uint32_t i = 0; i < Count(fb_.values()); ++i) {
      const fb::Value& from = Table(fb_.values(), i);
      ValueInfo value;
      value.name = Text(from.name());
      value.type = from.type();
      value.kind = from.kind();
      value.rank = from.rank();
      Numbers(from.dims(), value.dims);
      def_.AddValue(std::move(value));
    }
  }

  const Section& FindSection(uint32_t index) const {
    if (index >= file_.sections.size()) Damaged("section {} of {} is asked for", index, file_.sections.size());
    return file_.sections[index];
  }

  ir::Tensor ReadTensor(const fb::Tensor& from, bool expect_data) {
    ir::Tensor tensor;
    tensor.type = from.type();
    std::vector<int64_t> dims;
    Numbers(from.dims(), dims);
    for (int64_t dim : dims)
      if (dim < 0) Damaged("a tensor has a dimension of {}", dim);
    uint64_t count = 0;
    if (!CountElements(dims, &count)) Damaged("a tensor has more than 2^44 elements");
    tensor.dims.assign(dims.data(), dims.size());
    if (!expect_data) return tensor;
    if (tensor.type == EP_TYPE_STRING) {
      tensor.strings = std::make_shared<const std::vector<std::string>>(Texts(from.text(), from.text_ends()));
      if (tensor.strings->size() != count) Damaged("{} strings found, {} expected", tensor.strings->size(), count);
    } else {
      const uint64_t bytes = ElementBytes(tensor.type, count);
      if (!from.has_data()) Damaged("a tensor has no data");
      const Section& section = FindSection(from.section());
      if (section.bytes != bytes || (bytes == 0 && count != 0))
        Damaged("a tensor has {} bytes; {} expected", section.bytes, bytes);
      tensor.data = section.data;
    }
    return tensor;
  }

  void ReadConstants() {
    for (uint32_t i = 0; i < Count(fb_.constants()); ++i) {
      const fb::Constant& from = Table(fb_.constants(), i);
      ConstantDef constant;
      constant.value = from.value();
      constant.storage = from.dropped() ? ConstantDef::Storage::kDropped : ConstantDef::Storage::kOwned;
      constant.tensor = ReadTensor(*from.tensor(), !from.dropped());
      constant.owner = file_.data_owner;
      if (constant.value < 0 || static_cast<size_t>(constant.value) >= def_.values.size())
        Damaged("constant {} is of value {} of {}", i, constant.value, def_.values.size());
      def_.constant_of_value[constant.value] = static_cast<int32_t>(def_.constants.size());
      def_.constants.push_back(std::move(constant));
    }
  }

  void ReadNodes() {
    for (uint32_t i = 0; i < Count(fb_.nodes()); ++i) {
      const fb::Node& from = Table(fb_.nodes(), i);
      NodeDef node;
      node.op_type = Text(from.op_type());
      node.domain = Text(from.domain());
      node.name = Text(from.name());
      node.since_version = from.since_version();
      Numbers(from.inputs(), node.inputs);
      Numbers(from.outputs(), node.outputs);
      for (uint32_t a = 0; a < Count(from.attributes()); ++a) {
        const fb::Attribute& attribute = Table(from.attributes(), a);
        AttributeValue value;
        value.name = Text(attribute.name());
        value.type = attribute.type();
        Numbers(attribute.floats(), value.floats);
        Numbers(attribute.ints(), value.ints);
        value.strings = Texts(attribute.text(), attribute.text_ends());
        for (uint32_t t = 0; t < Count(attribute.tensors()); ++t)
          value.tensors.push_back(ReadTensor(Table(attribute.tensors(), t), true));
        if (file_.data_owner) value.tensor_data.push_back(file_.data_owner);
        node.attributes.push_back(std::move(value));
      }
      def_.nodes.push_back(std::move(node));
    }
  }

  void ReadPacked() {
    for (uint32_t i = 0; i < Count(fb_.packed()); ++i) {
      const fb::Packed& from = Table(fb_.packed(), i);
      const Section& section = FindSection(from.section());
      PackedData packed;
      packed.node = from.node();
      packed.key = Text(from.key());
      packed.format = Text(from.format());
      packed.bytes = section.bytes;
      packed.data = section.data;
      packed.owner = file_.data_owner;
      result_.packed.push_back(std::move(packed));
    }
  }

  const File& file_;
  const fb::Plan& fb_;
  Budget& budget_;
  LoadedPlan result_;
  PlanDef& def_ = result_.def;
};

ContextKey ReadKey(const fb::Context& context) {
  return {context.onednn()->str(), context.isa()->str(), context.threads(), context.precision()->str(),
          context.plugin()->str()};
}

}  // namespace

LoadedContext LoadedContext::Parse(const void* data, uint64_t size, ContextDigests digests) {
  File file = OpenFile(data, size);
  // A table that is not aligned can't be read in place either; embedded payloads may lie anywhere.
  std::shared_ptr<void> table_copy;
  if (reinterpret_cast<uintptr_t>(file.table) % kDataAlignment != 0) {
    table_copy = kit::AllocateShared(file.header.table_bytes);
    std::memcpy(table_copy.get(), file.table, file.header.table_bytes);
    file.table = static_cast<const uint8_t*>(table_copy.get());
  }
  const fb::Context* context = VerifyTable(file);
  if (reinterpret_cast<uintptr_t>(file.data) % kDataAlignment != 0) {
    file.data_owner = kit::AllocateShared(file.header.data_bytes);
    std::memcpy(file.data_owner.get(), file.data, file.header.data_bytes);
    file.data = static_cast<const char*>(file.data_owner.get());
  }
  OpenSections(*context, digests, &file);
  LoadedContext result;
  result.key = ReadKey(*context);
  Budget budget(file.header.table_bytes);
  std::set<std::string_view> names;
  result.plans.reserve(Count(context->plans()));
  for (uint32_t i = 0; i < Count(context->plans()); ++i) {
    const fb::Plan& plan = *context->plans()->Get(i);
    if (!names.insert({plan.name()->data(), plan.name()->size()}).second)
      Damaged("partition '{}' is in it twice", plan.name()->str());
    result.plans.push_back(PlanReader(file, plan, budget).Read());
  }
  return result;
}

}  // namespace epiphyte::cpu
