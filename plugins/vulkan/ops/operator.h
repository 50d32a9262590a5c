// Operator: a row of the plugin's table of operators, which has ONNX's and the kit's own. A row says whether a node can
// run, which of its constants are packed when it is compiled, and which dispatches compute it.
//
//     std::string CheckGemm(const NodeCheck& check) {
//       return check.Float("alpha", 1) == 0 ? "alpha is 0" : "";
//     }
//     void RecordGemm(Recording& r) { … }
//
//     void Register_gemm(OperatorTable& table) {
//       table.Add({.op_type = "Gemm", .types = kDeviceFloats, .check = CheckGemm, .record = RecordGemm});
//     }
//
// Every ops/<family>/<stem>.cpp defines Register_<stem>(OperatorTable&); the build generates the list of them. The
// kit's signature describes an operator's inputs, outputs and attributes (number, types, ranks, ranges). A node must
// match it first, whether it is claimed or comes from a context. `types` has the possible types of the first input, or
// of the output if there is no input. `check` adds what only this plugin demands.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "epiphyte/kit/graph/ir.hpp"
#include "epiphyte/kit/signature/signature.hpp"
#include "plugins/vulkan/device/capabilities.h"
#include "plugins/vulkan/program/host_tensor.h"

namespace epiphyte::vulkan {

namespace ir = kit::ir;

inline constexpr kit::TypeSet kDeviceFloats = kit::Types(EP_TYPE_FLOAT, EP_TYPE_FLOAT16);
inline constexpr kit::TypeSet kDeviceIntegers =
    kit::Types(EP_TYPE_INT32, EP_TYPE_INT64, EP_TYPE_INT8, EP_TYPE_UINT8, EP_TYPE_UINT32);
// Types of operators that only move elements, which may have 1, 2, 4 or 8 bytes.
inline constexpr kit::TypeSet kMovableTypes = kit::kFloats | kit::kIntegers | kit::Types(EP_TYPE_BOOL);

class Recording;
class Packing;

// NodeCheck: a node that may be claimed or that a context holds, with the facts known before the run.
class NodeCheck {
 public:
  // `on_host` says for each value of the graph whether the host will know its elements when a program is made.
  NodeCheck(const ir::Graph& graph, const ir::Node& node, const Capabilities& capabilities,
            const std::vector<bool>& on_host)
      : graph_(graph), node_(node), capabilities_(capabilities), on_host_(on_host) {}

  const ir::Node& node() const { return node_; }
  const Capabilities& capabilities() const { return capabilities_; }
  bool HasInput(size_t i) const { return node_.HasInput(i); }
  bool HasOutput(size_t i) const { return node_.HasOutput(i); }
  // Input or output i, which must be present.
  const ir::Value& Input(size_t i) const { return graph_.values[static_cast<size_t>(node_.inputs[i])]; }
  const ir::Value& Output(size_t i) const { return graph_.values[static_cast<size_t>(node_.outputs[i])]; }
  EpElementType InputType(size_t i) const { return HasInput(i) ? Input(i).type : EP_TYPE_UNDEFINED; }
  // The constant that input i is. Null if it is no constant, or if its bytes were dropped after packing.
  const ir::Tensor* Constant(size_t i) const;
  bool IsConstant(size_t i) const { return HasInput(i) && graph_.FindConstant(node_.inputs[i]) != nullptr; }
  // Whether input i is left out, or the host will know its elements: those of a constant, or of a value that is
  // computed from shapes.
  bool OnHost(size_t i) const { return !HasInput(i) || on_host_[static_cast<size_t>(node_.inputs[i])]; }
  // "" if OnHost, else the reason for reports: "input 1 is computed on the device, and the host needs its elements
  // before".
  std::string NeedsHost(size_t i) const;

 private:
  const ir::Graph& graph_;
  const ir::Node& node_;
  const Capabilities& capabilities_;
  const std::vector<bool>& on_host_;
};

struct Operator {
  std::string_view op_type;
  std::string_view domain = "";
  int64_t first_version = 1;
  int64_t last_version = INT64_MAX;
  kit::TypeSet types = kDeviceFloats;
  // Returns why the node can't run here, or "". Null: every node that matches the signature can run.
  std::string (*check)(const NodeCheck& check) = nullptr;
  // Makes packed data of constants (Packing, recording.h), once, when a partition is compiled. Null: nothing is packed.
  void (*pack)(Packing& packing) = nullptr;
  // Declares outputs and adds dispatches (recording.h), once for each combination of input shapes.
  void (*record)(Recording& recording) = nullptr;
  // Bit mask of the inputs with elements that `record` needs on the host: 1u << 1 for input 1.
  uint32_t host_inputs = 0;
  // Computes the node on the host instead, if the host knows all inputs (null: left out) and they are small
  // (ops/host/host_compute.h). Throws kit::Error for invalid arguments. Returns nothing if a result has more than
  // kMostHostElements; `record` then computes it on the device. Null: the device always computes the node.
  std::vector<HostTensor> (*on_host)(const ir::Node& node, std::span<const HostTensor* const> inputs) = nullptr;
  // The outputs depend on the inputs' shapes alone, and `record` gives all of them by OutputOnHost: Shape, Size.
  bool of_shapes = false;
  // Largest number of buffers that a dispatch binds. A device that binds fewer doesn't get the node. A dispatch may
  // bind more if Recording::Binds allowed it.
  uint32_t bindings = kLeastBindings;
  // The first output may take the memory of the first input, which has the same size: each element is read before it is
  // written.
  bool in_place = false;
};

class OperatorTable {
 public:
  // Throws if the table has an operator of that name with overlapping versions and types.
  void Add(const Operator& op);
  // The operator of a node, or null. There may be several for different types of the first input; UNDEFINED finds any.
  const Operator* Find(std::string_view domain, std::string_view op_type, int64_t since_version,
                       EpElementType type) const;
  // The operator that can run a node, or null with the reason. Claims, compilation and contexts all find operators by
  // this function. It checks the kit's signature, whether the device can hold the types and compute with them, the
  // sizes against the device's limits, and Operator::check.
  const Operator* Choose(const ir::Graph& graph, const ir::Node& node, const Capabilities& capabilities,
                         const std::vector<bool>& on_host, std::string* why) const;
  void ForEach(const std::function<void(const Operator&)>& visit) const;

 private:
  std::map<std::pair<std::string_view, std::string_view>, std::vector<Operator>> operators_;  // by domain and name
};

// Calls every Register_<stem> of ops/. The build generates this function.
void RegisterAllOperators(OperatorTable& table);

}  // namespace epiphyte::vulkan
