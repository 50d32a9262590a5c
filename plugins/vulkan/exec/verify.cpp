#include "plugins/vulkan/exec/verify.h"

#include <set>
#include <utility>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/graph/check.hpp"

namespace epiphyte::vulkan {
namespace {

template <typename... Parts>
[[noreturn]] void Refuse(const Parts&... parts) {
  kit::FailWith(EP_STATUS_INVALID_GRAPH, parts...);
}

class Verifier {
 public:
  Verifier(const ir::Graph& graph, const OperatorTable& operators, const Capabilities& capabilities)
      : graph_(graph), operators_(operators), capabilities_(capabilities) {}

  VerifiedGraph Run(std::span<const kit::PackedData> packed) {
    ir::Check(graph_);
    VerifiedGraph verified;
    verified.host_values = FindHostValues(graph_, operators_);
    for (const ir::Node& node : graph_.nodes) {
      std::string why;
      verified.operators.push_back(
          operators_.Choose(graph_, node, capabilities_, verified.host_values.known, &why));
      if (verified.operators.back() == nullptr)
        kit::FailWith(EP_STATUS_NOT_IMPLEMENTED, "node '", node.name, "' (", node.op_type, "): ", why);
    }
    CheckPacked(packed, verified.operators);
    CheckDropped(packed);
    return verified;
  }

 private:
  void CheckPacked(std::span<const kit::PackedData> packed, const std::vector<const Operator*>& operators) const {
    std::set<std::pair<int32_t, std::string_view>> known;
    for (const kit::PackedData& entry : packed) {
      if (entry.node < 0 || static_cast<size_t>(entry.node) >= graph_.nodes.size())
        Refuse("packed data belongs to node ", entry.node, " of ", graph_.nodes.size());
      const std::string& name = graph_.nodes[static_cast<size_t>(entry.node)].name;
      if (operators[static_cast<size_t>(entry.node)]->pack == nullptr)
        Refuse("packed data '", entry.key, "' belongs to node '", name, "', whose operator packs nothing");
      if (entry.data == nullptr && entry.bytes != 0) Refuse("packed data '", entry.key, "' is not there");
      if (entry.bytes > capabilities_.max_buffer_range)
        Refuse("packed data '", entry.key, "' of node '", name, "' takes ", entry.bytes,
               " bytes, one buffer of the device holds ", capabilities_.max_buffer_range);
      if (!known.emplace(entry.node, entry.key).second)
        Refuse("packed data '", entry.key, "' of node '", name, "' is there twice");
    }
  }

  // A constant without bytes was packed by each node that reads it, so it can't be much larger than what that node
  // packed. It may be up to 8 times as large, because packed numbers may be narrower than plain ones.
  void CheckDropped(std::span<const kit::PackedData> packed) const {
    std::vector<uint64_t> packed_by_node(graph_.nodes.size(), 0);
    for (const kit::PackedData& entry : packed) packed_by_node[static_cast<size_t>(entry.node)] += entry.bytes;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (const int32_t input : graph_.nodes[n].inputs) {
        const ir::Constant* constant = graph_.FindConstant(input);
        if (constant == nullptr || constant->storage != ir::Constant::Storage::kDropped) continue;
        if (constant->tensor.Bytes() / 8 > packed_by_node[n])
          Refuse("constant '", graph_.values[static_cast<size_t>(input)].name, "' has ", constant->tensor.Bytes(),
                 " bytes, of which node '", graph_.nodes[n].name, "' packed ", packed_by_node[n]);
      }
    }
    for (const int32_t output : graph_.outputs) {
      const ir::Constant* constant = graph_.FindConstant(output);
      if (constant != nullptr && constant->storage == ir::Constant::Storage::kDropped)
        Refuse("constant '", graph_.values[static_cast<size_t>(output)].name, "' is an output, but its bytes are gone");
    }
  }

  const ir::Graph& graph_;
  const OperatorTable& operators_;
  const Capabilities& capabilities_;
};

}  // namespace

VerifiedGraph VerifyGraph(const ir::Graph& graph, std::span<const kit::PackedData> packed,
                          const OperatorTable& operators, const Capabilities& capabilities, GraphOrigin origin) {
  try {
    return Verifier(graph, operators, capabilities).Run(packed);
  } catch (const kit::Error& error) {
    if (origin == GraphOrigin::kMadeNow) throw;
    Refuse("the vulkan context is damaged, or was made for a device that can do more: partition '", graph.name,
           "': ", error.what(), "; compile the model again");
  }
}

}  // namespace epiphyte::vulkan
