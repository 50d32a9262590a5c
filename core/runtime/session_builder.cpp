#include "core/runtime/session_builder.h"

#include <algorithm>
#include <sstream>
#include <unordered_set>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/context/context_loader.h"
#include "core/context/context_model.h"
#include "core/onnx/inference.h"
#include "core/onnx/model_reader.h"
#include "core/runtime/constant_evaluator.h"
#include "core/runtime/control_flow.h"
#include "core/transform/transform.h"

namespace epiphyte::core {
namespace {

// "model_ctx" → "model": binaries are named after the source model.
std::string StemOf(const std::filesystem::path& context_model) {
  std::string stem = context_model.stem().string();
  if (stem.size() > 4 && stem.ends_with("_ctx")) stem.resize(stem.size() - 4);
  return stem;
}

ReadOptions MakeReadOptions(const SessionOptions& options) {
  ReadOptions read;
  read.external_data_folder = options.Get("session.model_external_initializers_file_folder_path");
  read.keep_function = [](const Node&) { return true; };  // functions are inlined when it is known who claims them
  return read;
}

std::vector<std::string> SplitNames(const std::string& list) {
  std::vector<std::string> names;
  std::istringstream stream(list);
  for (std::string name; std::getline(stream, name, ';');) {
    if (!name.empty()) names.push_back(name);
  }
  return names;
}

}  // namespace

SessionBuilder::SessionBuilder(Environment& environment, const SessionOptions& options, ThreadPool* pool,
                               Profiler* profiler)
    : environment_(environment), options_(options), pool_(pool), profiler_(profiler) {}

void SessionBuilder::ReadFile(const std::filesystem::path& path) {
  model_path_ = path;
  MakeContextTarget();
  {
    Profiler::Span span(profiler_, "session", "read model");
    model_ = ReadModelFile(path, MakeReadOptions(options_));
  }
  Prepare();
}

void SessionBuilder::ReadMemory(const void* bytes, size_t size) {
  MakeContextTarget();
  {
    Profiler::Span span(profiler_, "session", "read model");
    model_ = ReadModelMemory(bytes, size, nullptr, MakeReadOptions(options_));
  }
  Prepare();
}

// Before anything expensive, so that a wrong target fails at once.
void SessionBuilder::MakeContextTarget() {
  if (!options_.GetBool("ep.context_enable")) return;
  ContextTarget target;
  target.model = options_.Get("ep.context_file_path");
  if (target.model.empty() && !model_path_.empty()) {
    target.model = model_path_.parent_path() / (model_path_.stem().string() + "_ctx.onnx");
  }
  target.binary_stem = StemOf(target.model);
  target.source_model_name = model_path_.filename().string();
  target.external_initializers = options_.Get("ep.context_model_external_initializers_file_name");
  target.node_name_prefix = options_.Get("ep.context_node_name_prefix");
  target.embed = options_.GetBool("ep.context_embed_mode");
  target.overwrite = options_.GetBool("epiphyte.context_overwrite");
  std::error_code error;
  if (!model_path_.empty() && std::filesystem::equivalent(target.model, model_path_, error)) {
    Fail(StatusCode::kInvalidArgument, "ep.context_file_path '{}' is the source model itself; choose another file",
         target.model.string());
  }
  generator_ = std::make_unique<ContextGenerator>(std::move(target));
}

void SessionBuilder::Prepare() {
  for (const ValueDef* input : model_.graph->inputs()) inputs_.push_back({input->name(), input->type()});
  providers_ = MakeProviders(environment_.catalog(), options_, pool_, generator_ != nullptr);
  context_nodes_.resize(providers_.size());
  {
    Profiler::Span span(profiler_, "session", "inline functions");
    InlineUnclaimedFunctions();
  }
  int level = std::stoi(options_.Get("epiphyte.graph_optimization_level"));
  if (level > 0) {
    Profiler::Span span(profiler_, "session", "transform");
    const ProviderSlot* fallback = Fallback();
    ConstantEvaluator evaluator(fallback == nullptr ? nullptr : fallback->plugin, pool_);
    TransformContext context;
    context.evaluate = [&](const Node& node, std::vector<ConstantPtr>* outputs) {
      return evaluator.Evaluate(node, outputs);
    };
    TransformPipeline pipeline = TransformPipeline::Default();
    pipeline.Disable(SplitNames(options_.Get("optimization.disable_specified_optimizers")));
    if (!pipeline.Run(*model_.graph, static_cast<TransformLevel>(level), context).empty()) InferTypes(*model_.graph);
  }
  for (const ValueDef* output : model_.graph->outputs()) outputs_.push_back({output->name(), output->type()});
}

const ProviderSlot* SessionBuilder::Fallback() const {
  auto found =
      std::find_if(providers_.begin(), providers_.end(), [](const ProviderSlot& slot) { return slot.fallback; });
  return found == providers_.end() ? nullptr : &*found;
}

// A function operator stays whole when some provider claims it; else its body takes its place, which may hold further
// functions. Providers are asked only if there is such an operator at all.
void SessionBuilder::InlineUnclaimedFunctions() {
  constexpr int kMaxRounds = 16;  // deeper nesting of functions than this is a mistake in the model
  for (int round = 0; round < kMaxRounds; ++round) {
    std::unordered_set<const Node*> claimed;
    bool asked = false;
    auto ask = [&](auto&& self, Graph& graph) -> void {
      for (ProviderSlot& slot : providers_) {
        for (const std::vector<Node*>& unit : slot.provider->GetCapability(graph).units)
          claimed.insert(unit.begin(), unit.end());
      }
      for (const auto& node : graph.nodes()) {
        if (!node) continue;
        for (Graph* body : node->subgraphs()) self(self, *body);
      }
    };
    bool inlined = InlineFunctions(model_, [&](const Node& node) {
      if (!asked) {
        model_.graph->Finalize();
        ask(ask, *model_.graph);
        asked = true;
      }
      return claimed.contains(&node);
    });
    if (!inlined) return;
    InferTypes(*model_.graph);
  }
}

void SessionBuilder::PlaceContextNodes() {
  for (Node* node : FindContextNodes(*model_.graph)) {
    if (generator_ != nullptr) {
      Fail(StatusCode::kInvalidGraph,
           "the model is a context model already (node '{}'); give the source model to ep.context_enable",
           node->name());
    }
    std::string source = ReadContextAttributes(*node).source;
    std::string owner = environment_.catalog().OwnerOfSource(source);
    if (owner.empty()) {
      std::vector<std::string> known;
      for (const PluginEntry& entry : environment_.catalog().entries()) {
        known.insert(known.end(), entry.manifest.sources.begin(), entry.manifest.sources.end());
      }
      Fail(StatusCode::kInvalidGraph,
           "EPContext node '{}' has source '{}', which no installed plugin owns (installed: {}); install the plugin it "
           "was compiled with, or run the source model{}",
           node->name(), source, fmt::join(known, ", "),
           model_path_.empty() ? "" : " instead of '" + model_path_.filename().string() + "'");
    }
    auto slot = std::find_if(providers_.begin(), providers_.end(),
                             [&](const ProviderSlot& candidate) { return candidate.plugin->name == owner; });
    if (slot == providers_.end()) {
      Fail(StatusCode::kInvalidGraph,
           "EPContext node '{}' has source '{}', which belongs to provider '{}', and that is not in the session's "
           "list; add it",
           node->name(), source, owner);
    }
    node->provider = static_cast<int32_t>(slot - providers_.begin());
    context_nodes_[static_cast<size_t>(node->provider)].push_back(node);
    has_context_ = true;
  }
}

void SessionBuilder::Partition() {
  PlaceContextNodes();
  Profiler::Span span(profiler_, "session", "partition");
  std::vector<PartitionProvider> askable;
  for (ProviderSlot& slot : providers_) {
    askable.push_back({slot.plugin->name, slot.device() == nullptr ? "" : slot.device()->name, [&slot](Graph& graph) {
                         if (slot.listed || slot.fallback) return slot.provider->GetCapability(graph);
                         // Nobody asked for this one, so its failure is no reason to fail the session.
                         try {
                           return slot.provider->GetCapability(graph);
                         } catch (const Error& error) {
                           Capability none;
                           none.warnings.push_back(error.message());
                           return none;
                         }
                       }});
  }
  partitions_ = PartitionGraph(*model_.graph, askable, options_.Get("ep.context_node_name_prefix"));
  for (const std::string& warning : partitions_.placement.warnings) Log(LogLevel::kWarning, "placement", "{}", warning);
  Log(LogLevel::kInfo, "placement", "{}", partitions_.placement.Summary());
}

void SessionBuilder::CheckEverythingPlaced() const {
  size_t homeless = 0;
  const NodePlacement* first = nullptr;
  for (const NodePlacement& node : partitions_.placement.nodes) {
    if (!node.provider.empty()) continue;
    if (++homeless == 1) first = &node;
  }
  if (first == nullptr) return;
  std::string reasons;
  for (const Decline& decline : first->declines)
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", decline.provider, decline.reason);
  std::string more = homeless == 1 ? "" : fmt::format(" (and {} more nodes)", homeless - 1);
  Fail(StatusCode::kNotImplemented,
       "no provider runs operator {}{}{} of node '{}'{}: {}; `epiphyte place` shows every node", first->domain,
       first->domain.empty() ? "" : ".", first->op_type, first->name, more,
       reasons.empty() ? "none claimed it" : reasons);
}

void SessionBuilder::Compile() {
  CheckEverythingPlaced();
  LoadContexts();
  CompilePartitions();
  {
    Profiler::Span span(profiler_, "session", "plan");
    plan_ = std::make_unique<Plan>(
        *model_.graph,
        [&](const Node& node) {
          auto found = kernels_.find(&node);
          if (found == kernels_.end()) {
            Fail(StatusCode::kNotImplemented, "node '{}' ({}) has no kernel", node.name(), node.op_type());
          }
          return found->second;
        },
        profiler_);
  }
  if (generator_ != nullptr) WriteContextModel();
}

void SessionBuilder::LoadContexts() {
  std::filesystem::path base =
      model_path_.empty() ? std::filesystem::path(options_.Get("ep.context_file_path")) : model_path_;
  for (size_t i = 0; i < providers_.size(); ++i) {
    if (context_nodes_[i].empty()) continue;
    Profiler::Span span(profiler_, "session", "load context");
    ContextBatch batch = LoadPayloads(context_nodes_[i], base, model_.metadata);
    std::vector<std::unique_ptr<Kernel>> kernels;
    try {
      kernels = providers_[i].provider->LoadContext(batch.to_load, batch.blobs);
    } catch (const Error& error) {
      // Whatever the plugin's code, a context that can't be loaded is INVALID_GRAPH, so that applications can
      // recompile.
      if (error.code() == StatusCode::kModelLoadCanceled) throw;
      throw Error(StatusCode::kInvalidGraph, error.message());
    }
    for (size_t k = 0; k < kernels.size(); ++k) kernels_[batch.nodes[k]] = std::move(kernels[k]);
  }
}

void SessionBuilder::CompilePartitions() {
  std::vector<std::vector<const core::Partition*>> by_provider(providers_.size());
  for (const core::Partition& partition : partitions_.partitions) {
    if (partition.is_context) continue;
    by_provider[static_cast<size_t>(partition.provider)].push_back(&partition);
  }
  for (size_t i = 0; i < providers_.size(); ++i) {
    if (by_provider[i].empty()) continue;
    ProviderSlot& slot = providers_[i];
    if (options_.GetBool("session.disable_model_compile") && (slot.listed || !slot.fallback)) {
      Fail(StatusCode::kModelRequiresCompilation,
           "provider '{}' would have to compile {} partitions, and session.disable_model_compile is 1; load a context "
           "model instead",
           slot.plugin->name, by_provider[i].size());
    }
    Profiler::Span span(profiler_, "session", "compile");
    std::vector<std::unique_ptr<Kernel>> kernels = slot.provider->Compile(by_provider[i]);
    for (size_t k = 0; k < kernels.size(); ++k) kernels_[by_provider[i][k]->node] = std::move(kernels[k]);
  }
}

void SessionBuilder::WriteContextModel() {
  Profiler::Span span(profiler_, "session", "write context model");
  std::vector<const core::Partition*> plain;
  std::vector<std::vector<const core::Partition*>> compiled(providers_.size());
  for (const core::Partition& partition : partitions_.partitions) {
    const ProviderSlot& slot = providers_[static_cast<size_t>(partition.provider)];
    bool makes_contexts = slot.provider->SupportsContexts() && (slot.listed || !slot.fallback);
    (makes_contexts ? compiled[static_cast<size_t>(partition.provider)] : plain).push_back(&partition);
  }
  auto nothing = [&] {
    return std::all_of(compiled.begin(), compiled.end(), [](const auto& list) { return list.empty(); });
  };
  // Without a list the fallback provider may be all there is: then its contexts are what was asked for.
  const ProviderSlot* fallback = Fallback();
  if (nothing() && options_.providers.empty() && fallback != nullptr && fallback->provider->SupportsContexts()) {
    plain.swap(compiled[static_cast<size_t>(fallback - providers_.data())]);
  }
  if (nothing()) {
    Log(LogLevel::kWarning, "context",
        "no context model was written: no provider that makes contexts got a node; list one that does");
    return;
  }
  for (size_t i = 0; i < providers_.size(); ++i) {
    if (!compiled[i].empty()) generator_->AddProvider(*providers_[i].provider, compiled[i]);
  }
  generator_->Write(model_, plain);
  context_output_ = ContextOutput{generator_->target().model, generator_->files(), generator_->context_node_count(),
                                  generator_->plain_node_count()};
}

}  // namespace epiphyte::core
