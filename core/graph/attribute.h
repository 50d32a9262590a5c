// Attribute: a named constant of a node. type() determines which fields are valid.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/constant.h"
#include "core/graph/type.h"
#include "epiphyte/ep_graph.h"

namespace epiphyte::core {

class Graph;
class ValueDef;

// ONNX's AttributeProto.AttributeType.
enum class AttributeType : int32_t {
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
  kTensors = 9,
  kGraphs = 10,
  kSparseTensor = 11,
  kSparseTensors = 12,
  kTypeProto = 13,
  kTypeProtos = 14,
};

class Attribute {
 public:
  static Attribute Float(std::string name, float value);
  static Attribute Int(std::string name, int64_t value);
  static Attribute String(std::string name, std::string value);
  static Attribute Tensor(std::string name, ConstantPtr value);
  static Attribute Subgraph(std::string name, std::unique_ptr<Graph> value);
  static Attribute Floats(std::string name, std::vector<float> values);
  static Attribute Ints(std::string name, std::vector<int64_t> values);
  static Attribute Strings(std::string name, std::vector<std::string> values);
  static Attribute Tensors(std::string name, std::vector<ConstantPtr> values);
  static Attribute Subgraphs(std::string name, std::vector<std::unique_ptr<Graph>> values);
  // Pairs {values, indices}. `list` selects SPARSE_TENSORS instead of SPARSE_TENSOR.
  static Attribute Sparse(std::string name, std::vector<ConstantPtr> pairs, bool list);
  static Attribute Types(std::string name, std::vector<TypePtr> values, bool list);

  Attribute(Attribute&&) noexcept;
  Attribute& operator=(Attribute&&) noexcept;
  ~Attribute();
  // Deep copy: nested graphs are cloned like Graph::Clone with `outer`, constants are shared.
  Attribute Clone(const std::function<ValueDef*(ValueDef*)>& outer = {}) const;

  const std::string& name() const { return name_; }
  AttributeType type() const { return type_; }

  // Single values. The corresponding list then holds exactly one element.
  float f() const { return floats_.at(0); }
  int64_t i() const { return ints_.at(0); }
  const std::string& s() const { return strings_.at(0); }
  const ConstantPtr& t() const { return tensors_.at(0); }
  Graph& g() const { return *graphs_.at(0); }

  const std::vector<float>& floats() const { return floats_; }
  const std::vector<int64_t>& ints() const { return ints_; }
  const std::vector<std::string>& strings() const { return strings_; }
  const std::vector<ConstantPtr>& tensors() const { return tensors_; }
  const std::vector<std::unique_ptr<Graph>>& graphs() const { return graphs_; }
  const std::vector<TypePtr>& types() const { return types_; }

  // Hands out arrays that the constructors built for the C ABI.
  void FillAbi(EpAttributeInfo* info) const;

 private:
  Attribute(std::string name, AttributeType type);
  void BuildViews();

  std::string name_;
  AttributeType type_;
  std::vector<float> floats_;
  std::vector<int64_t> ints_;
  std::vector<std::string> strings_;
  std::vector<ConstantPtr> tensors_;
  std::vector<std::unique_ptr<Graph>> graphs_;
  std::vector<TypePtr> types_;
  std::vector<EpString> string_views_;
  std::vector<const EpTensorView*> tensor_views_;
  std::vector<const EpGraph*> graph_views_;
  std::vector<const EpTypeInfo*> type_views_;
};

}  // namespace epiphyte::core
