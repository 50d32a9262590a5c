// UnclaimedCalls: function calls that were kept whole because a provider claimed them, although the claim failed later.
// For example, the other nodes of the claimed group went to another provider. No provider runs such a call as it
// stands, so the next attempt replaces it by its body.
//
// Calls are identified by their outputs, because inlining gives the same names each time. If that doesn't work, all
// calls of the function are inlined.
//
//   if (std::vector<UnclaimedCall> more = calls.FindMore(model, placement, schemas); !more.empty()) calls.Add(more);
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/graph/graph.h"
#include "core/onnx/schema/operator_schemas.h"
#include "core/partition/placement.h"

namespace epiphyte::core {

// Body of a call, and why no provider runs the call as a whole. It explains the presence of the body's nodes if no
// provider runs one of them.
struct UnclaimedBody {
  std::string prefix;  // prefix of the names of its nodes
  std::string label;   // label of the call
  std::vector<Decline> declines;
};

struct UnclaimedCall {
  std::string domain;
  std::string op_type;
  std::string output;  // its first output; "": all calls of the function are meant
  std::optional<UnclaimedBody> body;
};

class UnclaimedCalls {
 public:
  bool Contains(const Node& call) const;
  // Calls of the partitioned model that no provider has, and that are not in here yet. Empty: there are none.
  std::vector<UnclaimedCall> FindMore(Model& model, const Placement& placement, const OperatorSchemas& schemas) const;
  void Add(std::vector<UnclaimedCall> calls);
  const std::vector<UnclaimedBody>& bodies() const { return bodies_; }

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  // domain, op_type, output

  std::set<Key> keys_;
  std::vector<UnclaimedBody> bodies_;
  size_t rounds_ = 0;  // number of calls to Add
};

}  // namespace epiphyte::core
