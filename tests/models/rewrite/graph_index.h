// GraphIndex: who makes and who reads the values of a graph, by name. It refers to the graph, which must not change
// meanwhile.
//
//   const GraphIndex index(model.graph());
//   if (index.ReaderCount("x") == 1 && index.Producer("x") >= 0) …
#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace epiphyte::test {

class GraphIndex {
 public:
  explicit GraphIndex(const onnx::GraphProto& graph);

  const onnx::GraphProto& graph() const { return *graph_; }
  const onnx::NodeProto& node(int n) const { return graph_->node(n); }
  int Producer(const std::string& value) const;                         // -1: none
  const std::vector<int>& Readers(const std::string& value) const;      // a node for each time that it reads the value
  const onnx::TensorProto* Initializer(const std::string& name) const;  // null: it is none
  bool IsOutput(const std::string& value) const { return outputs_.contains(value); }
  // Read in the body of a node.
  bool IsCaptured(const std::string& value) const { return captured_.contains(value); }
  // The one node that reads it and can have it to itself; -1: several, none, or it is an output or captured.
  int OnlyReader(const std::string& value) const;

 private:
  void AddCaptured(const onnx::GraphProto& body);

  const onnx::GraphProto* graph_;
  std::map<std::string, int> producers_;
  std::map<std::string, std::vector<int>> readers_;
  std::map<std::string, const onnx::TensorProto*> initializers_;
  std::set<std::string> outputs_, captured_;
};

}  // namespace epiphyte::test
