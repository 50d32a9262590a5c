// TestGraph: a graph that a check builds. NsdkView: the same graph as structs of nsdk.h, in memory of its own.
//
//   TestGraph graph("g");
//   const uint32_t x = graph.AddInput({.name = "x", .type = NSDK_INT8, .dims = {1, 4}, .scales = {0.5f}});
//   const uint32_t y = graph.AddTensor({.name = "y", .type = NSDK_INT8, .dims = {4}, .scales = {0.5f}});
//   graph.AddOp({.kind = NSDK_RESHAPE, .inputs = {x}, .outputs = {y}});
//   graph.outputs = {y};
//   NsdkView view(graph);
//   api.compile(context, view.get(), ...);
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "nsdk.h"

namespace epiphyte::nsdk_conformance {

using Bytes = std::vector<uint8_t>;

struct TestTensor {
  std::string name;
  uint32_t type = NSDK_INT8;
  std::vector<int64_t> dims;
  std::vector<float> scales;
  std::vector<int32_t> zero_points;  // empty: all are 0
  uint32_t axis = 0;
  Bytes data;  // empty: the tensor is no constant

  int64_t Elements() const;
  uint64_t Size() const;
  float Scale(size_t channel = 0) const;
  int32_t ZeroPoint(size_t channel = 0) const;
};

struct TestOp {
  uint32_t kind = 0;
  std::string name = "op";
  std::vector<uint32_t> inputs;
  std::vector<uint32_t> outputs;
  std::map<uint32_t, std::vector<int64_t>> ints;
  std::map<uint32_t, std::vector<float>> floats;

  int64_t Int(uint32_t key, int64_t otherwise) const;
  std::vector<int64_t> Ints(uint32_t key, size_t count, int64_t otherwise) const;
};

class TestGraph {
 public:
  explicit TestGraph(std::string name) : name(std::move(name)) {}
  uint32_t AddTensor(TestTensor tensor);
  uint32_t AddInput(TestTensor tensor);
  void AddOp(TestOp op) { ops.push_back(std::move(op)); }

  std::string name;
  std::vector<TestTensor> tensors;
  std::vector<TestOp> ops;
  std::vector<uint32_t> inputs, outputs;
};

uint64_t SizeOf(uint32_t type);
struct TypeRange {
  int64_t low, high;
};
TypeRange RangeOf(uint32_t type);

// Read and write element `index` of a tensor's bytes, as a stored number.
int64_t StoredAt(uint32_t type, const Bytes& bytes, size_t index);
void Store(uint32_t type, Bytes& bytes, size_t index, int64_t number);

// Random numbers over the whole range of the type.
Bytes RandomBytes(const TestTensor& tensor, std::mt19937& random);
std::vector<Bytes> RandomInputs(const TestGraph& graph, uint32_t seed);

struct ViewOptions {
  size_t longer_by = 0;       // bytes that each struct has behind what this header knows
  bool constant_data = true;  // false: constants have a size only
  bool read_only = false;     // in pages without write access
};

// A graph as NsdkGraph. Everything that it points to is in memory of the view, which is freed with it.
class NsdkView {
 public:
  explicit NsdkView(const TestGraph& graph, ViewOptions options = {});
  ~NsdkView();
  NsdkView(const NsdkView&) = delete;
  NsdkView& operator=(const NsdkView&) = delete;

  const NsdkGraph* get() const { return graph_; }

 private:
  char* memory_;
  size_t size_;
  const NsdkGraph* graph_;
};

}  // namespace epiphyte::nsdk_conformance
