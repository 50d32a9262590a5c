#include "host/conformance/operators/runner.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "host/conformance/operators/case_model.h"

namespace epiphyte::operators {
namespace {

// Returns "" if a refusal's message is good, else the defect. Nodes of an inlined function have the call's name as a
// prefix. A node that replaced the call has the call's name and its own operator.
std::string WhyBadRefusal(const Case& c, const std::string& error) {
  const bool is_named = error.find("the_node") != std::string::npos &&
                        (error.find(c.op_type) != std::string::npos || error.find("'the_node/") != std::string::npos ||
                         error.find("node 'the_node' (") != std::string::npos);
  if (!is_named) return "is refused without the names of node and operator: " + error;
  if (error.find('\n') != std::string::npos) return "is refused by more than a line: " + error;
  for (const char* internal : {"std::", "bad_alloc", "vector::", "basic_string", "map::at"})
    if (error.find(internal) != std::string::npos) return "is refused by what failed inside: " + error;
  return "";
}

std::string TextOf(const core::Error& error) {
  return std::string(core::StatusCodeName(error.code())) + ": " + error.message();
}

// Returns whether the error says that no provider takes a node (SessionBuilder).
bool IsUnclaimed(const core::Error& error) {
  return error.code() == core::StatusCode::kNotImplemented && error.hint() == core::Hint::kShowPlacement;
}
// Returns the provider's reason: "it isn't a type that this plugin runs" from "no provider runs operator Add of node
// 'the_node': vulkan: it isn't …".
std::string ReasonOf(const core::Error& error, const std::string& provider) {
  const std::string& text = error.message();
  const size_t at = text.find("': ");
  std::string reason = at == std::string::npos ? text : text.substr(at + 3);
  if (const size_t more = text.find(" more nodes): "); more != std::string::npos) reason = text.substr(more + 14);
  if (reason.starts_with(provider + ": ")) reason.erase(0, provider.size() + 2);
  return reason;
}

std::string WhyDifferent(const Case& c, const std::vector<core::ValuePtr>& found, const Tolerance& tolerance) {
  size_t at = 0;
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    if (!c.outputs[i].array) continue;
    const std::string difference = Difference(c.outputs[i], *found.at(at++), tolerance);
    if (!difference.empty()) return "output " + std::to_string(i) + " " + difference;
  }
  return "";
}

}  // namespace

Runner::Runner(std::unique_ptr<core::Environment> environment, RunnerOptions options)
    : environment_(std::move(environment)), options_(std::move(options)) {
  environment_->catalog().Load(options_.provider);
}
Runner::~Runner() { keeper_.reset(); }

core::SessionOptions Runner::SessionOptionsOf() const {
  core::SessionOptions options;
  options.thread_count = 2;
  options.providers.push_back({options_.provider, options_.provider_options});
  options.Set("session.disable_cpu_ep_fallback", "1");
  return options;
}

void Runner::Keep(std::unique_ptr<core::Session> session) {
  if (keeper_ == nullptr) keeper_ = std::move(session);
}

Result Runner::Run(const Case& c, Random random) {
  const CaseModel model = MakeModel(c, random);
  std::string error;
  bool by_core = false;
  try {
    auto session =
        std::make_unique<core::Session>(*environment_, model.bytes.data(), model.bytes.size(), SessionOptionsOf());
    const std::vector<core::NodePlacement>& nodes = session->placement().nodes;
    by_core = std::none_of(nodes.begin(), nodes.end(),
                           [&](const core::NodePlacement& node) { return node.provider == options_.provider; });
    for (int run = 1; run <= 2; ++run) {
      const std::vector<core::ValuePtr> found = session->Run(model.inputs);
      if (c.fails) continue;
      const std::string difference = WhyDifferent(c, found, options_.tolerance);
      if (!difference.empty()) return {Verdict::kFailed, "run " + std::to_string(run) + ": " + difference};
    }
    if (!by_core) Keep(std::move(session));
  } catch (const core::Error& caught) {
    if (IsUnclaimed(caught)) return {Verdict::kNotClaimed, ReasonOf(caught, options_.provider)};
    error = TextOf(caught);
  }
  if (!c.fails)
    return error.empty() ? Result{by_core ? Verdict::kByCore : Verdict::kPassed, ""}
                         : Result{Verdict::kFailed, "fails: " + error};
  if (error.empty()) return {Verdict::kFailed, "is not refused"};
  if (error.find(c.refusal) == std::string::npos)
    return {Verdict::kFailed, "is refused without '" + c.refusal + "': " + error};
  const std::string bad = WhyBadRefusal(c, error);
  return {bad.empty() ? Verdict::kPassed : Verdict::kFailed, bad};
}

Result Runner::RunHostile(const Case& c, Random random) {
  const CaseModel model = MakeModel(c, random);
  core::SessionOptions options = SessionOptionsOf();
  options.Set("session.max_value_bytes", "100000000");
  options.Set("session.max_run_bytes", "300000000");
  try {
    core::Session(*environment_, model.bytes.data(), model.bytes.size(), options).Run(model.inputs);
    return {};
  } catch (const core::Error& error) {
    if (IsUnclaimed(error)) return {Verdict::kNotClaimed, ReasonOf(error, options_.provider)};
    const std::string bad = WhyBadRefusal(c, TextOf(error));
    return {bad.empty() ? Verdict::kPassed : Verdict::kFailed, bad};
  }
}

}  // namespace epiphyte::operators
