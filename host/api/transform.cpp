// Presents an application's transforms and rewrite rules to the core as transforms.
#include "epiphyte/transform.hpp"

#include <algorithm>
#include <utility>

#include "core/transform/application_transforms.h"
#include "host/api/access.h"
#include "host/api/graph_state.h"

namespace epiphyte {
namespace {

constexpr size_t kMostNameBytes = 128;

bool MayBeInName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
         c == '-' || c == ':' || c == '/';
}

// Calls a function of the application. An epiphyte::Error keeps its code.
template <typename Call>
auto CallOut(Call&& call) {
  try {
    return call();
  } catch (const Error& error) {
    throw core::Error(static_cast<core::StatusCode>(error.code()), error.what(), static_cast<core::Hint>(error.hint()));
  }
}

// A graph with handles that are valid as long as this object lives.
class OpenGraph {
 public:
  OpenGraph(core::Graph& graph, const std::string& transform)
      : state_(std::make_shared<GraphState>(graph, transform)) {}
  ~OpenGraph() { state_->Close(); }
  OpenGraph(const OpenGraph&) = delete;
  OpenGraph& operator=(const OpenGraph&) = delete;

  GraphState& operator*() const { return *state_; }
  GraphState* operator->() const { return state_.get(); }

 private:
  std::shared_ptr<GraphState> state_;
};

class WholeGraph final : public core::ApplicationTransform {
 public:
  explicit WholeGraph(GraphTransform transform)
      : ApplicationTransform("transform", transform.name, transform.version), apply_(std::move(transform.apply)) {}

  core::GraphChanges Apply(core::Graph& graph, const core::ProgressCallback&) override {
    OpenGraph open(graph, name());
    GraphEditor editor = open->Edit();
    CallOut([&] { apply_(editor); });
    return open->TakeChanges();
  }

 private:
  std::function<void(GraphEditor&)> apply_;
};

class NodeByNode final : public core::ApplicationTransform {
 public:
  explicit NodeByNode(RewriteRule rule)
      : ApplicationTransform("rewrite rule", rule.name, rule.version), rule_(std::move(rule)) {
    if (rule_.domain == "ai.onnx") rule_.domain.clear();
  }

  // Walks the graph until no node matches, because a rewrite may enable another one.
  core::GraphChanges Apply(core::Graph& graph, const core::ProgressCallback& on_progress) override {
    constexpr uint64_t kMostRewritesPerNode = 16;
    const uint64_t nodes = graph.node_count();
    OpenGraph open(graph, name());
    Walk walk{*open, graph, on_progress, 64 + kMostRewritesPerNode * nodes};
    while (WalkOnce(walk)) {
    }
    return open->TakeChanges();
  }

 private:
  struct Walk {
    GraphState& state;
    core::Graph& graph;
    const core::ProgressCallback& on_progress;
    uint64_t most_rewrites;
    uint64_t rewrites = 0;
  };

  bool WalkOnce(Walk& walk) const {
    const uint64_t before = walk.rewrites;
    // Added nodes are at the end and are visited, too.
    for (size_t i = 0; i < walk.graph.nodes().size(); ++i) {
      if (i % core::kNodesPerReport == 0) core::ReportProgress(walk.on_progress, i, walk.graph.nodes().size(), name());
      while (RewriteNode(walk, walk.graph.nodes()[i].get())) {
      }
    }
    return walk.rewrites != before;
  }

  // Returns true if the node was rewritten.
  bool RewriteNode(Walk& walk, core::Node* node) const {
    if (node == nullptr || (!rule_.op_type.empty() && !node->Is(rule_.op_type, rule_.domain))) return false;
    const uint64_t edits = walk.state.edits();
    const GraphNode handle = walk.state.HandleOf(node);
    if (rule_.matches && !CallOut([&] { return rule_.matches(handle); })) return false;
    GraphEditor editor = walk.state.Edit();
    CallOut([&] { rule_.rewrite(editor, handle); });
    if (walk.state.edits() == edits) return false;
    if (++walk.rewrites < walk.most_rewrites) return true;
    core::Fail(core::StatusCode::kFail,
               "it was stopped after {} rewrites; `matches` must be false for the nodes that it adds", walk.rewrites);
  }

  RewriteRule rule_;
};

void CheckName(const core::ApplicationTransforms& known, const std::string& name) {
  const bool usable =
      !name.empty() && name.size() <= kMostNameBytes && std::all_of(name.begin(), name.end(), MayBeInName);
  if (!usable) {
    core::Fail(core::StatusCode::kInvalidArgument,
               "'{}' is no name for a transform; 1 to {} letters, digits, '.', '_', '-', ':' and '/' expected", name,
               kMostNameBytes);
  }
  const bool taken = std::any_of(known.begin(), known.end(), [&](const auto& other) { return other->name() == name; });
  if (taken) {
    core::Fail(core::StatusCode::kInvalidArgument, "transform '{}' was added already; give each a name of its own",
               name);
  }
}

void RequireFunction(bool is_there, const std::string& name, std::string_view function) {
  if (is_there) return;
  core::Fail(core::StatusCode::kInvalidArgument, "transform '{}' has no function '{}'; set it", name, function);
}

}  // namespace

SessionOptions& SessionOptions::AddTransform(GraphTransform transform) {
  WithPublicErrors([&] {
    CheckName(impl_->options.transforms, transform.name);
    RequireFunction(transform.apply != nullptr, transform.name, "apply");
    impl_->options.transforms.push_back(std::make_shared<WholeGraph>(std::move(transform)));
  });
  return *this;
}

SessionOptions& SessionOptions::AddRewriteRule(RewriteRule rule) {
  WithPublicErrors([&] {
    CheckName(impl_->options.transforms, rule.name);
    RequireFunction(rule.rewrite != nullptr, rule.name, "rewrite");
    impl_->options.transforms.push_back(std::make_shared<NodeByNode>(std::move(rule)));
  });
  return *this;
}

}  // namespace epiphyte
