#include "tests/onnx/inference_sweep/value_pools.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>

namespace epiphyte::test {
namespace {

using core::Attribute;
using core::AttributeType;
using core::Constant;
using core::ConstantPtr;
using core::DataType;
using core::Dim;
using core::Graph;
using core::Shape;
using core::Type;
using core::TypePtr;
using core::ValueDef;

constexpr int64_t kLarge = int64_t{1} << 31;
constexpr int64_t kNumbers[] = {1, 0, -1, 2, 3, 7, -7, 100, kLarge, -kLarge, INT64_MAX, INT64_MIN};
constexpr int64_t kRepeatedNumbers[] = {1, 0, -1, 2, kLarge, INT64_MAX, INT64_MIN};

template <typename T>
ConstantPtr Values(DataType type, std::vector<int64_t> dims, const std::vector<T>& values) {
  return Constant::Copy(type, std::move(dims), values.data(), values.size() * sizeof(T));
}
ConstantPtr Int64s(const std::vector<int64_t>& values) {
  return Values(DataType::kInt64, {static_cast<int64_t>(values.size())}, values);
}
ConstantPtr Floats(const std::vector<float>& values) {
  return Values(DataType::kFloat, {static_cast<int64_t>(values.size())}, values);
}

std::vector<std::vector<int64_t>> IntLists() {
  std::vector<std::vector<int64_t>> lists = {{1, 1}, {}, {0, 1, 2}, {2, 1, 0}, {0, 2, 1, 3}, {0, 1, 2, 3, 4, 5, 6, 7}};
  for (const int64_t number : kRepeatedNumbers)
    for (const size_t count : {1, 2, 3, 4, 8}) lists.emplace_back(count, number);
  return lists;
}

std::vector<std::vector<float>> FloatLists() {
  std::vector<std::vector<float>> lists = {{1, 1, 1, 1}, {}};
  for (const float number : {0.0f, -1.0f, 0.5f, 3e38f, std::numeric_limits<float>::quiet_NaN()})
    for (const size_t count : {1, 3, 4}) lists.emplace_back(count, number);
  return lists;
}

std::vector<ConstantPtr> Tensors() {
  std::vector<ConstantPtr> tensors = {Floats({1}), Int64s({}), Floats({}), Constant::Strings({1}, {"text"}),
                                      Constant::Strings({0}, {})};
  tensors.push_back(Values<int64_t>(DataType::kInt64, {2, 2}, {1, 1, 1, 1}));
  tensors.push_back(Values<int64_t>(DataType::kInt64, {0, 3}, {}));
  tensors.push_back(Values<int32_t>(DataType::kInt32, {2}, {1, -1}));
  tensors.push_back(Values<uint8_t>(DataType::kBool, {}, {1}));
  tensors.push_back(Values<double>(DataType::kDouble, {}, {1e300}));
  tensors.push_back(Values<uint8_t>(DataType::kUint4, {2}, {0x21}));
  tensors.push_back(Values<uint16_t>(DataType::kFloat16, {1}, {0x3C00}));
  for (const int64_t number : kRepeatedNumbers) {
    tensors.push_back(Values<int64_t>(DataType::kInt64, {}, {number}));
    for (const size_t count : {1, 2, 3, 4, 8}) tensors.push_back(Int64s(std::vector<int64_t>(count, number)));
  }
  for (const float number : {0.0f, -1.0f, 0.5f, 3e38f, std::numeric_limits<float>::quiet_NaN()}) {
    tensors.push_back(Values<float>(DataType::kFloat, {}, {number}));
    for (const size_t count : {1, 3, 4}) tensors.push_back(Floats(std::vector<float>(count, number)));
  }
  return tensors;
}

std::vector<TypePtr> OtherKinds() {
  const TypePtr tensor = TensorType(DataType::kFloat, 2);
  return {Type::Unknown(),
          Type::Sequence(tensor),
          Type::Sequence(Type::Unknown()),
          Type::Sequence(Type::Sequence(tensor)),
          Type::Sequence(Type::Map(DataType::kInt64, tensor)),
          Type::Optional(tensor),
          Type::Optional(Type::Sequence(tensor)),
          Type::Optional(Type::Unknown()),
          Type::Map(DataType::kString, tensor),
          Type::Map(DataType::kInt64, Type::Unknown()),
          Type::SparseTensor(DataType::kFloat, Shape{Dim(2), Dim(3)}),
          Type::SparseTensor(DataType::kFloat),
          Type::Tensor(DataType::kUndefined),
          Type::Tensor(DataType::kUndefined, Shape{Dim(2)})};
}

// Returns a graph with these numbers of inputs and outputs. An output is an input, a constant, or the result of a node.
std::unique_ptr<Graph> Body(size_t inputs, size_t outputs, int kind) {
  auto graph = std::make_unique<Graph>("body");
  graph->SetOpset("", 17);
  std::vector<ValueDef*> given, returned;
  for (size_t i = 0; i < inputs; ++i) {
    TypePtr type = kind == 0 ? nullptr : TensorType(i == 0 ? DataType::kInt64 : DataType::kFloat, kind - 1);
    if (kind == 3) type = Type::Sequence(TensorType(DataType::kFloat, 1));
    given.push_back(graph->AddInput("", std::move(type)));
  }
  for (size_t i = 0; i < outputs; ++i) {
    if (i < given.size() && kind % 2 == 0) {
      returned.push_back(given[i]);
    } else if (i < given.size()) {
      returned.push_back(graph->AddValue(""));
      graph->AddNode("Identity", "", 14, {given[i]}, {returned.back()});
    } else {
      returned.push_back(graph->AddConstant("", Floats({1})));
    }
  }
  graph->SetOutputs(returned);
  return graph;
}

class PoolBuilder {
 public:
  explicit PoolBuilder(std::string name) : name_(std::move(name)) {}

  template <typename Make>
  void Add(std::string value, Make make) {
    pool_.push_back({name_ + "=" + std::move(value), [make, name = name_] { return make(name); }});
  }

  void AddAll(AttributeType type) {
    switch (type) {
      case AttributeType::kFloat:
        for (const auto& values : FloatLists())
          if (!values.empty())
            Add(fmt::format("{}f", values[0]), [v = values[0]](auto n) { return Attribute::Float(n, v); });
        break;
      case AttributeType::kInt:
        for (const int64_t value : kNumbers)
          Add(fmt::format("{}", value), [value](auto n) { return Attribute::Int(n, value); });
        break;
      case AttributeType::kString:
        for (const char* text : {"NOTSET", "", "x", "SAME_UPPER", "SAME_LOWER", "VALID", "forward", "bidirectional",
                                 "none", "mean", "linear", "bij,bjk->bik", "...->", "...i,i...->", "->", ",,", "FLOAT"})
          Add(fmt::format("'{}'", text), [text](auto n) { return Attribute::String(n, text); });
        break;
      case AttributeType::kTensor:
        for (const ConstantPtr& tensor : Tensors())
          Add(fmt::format("{}[{}]", core::DataTypeName(tensor->type()), fmt::join(tensor->dims(), ",")),
              [tensor](auto n) { return Attribute::Tensor(n, tensor); });
        break;
      case AttributeType::kGraph:
        for (const int kind : {0, 1, 2, 3})
          for (const size_t inputs : {2, 0, 1, 3, 5})
            for (const size_t outputs : {2, 0, 1, 3, 4})
              Add(fmt::format("graph of kind {}, {} inputs, {} outputs", kind, inputs, outputs),
                  [=](auto n) { return Attribute::Subgraph(n, Body(inputs, outputs, kind)); });
        break;
      case AttributeType::kFloats:
        for (const auto& values : FloatLists())
          Add(fmt::format("{}", values), [values](auto n) { return Attribute::Floats(n, values); });
        break;
      case AttributeType::kInts:
        for (const auto& values : IntLists())
          Add(fmt::format("{}", values), [values](auto n) { return Attribute::Ints(n, values); });
        break;
      case AttributeType::kStrings:
        for (const size_t count : {1, 0, 3})
          Add(fmt::format("{} strings", count),
              [count](auto n) { return Attribute::Strings(n, std::vector<std::string>(count, "a")); });
        break;
      case AttributeType::kTensors:
        for (const size_t count : {1, 0, 3})
          Add(fmt::format("{} tensors", count),
              [count](auto n) { return Attribute::Tensors(n, std::vector<ConstantPtr>(count, Int64s({1}))); });
        break;
      case AttributeType::kGraphs:
        Add("graphs", [](auto n) {
          std::vector<std::unique_ptr<Graph>> graphs;
          graphs.push_back(Body(1, 1, 0));
          return Attribute::Subgraphs(n, std::move(graphs));
        });
        break;
      case AttributeType::kSparseTensor:
      case AttributeType::kSparseTensors:
        Add("sparse", [type](auto n) {
          return Attribute::Sparse(n, {Floats({1}), Int64s({0})}, type == AttributeType::kSparseTensors);
        });
        break;
      case AttributeType::kTypeProto:
      case AttributeType::kTypeProtos:
        for (const TypePtr& value : OtherKinds())
          Add(value->ToString(),
              [value, type](auto n) { return Attribute::Types(n, {value}, type == AttributeType::kTypeProtos); });
        break;
    }
  }

  std::vector<CaseAttribute> Take() { return std::move(pool_); }

 private:
  std::string name_;
  std::vector<CaseAttribute> pool_;
};

}  // namespace

TypePtr TensorType(DataType element, int rank) {
  if (rank < 0) return Type::Tensor(element);
  Shape shape;
  for (int i = 0; i < rank; ++i) shape.emplace_back(i + 2);
  return Type::Tensor(element, std::move(shape));
}

std::vector<CaseInput> InputPool() {
  using Source = CaseInput::Source;
  std::vector<CaseInput> pool = {{Source::kLeftOut, nullptr, nullptr}, {Source::kGraphInput, nullptr, nullptr}};
  for (TypePtr type : OtherKinds()) pool.push_back({Source::kGraphInput, std::move(type), nullptr});
  for (int32_t element = 1; core::IsValidDataType(element); ++element)
    for (const int rank : {-1, 1, 3})
      pool.push_back({Source::kGraphInput, TensorType(static_cast<DataType>(element), rank), nullptr});
  for (int rank = 0; rank <= 6; ++rank) {
    for (const Dim& dim : {Dim(), Dim::Symbol("N"), Dim(0), Dim(INT64_MAX), Dim(1)}) {
      for (const DataType element : {DataType::kFloat, DataType::kInt64})
        pool.push_back({Source::kGraphInput, Type::Tensor(element, Shape(static_cast<size_t>(rank), dim)), nullptr});
    }
    pool.push_back({Source::kShapeNode, TensorType(DataType::kFloat, rank), nullptr});
    pool.push_back({Source::kShapeNode,
                    Type::Tensor(DataType::kFloat, Shape(static_cast<size_t>(rank), Dim::Symbol("N"))), nullptr});
  }
  for (ConstantPtr& tensor : Tensors()) pool.push_back({Source::kConstant, nullptr, std::move(tensor)});
  return pool;
}

std::vector<CaseAttribute> AttributePool(const std::string& name, AttributeType type) {
  PoolBuilder values(name);
  values.AddAll(type);
  std::vector<CaseAttribute> pool = values.Take();
  for (int32_t other = 1; other <= static_cast<int32_t>(AttributeType::kTypeProtos); ++other) {
    if (other == static_cast<int32_t>(type)) continue;
    PoolBuilder others(name);
    others.AddAll(static_cast<AttributeType>(other));
    pool.push_back(others.Take().front());
  }
  return pool;
}

}  // namespace epiphyte::test
