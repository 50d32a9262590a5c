// GraphRewriter writes the nodes of a graph anew, one after the other. Each node becomes one or several others.
//
//   GraphRewriter rewriter(model.mutable_graph());
//   for (onnx::NodeProto& node : rewriter.TakeNodes()) {
//     if (node.op_type() != "Relu") rewriter.Keep(std::move(node));
//     else rewriter.Emit("Max", {node.input(0), rewriter.Floats("zero", {}, {0})}, node.output(0));
//   }
//   rewriter.DropUnused();
#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <string>
#include <vector>

#include "tests/models/builder.h"
#include "tests/models/rewrite/model_file.h"

namespace epiphyte::test {

class GraphRewriter {
 public:
  using Elem = onnx::TensorProto::DataType;

  // Keeps a reference to the graph. Bodies of nodes are not rewritten.
  explicit GraphRewriter(onnx::GraphProto* graph);

  // Removes all nodes from the graph and returns them in order. Call it once.
  std::vector<onnx::NodeProto> TakeNodes();

  void Keep(onnx::NodeProto node) { *graph_.add_node() = std::move(node); }
  // Adds a node and returns the name of its output: `output`, or a new name if `output` is empty.
  std::string Emit(const std::string& op_type, const std::vector<std::string>& inputs, const std::string& output = "",
                   const std::vector<Attribute>& attributes = {}, const std::string& domain = "");

  // Returns the tensor of an initializer or of a Constant node's `value`; null for any other value. Valid until the
  // next initializer is added.
  const onnx::TensorProto* Constant(const std::string& value) const;
  // Returns the numbers of a constant INT64 tensor. Throws std::invalid_argument for any other value.
  std::vector<int64_t> IntsOf(const std::string& value) const;

  // The next three functions add an initializer and return its name. An existing initializer with that name is kept.
  std::string Floats(const std::string& name, const std::vector<int64_t>& dims, const std::vector<float>& values);
  std::string Ints(const std::string& name, const std::vector<int64_t>& dims, const std::vector<int64_t>& values);
  std::string Bytes(const std::string& name, Elem type, const std::vector<int64_t>& dims, std::string bytes);

  // Removes nodes and initializers that nothing reads any more.
  void DropUnused();

 private:
  void Remember();

  onnx::GraphProto& graph_;
  std::map<std::string, onnx::TensorProto> small_;  // tensors of Constant nodes, by output
  std::map<std::string, int> initializers_;
  int made_ = 0;
};

// Adds the attribute, or replaces the one with its name.
void SetAttribute(onnx::NodeProto* node, const Attribute& attribute);
void EraseAttribute(onnx::NodeProto* node, const std::string& name);

// Returns the elements of a FLOAT tensor that is stored inside the model.
std::vector<float> FloatsOf(const onnx::TensorProto& tensor);

}  // namespace epiphyte::test
