// GraphBuilder writes ONNX graphs the way an exporter does: scoped node names, small constants as Constant nodes,
// weights as initializers.
//
//   GraphBuilder graph("tiny");
//   std::string x = graph.Input("x", onnx::TensorProto::FLOAT, {1, "seq", 64});
//   std::string y = graph.Node("MatMul", {x, graph.Random("w", {64, 8}, 0.1f)});
//   graph.Output(graph.Node("Softmax", {y}, {{"axis", -1}}), "probabilities", onnx::TensorProto::FLOAT, {1, "seq", 8});
//   onnx::ModelProto model = FinishModel(std::move(graph), 17);
#pragma once

#include <onnx/onnx_pb.h>

#include <concepts>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace epiphyte::test {

class ExternalWeights;

// A dimension of a shape: a size or a symbol.
struct Dimension {
  template <std::integral T>
  Dimension(T size) : size(static_cast<int64_t>(size)) {}
  Dimension(const char* name) : symbol(name) {}

  int64_t size = 0;
  std::string symbol;
};

struct Attribute {
  template <std::integral T>
  Attribute(std::string attribute_name, T number) : name(std::move(attribute_name)), value(int64_t{number}) {}
  Attribute(std::string attribute_name, float number) : name(std::move(attribute_name)), value(number) {}
  Attribute(std::string attribute_name, const char* text) : name(std::move(attribute_name)), value(std::string(text)) {}
  Attribute(std::string attribute_name, std::vector<int64_t> numbers)
      : name(std::move(attribute_name)), value(std::move(numbers)) {}
  Attribute(std::string attribute_name, onnx::GraphProto graph)
      : name(std::move(attribute_name)), value(std::move(graph)) {}
  Attribute(std::string attribute_name, onnx::TensorProto tensor)
      : name(std::move(attribute_name)), value(std::move(tensor)) {}

  std::string name;
  std::variant<int64_t, float, std::string, std::vector<int64_t>, onnx::GraphProto, onnx::TensorProto> value;
};

void WriteAttribute(const Attribute& attribute, onnx::AttributeProto* proto);

class GraphBuilder {
 public:
  using Elem = onnx::TensorProto::DataType;

  // If `external` is given, large weights are written to that file. It must outlive the builder.
  explicit GraphBuilder(std::string name, ExternalWeights* external = nullptr);

  // Sets the prefix of the names of the nodes that follow, such as "/encoder/layer.0".
  void SetScope(std::string scope) { scope_ = std::move(scope); }

  std::string Input(const std::string& name, Elem type, const std::vector<Dimension>& dims);
  // Makes `value` an output and renames it to `name`.
  void Output(const std::string& value, const std::string& name, Elem type, const std::vector<Dimension>& dims);

  // The next three functions add an initializer and return its name.
  std::string Random(const std::string& name, const std::vector<int64_t>& dims, float deviation, float mean = 0);
  std::string Floats(const std::string& name, const std::vector<int64_t>& dims, const std::vector<float>& values);
  std::string Ints(const std::string& name, const std::vector<int64_t>& dims, const std::vector<int64_t>& values);

  // The next four functions add a Constant node and return the name of its output.
  std::string FloatConstant(float value);
  std::string IntConstant(int64_t value);                        // a constant of rank 0
  std::string IntsConstant(const std::vector<int64_t>& values);  // a constant of rank 1
  std::string BoolConstant(bool value);

  // Node adds a node and returns its only output; NodeWithOutputs returns all outputs.
  std::string Node(const std::string& op_type, const std::vector<std::string>& inputs,
                   const std::vector<Attribute>& attributes = {});
  std::vector<std::string> NodeWithOutputs(const std::string& op_type, const std::vector<std::string>& inputs,
                                           int output_count, const std::vector<Attribute>& attributes = {});

  onnx::GraphProto Take() { return std::move(graph_); }

 private:
  onnx::TensorProto* AddInitializer(const std::string& name, Elem type, const std::vector<int64_t>& dims);

  onnx::GraphProto graph_;
  ExternalWeights* external_;
  std::string scope_;
  int64_t node_count_ = 0;
};

// Returns a complete model at the given opset of ai.onnx, stamped with this generator's name and revision.
onnx::ModelProto FinishModel(GraphBuilder graph, int opset);

// Marks a model as made by this generator. `variant` distinguishes several models that are made of the same one.
void StampModel(onnx::ModelProto* model, int64_t opset, const std::string& variant = "");

// Returns the first bytes of every model with that stamp. They distinguish a current file from that of an older
// generator.
std::string ModelStamp(int64_t opset, const std::string& variant = "");

}  // namespace epiphyte::test
