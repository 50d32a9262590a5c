#include "core/onnx/read/attribute_reader.h"

#include <bit>

#include "core/base/error.h"
#include "core/graph/graph.h"
#include "core/onnx/read/type_reader.h"
#include "core/onnx/wire/proto_fields.h"
#include "core/onnx/wire/wire_reader.h"

namespace epiphyte::core {
namespace {

struct AttributeFields {
  std::string_view name;
  int64_t type = 0;
  // Bit set of the value fields that were present, by AttributeType; scalars included.
  uint32_t present = 0;
  float f = 0;
  int64_t i = 0;
  std::string_view s;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string_view> strings, tensors, graphs, types, sparse;
};

uint32_t Bit(AttributeType type) { return 1u << static_cast<uint32_t>(type); }

AttributeFields Walk(std::string_view bytes) {
  AttributeFields found;
  const auto note = [&found](AttributeType type) { found.present |= Bit(type); };
  WireReader reader(bytes, "AttributeProto");
  for (WireField field; reader.Next(&field);) {
    switch (field.number) {
      case proto::attribute::kName: found.name = field.Bytes(); break;
      case proto::attribute::kType: found.type = field.Int64(); break;
      case proto::attribute::kFloat:
        found.f = field.Float();
        note(AttributeType::kFloat);
        break;
      case proto::attribute::kInt:
        found.i = field.Int64();
        note(AttributeType::kInt);
        break;
      case proto::attribute::kString:
        found.s = field.Bytes();
        note(AttributeType::kString);
        break;
      case proto::attribute::kTensor:
        found.tensors.assign(1, field.Bytes());
        note(AttributeType::kTensor);
        break;
      case proto::attribute::kGraph:
        found.graphs.assign(1, field.Bytes());
        note(AttributeType::kGraph);
        break;
      case proto::attribute::kFloats:
        field.AppendFloats(&found.floats);
        note(AttributeType::kFloats);
        break;
      case proto::attribute::kInts:
        field.AppendInts(&found.ints);
        note(AttributeType::kInts);
        break;
      case proto::attribute::kStrings:
        found.strings.push_back(field.Bytes());
        note(AttributeType::kStrings);
        break;
      case proto::attribute::kTensors:
        found.tensors.push_back(field.Bytes());
        note(AttributeType::kTensors);
        break;
      case proto::attribute::kGraphs:
        found.graphs.push_back(field.Bytes());
        note(AttributeType::kGraphs);
        break;
      case proto::attribute::kTypeProto:
        found.types.assign(1, field.Bytes());
        note(AttributeType::kTypeProto);
        break;
      case proto::attribute::kTypeProtos:
        found.types.push_back(field.Bytes());
        note(AttributeType::kTypeProtos);
        break;
      case proto::attribute::kSparseTensor:
        found.sparse.assign(1, field.Bytes());
        note(AttributeType::kSparseTensor);
        break;
      case proto::attribute::kSparseTensors:
        found.sparse.push_back(field.Bytes());
        note(AttributeType::kSparseTensors);
        break;
      default: break;
    }
  }
  return found;
}

// The declared type. In old files without the type field it is the type of the value field that is present.
AttributeType TypeOf(const AttributeFields& fields, std::string_view owner) {
  if (fields.type >= 1 && fields.type <= 14) return static_cast<AttributeType>(fields.type);
  if (fields.type != 0) {
    Fail(StatusCode::kInvalidGraph, "{}: attribute '{}' is of type {}, 1 to 14 expected", owner, fields.name,
         fields.type);
  }
  for (int32_t type = 1; type <= 14; ++type) {
    if (fields.present == Bit(static_cast<AttributeType>(type))) return static_cast<AttributeType>(type);
  }
  Fail(StatusCode::kInvalidGraph, "{}: attribute '{}' has no type and {} values, exactly one expected", owner,
       fields.name, fields.present == 0 ? "no" : "several");
}

// Scalars with the default value and empty lists may be absent from the file; other values must be present. A value of
// another type than the declared one is an error.
void CheckPresent(const AttributeFields& fields, AttributeType type, std::string_view owner) {
  if (fields.present != 0 && (fields.present & Bit(type)) == 0) {
    Fail(StatusCode::kInvalidGraph, "{}: attribute '{}' is of type {}, but holds a value of type {}", owner,
         fields.name, static_cast<int32_t>(type), std::countr_zero(fields.present));
  }
  const bool single = type == AttributeType::kTensor || type == AttributeType::kGraph ||
                      type == AttributeType::kTypeProto || type == AttributeType::kSparseTensor;
  if (single && (fields.present & Bit(type)) == 0) {
    Fail(StatusCode::kInvalidGraph, "{}: attribute '{}' lacks the value that its type {} asks for", owner, fields.name,
         static_cast<int32_t>(type));
  }
}

}  // namespace

AttributeHead ReadAttributeHead(std::string_view bytes) {
  AttributeHead head;
  WireReader reader(bytes, "AttributeProto");
  for (WireField field; reader.Next(&field);) {
    if (field.number == proto::attribute::kName) head.name = field.Bytes();
    if (field.number == proto::attribute::kRefAttrName) head.reference = field.Bytes();
  }
  return head;
}

Attribute ReadAttribute(std::string_view bytes, std::string_view owner, bool is_ep_context, const TensorReader& tensors,
                        const ReadGraphFunction& read_graph) {
  const AttributeFields fields = Walk(bytes);
  if (fields.name.empty()) Fail(StatusCode::kInvalidGraph, "{} has an attribute without a name", owner);
  const AttributeType type = TypeOf(fields, owner);
  CheckPresent(fields, type, owner);
  std::string name(fields.name);
  const std::string subject = fmt::format("tensor of attribute '{}' of {}", name, owner);
  switch (type) {
    case AttributeType::kFloat: return Attribute::Float(std::move(name), fields.f);
    case AttributeType::kInt: return Attribute::Int(std::move(name), fields.i);
    case AttributeType::kString:
      if (is_ep_context && name == "ep_cache_context" && fields.s.size() > kLongPayload) {
        ConstantPtr payload = tensors.Bytes(DataType::kUint8, {static_cast<int64_t>(fields.s.size())}, fields.s.data(),
                                            fields.s.size(), tensors.owner());
        return Attribute::Tensor(std::move(name), std::move(payload));
      }
      return Attribute::String(std::move(name), std::string(fields.s));
    case AttributeType::kTensor:
      return Attribute::Tensor(std::move(name), tensors.Read(fields.tensors[0], subject).constant);
    case AttributeType::kGraph: return Attribute::Subgraph(std::move(name), read_graph(fields.graphs[0]));
    case AttributeType::kFloats: return Attribute::Floats(std::move(name), fields.floats);
    case AttributeType::kInts: return Attribute::Ints(std::move(name), fields.ints);
    case AttributeType::kStrings:
      return Attribute::Strings(std::move(name), {fields.strings.begin(), fields.strings.end()});
    case AttributeType::kTensors: {
      std::vector<ConstantPtr> values;
      for (const std::string_view tensor : fields.tensors) values.push_back(tensors.Read(tensor, subject).constant);
      return Attribute::Tensors(std::move(name), std::move(values));
    }
    case AttributeType::kGraphs: {
      std::vector<std::unique_ptr<Graph>> values;
      for (const std::string_view graph : fields.graphs) values.push_back(read_graph(graph));
      return Attribute::Subgraphs(std::move(name), std::move(values));
    }
    case AttributeType::kSparseTensor:
      return Attribute::Tensor(std::move(name), tensors.ReadSparse(fields.sparse[0], subject).constant);
    case AttributeType::kSparseTensors: {
      std::vector<ConstantPtr> values;
      for (const std::string_view tensor : fields.sparse)
        values.push_back(tensors.ReadSparse(tensor, subject).constant);
      return Attribute::Tensors(std::move(name), std::move(values));
    }
    case AttributeType::kTypeProto: return Attribute::Types(std::move(name), {ReadType(fields.types[0])}, false);
    case AttributeType::kTypeProtos: {
      std::vector<TypePtr> values;
      for (const std::string_view value : fields.types) values.push_back(ReadType(value));
      return Attribute::Types(std::move(name), std::move(values), true);
    }
  }
  Fail(StatusCode::kInvalidGraph, "{}: attribute '{}' is of unknown type", owner, fields.name);
}

Attribute RenamedAttribute(const Attribute& attribute, std::string name,
                           const std::function<ValueDef*(ValueDef*)>& outer) {
  switch (attribute.type()) {
    case AttributeType::kFloat: return Attribute::Float(std::move(name), attribute.f());
    case AttributeType::kInt: return Attribute::Int(std::move(name), attribute.i());
    case AttributeType::kString: return Attribute::String(std::move(name), attribute.s());
    case AttributeType::kTensor: return Attribute::Tensor(std::move(name), attribute.t());
    case AttributeType::kGraph: return Attribute::Subgraph(std::move(name), attribute.g().Clone(outer));
    case AttributeType::kFloats: return Attribute::Floats(std::move(name), attribute.floats());
    case AttributeType::kInts: return Attribute::Ints(std::move(name), attribute.ints());
    case AttributeType::kStrings: return Attribute::Strings(std::move(name), attribute.strings());
    case AttributeType::kTensors: return Attribute::Tensors(std::move(name), attribute.tensors());
    case AttributeType::kGraphs: {
      std::vector<std::unique_ptr<Graph>> copies;
      for (const auto& graph : attribute.graphs()) copies.push_back(graph->Clone(outer));
      return Attribute::Subgraphs(std::move(name), std::move(copies));
    }
    case AttributeType::kSparseTensor:
    case AttributeType::kSparseTensors:
      return Attribute::Sparse(std::move(name), attribute.tensors(), attribute.type() == AttributeType::kSparseTensors);
    case AttributeType::kTypeProto:
    case AttributeType::kTypeProtos:
      return Attribute::Types(std::move(name), attribute.types(), attribute.type() == AttributeType::kTypeProtos);
  }
  Fail(StatusCode::kInvalidGraph, "attribute '{}' is of unknown type", attribute.name());
}

}  // namespace epiphyte::core
