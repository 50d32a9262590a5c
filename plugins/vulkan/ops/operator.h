// Operator: what the plugin knows of one ONNX operator (or one of the kit's own), in one table: whether a node can run,
// what of its constants is packed when it is compiled, and which dispatches compute it.
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
// Every ops/<family>/<stem>.cpp defines Register_<stem>(OperatorTable&); the build generates the list. What an operator's
// inputs, outputs and attributes are (number, types, ranks, ranges) is the kit's signature, which is matched first, for
// claims and for what contexts say alike: `types` is the set of the first input's type (the output's when there is
// none), and `check` adds what only this plugin wants.
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
// Types that operators which only move elements take: any of 1, 2, 4 or 8 bytes.
inline constexpr kit::TypeSet kMovableTypes = kit::kFloats | kit::kIntegers | kit::Types(EP_TYPE_BOOL);

class Recording;
class Packing;

// A node that may be claimed or that a context holds, with the facts known before the run.
class NodeCheck {
 public:
  // `on_host`: by value of the graph, whether its elements will be known to the host when a program is made.
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
  // The bytes of a constant input; null when it is none, or its bytes are gone because they were packed.
  const ir::Tensor* Constant(size_t i) const;
  bool IsConstant(size_t i) const { return HasInput(i) && graph_.FindConstant(node_.inputs[i]) != nullptr; }
  // Input i is left out, or the host will know its elements: a constant, or computed of shapes.
  bool OnHost(size_t i) const { return !HasInput(i) || on_host_[static_cast<size_t>(node_.inputs[i])]; }
  // "" when OnHost, else the reason that reports show: "input 1 is computed on the device, and a shape depends on it".
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
  // Why the node can't run here, or "". Null: whatever the signature lets through can.
  std::string (*check)(const NodeCheck& check) = nullptr;
  // Once, when a partition is compiled: makes packed data of constants (Packing, recording.h). Null: nothing is packed.
  void (*pack)(Packing& packing) = nullptr;
  // For each combination of shapes: declares outputs and adds dispatches (recording.h).
  void (*record)(Recording& recording) = nullptr;
  // Inputs whose elements record needs on the host, as bits: 1u << 1 for input 1.
  uint32_t host_inputs = 0;
  // It computes the same on the host, if the host knows all of its inputs (null: left out) and they are small:
  // ops/host/host_compute.h. Null: never. Throws kit::Error for what makes no sense. Nothing is returned when a result
  // has more than kMostHostElements: then record does it on the device.
  std::vector<HostTensor> (*on_host)(const ir::Node& node, std::span<const HostTensor* const> inputs) = nullptr;
  // The outputs depend on the inputs' shapes alone, and record gives all of them by OutputOnHost: Shape, Size.
  bool of_shapes = false;
  // Number of buffers that its dispatches bind at once. A device that binds fewer doesn't get the node. Dispatches
  // allowed by Recording::Binds may bind more.
  uint32_t bindings = kLeastBindings;
  // The first output can be written over the first input, of equal size: each element is read before it is written.
  bool in_place = false;
};

class OperatorTable {
 public:
  // Throws for two that overlap.
  void Add(const Operator& op);
  // The operator of a node, or null. There may be several for different types of the first input.
  const Operator* Find(std::string_view domain, std::string_view op_type, int64_t since_version,
                       EpElementType type) const;
  // The only way from a node to its operator, for claims, compilation and contexts alike: the kit's signature, the types
  // that the device can hold and compute with, sizes within its limits, Operator::check. Null with the reason.
  const Operator* Choose(const ir::Graph& graph, const ir::Node& node, const Capabilities& capabilities,
                         const std::vector<bool>& on_host, std::string* why) const;
  void ForEach(const std::function<void(const Operator&)>& visit) const;

 private:
  std::map<std::pair<std::string_view, std::string_view>, std::vector<Operator>> operators_;  // by domain and type
};

// Every Register_<stem> of ops/; the build generates it.
void RegisterAllOperators(OperatorTable& table);

}  // namespace epiphyte::vulkan
