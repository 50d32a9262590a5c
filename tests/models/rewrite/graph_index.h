// GraphIndex finds the producers and readers of a graph's values by name. It refers to the graph, which must not change
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
  int Producer(const std::string& value) const;                         // -1 if no node produces it
  const std::vector<int>& Readers(const std::string& value) const;      // a node appears once for each read
  const onnx::TensorProto* Initializer(const std::string& name) const;  // null if it is no initializer
  bool IsOutput(const std::string& value) const { return outputs_.contains(value); }
  // True if the body of a node reads the value.
  bool IsCaptured(const std::string& value) const { return captured_.contains(value); }
  // Returns the only reader of the value; -1 if there are several or none, or if the value is an output or captured.
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
