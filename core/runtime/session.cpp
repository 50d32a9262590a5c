#include "core/runtime/session.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <unordered_map>
#include <utility>

#include "core/base/error.h"
#include "core/base/fork_mark.h"
#include "core/base/log.h"
#include "core/base/staged_file.h"
#include "core/base/text.h"
#include "core/device/transfer.h"
#include "core/graph/block_cache.h"
#include "core/onnx/schema/libonnx_call.h"
#include "core/runtime/run_outputs.h"
#include "core/runtime/session_builder.h"

namespace epiphyte::core {
namespace {

// Names from models and plugins end up in messages, and callers print these. So they are made printable.
template <typename Action>
auto Printably(Action action) {
  constexpr size_t kMaxMessage = size_t{64} << 10;
  try {
    return action();
  } catch (const Error& error) {
    throw error.WithMessage(PrintableLine(error.message(), kMaxMessage));
  }
}

}  // namespace

SessionTools::SessionTools(const SessionConfig& config) : pool(std::make_shared<ThreadPool>(config.thread_count)) {
  if (config.profile_path.empty()) return;
  StagedFile::CheckTarget(config.profile_path);
  profiler = std::make_shared<Profiler>();
}

struct Session::Impl {
  Impl(const Environment& environment, const SessionConfig& config, SessionTools shared)
      : tools(std::move(shared)), profile_path(config.profile_path) {
    limits = config.LimitsOfRuns(environment.memory());
  }

  void Build(Environment& environment, const ModelSource& source, const SessionConfig& config) {
    const LibonnxCall call;
    if (!config.cache.folder.empty()) {
      Fail(StatusCode::kInvalidArgument,
           "session.context_cache_dir is for OpenSession, which looks into the cache first");
    }
    SessionBuilder builder(environment, config, tools.pool.get(), tools.profiler.get());
    try {
      builder.Read(source);
      builder.Partition();
      try {
        builder.Compile();
      } catch (const Error& error) {
        if (!config.context.for_cache || !builder.has_plan() || error.code() == StatusCode::kModelLoadCanceled) throw;
        context_failure = error.message();
      }
    } catch (...) {
      builder.ThrowIfCancelled();
      builder.used_files().RequireIntact();  // zeros read from a lost page may have been taken for data
      throw;
    }
    builder.used_files().RequireIntact();
    Take(builder, environment);
  }

  void Take(SessionBuilder& builder, Environment& environment) {
    all_inputs = builder.InputSpecs();
    outputs = builder.OutputSpecs();
    placement = builder.TakePlacement();
    context_output = builder.TakeContextOutput();
    has_context = builder.has_context();
    why_no_run = builder.WhyNoRun();
    share_group = builder.TakeShareGroup();
    memories = builder.Memories();
    devices = &environment.devices();
    used_files = builder.used_files();
    plan = builder.TakePlan();
    for (size_t i = 0; i < all_inputs.size(); ++i) {
      const ValueSpec& input = all_inputs[i];
      input_index[input.name] = i;
      const bool overridable = input.default_value != nullptr;
      (overridable ? overridables : inputs).push_back(input);
      if (!overridable) positions.push_back(i);
      defaults.push_back(overridable ? Value::FromConstant(input.default_value) : nullptr);
    }
    for (size_t i = 0; i < outputs.size(); ++i) output_index.try_emplace(outputs[i].name, i);
  }

  void RequireOwnProcess() const;
  void CheckInput(size_t index, const Value* value) const;
  void CheckMemory(const Value* value, std::string_view what, std::string_view name, std::string_view is) const;
  void CheckBindings(const RunBindings& bindings) const;
  std::unique_ptr<RunOptionViews> ViewOptions(const RunSettings::ProviderOptions& given) const;
  // `given`: values in the order of all_inputs.
  std::vector<ValuePtr> Run(std::span<const ValuePtr> given, const RunSettings& settings);

  const ForkMark made;
  SessionTools tools;  // outlives the plan and its providers
  std::string profile_path;
  std::shared_ptr<ShareGroup> share_group;  // its shared data stays as long as one of its sessions; may be null
  std::vector<SessionMemory> memories;
  Devices* devices = nullptr;
  std::unique_ptr<Plan> plan;
  UsedFiles used_files;
  MemoryLimits limits;
  const std::shared_ptr<BlockCache> blocks = std::make_shared<BlockCache>();
  std::vector<ValueSpec> all_inputs;    // the plan's inputs: both vectors below, in the model's order
  std::vector<ValueSpec> inputs;        // inputs that a run must give
  std::vector<ValueSpec> overridables;  // inputs that a run may give
  std::vector<size_t> positions;        // index in all_inputs of each of `inputs`
  std::vector<ValuePtr> defaults;       // indexed as all_inputs; null: none
  std::vector<ValueSpec> outputs;
  Placement placement;
  std::optional<ContextOutput> context_output;
  std::string context_failure;
  bool has_context = false;
  std::string why_no_run;  // set when a device that contexts were compiled for isn't present
  std::unordered_map<std::string, size_t> input_index;  // input name to index in all_inputs
  std::unordered_map<std::string, size_t> output_index;
};

Session::Session(Environment& environment, const ModelSource& source, const SessionConfig& config, SessionTools tools)
    : impl_(std::make_unique<Impl>(environment, config, std::move(tools))) {
  Printably([&] { impl_->Build(environment, source, config); });
}

Session::Session(Environment& environment, const std::filesystem::path& model, const SessionConfig& config)
    : Session(environment, ModelSource{model}, config, SessionTools(config)) {}

Session::Session(Environment& environment, const void* bytes, size_t size, const SessionConfig& config)
    : Session(environment, ModelSource{{}, /*in_memory=*/true, bytes, size}, config, SessionTools(config)) {}

Session::Session(Session&& other) noexcept = default;

Session::~Session() {
  if (impl_ == nullptr || impl_->made.IsInherited()) return;  // the parent writes its profile itself
  try {
    SaveProfile();
  } catch (const std::exception& error) {
    Log(LogLevel::kError, "session", "the profile is lost: {}", error.what());
  }
}

const std::vector<ValueSpec>& Session::inputs() const { return impl_->inputs; }
const std::vector<ValueSpec>& Session::overridable_initializers() const { return impl_->overridables; }
const std::vector<ValueSpec>& Session::outputs() const { return impl_->outputs; }
const Placement& Session::placement() const { return impl_->placement; }
bool Session::has_context() const { return impl_->has_context; }
const ContextOutput* Session::context_output() const {
  return impl_->context_output ? &*impl_->context_output : nullptr;
}
std::optional<ContextOutput> Session::TakeContextOutput() { return std::exchange(impl_->context_output, std::nullopt); }
const std::vector<SessionMemory>& Session::memories() const { return impl_->memories; }
const std::string& Session::context_failure() const { return impl_->context_failure; }
std::string Session::ProfileJson() const {
  return impl_->tools.profiler ? impl_->tools.profiler->ToJson() : std::string();
}

void Session::DiscardProfile() { impl_->profile_path.clear(); }

void Session::SaveProfile() {
  const std::string path = std::exchange(impl_->profile_path, "");
  if (path.empty()) return;
  StagedFile file(path);
  const std::string json = ProfileJson();
  file.Write(json.data(), json.size());
  file.Commit(/*overwrite=*/true);
}

namespace {

// Whether the input is a scalar and the value has shape [1]; such a value may be given for a scalar.
bool TakesOne(const ValueSpec& spec, const Value& value) {
  const Type& type = *spec.type;
  return type.IsTensor() && type.shape() && type.shape()->empty() && value.IsTensor() && value.dims().size() == 1 &&
         value.element_count() == 1;
}

ValuePtr AsScalar(const Value& value) {
  if (value.type() == DataType::kString) return Value::Strings({}, {value.string_at(0)});
  ValuePtr scalar = Value::Tensor(value.type(), {});
  std::memcpy(scalar->mutable_data(), value.data(), value.byte_size());
  return scalar;
}

std::string ShapeText(std::span<const int64_t> dims) { return fmt::format("[{}]", fmt::join(dims, ",")); }

}  // namespace

void Session::RequireOwnProcess() const { impl_->RequireOwnProcess(); }

void Session::Impl::RequireOwnProcess() const {
  if (!made.IsInherited()) [[likely]]
    return;
  Fail(StatusCode::kFail,
       "the session was made before fork(), and a child process has neither its threads nor its devices; make a "
       "session of its own in the child, or start the child as a new program (spawn instead of fork)");
}

void Session::Impl::CheckInput(size_t index, const Value* value) const {
  const ValueSpec& spec = all_inputs[index];
  const Type* type = spec.type.get();
  if (value == nullptr && spec.default_value != nullptr) return;
  if (type->kind() == EP_KIND_UNKNOWN) return;
  if (value == nullptr || value->IsEmptyOptional()) {
    if (type->kind() != EP_KIND_OPTIONAL) {
      Fail(StatusCode::kInvalidArgument, "input '{}' is missing; the model expects {}", spec.name, type->ToString());
    }
    return;
  }
  if (type->kind() == EP_KIND_OPTIONAL) type = type->element().get();
  if (value->kind() != type->kind()) {
    Fail(StatusCode::kInvalidArgument, "input '{}' is no {}; the model expects that kind of value", spec.name,
         type->ToString());
  }
  if (!type->IsTensor()) return;
  if (value->type() != type->element_type()) {
    Fail(StatusCode::kInvalidArgument, "input '{}' is of {}, the model expects {}", spec.name,
         DataTypeName(value->type()), type->ToString());
  }
  if (!type->shape()) return;
  const Shape& shape = *type->shape();
  std::span<const int64_t> dims = value->dims();
  bool fits = dims.size() == shape.size() || TakesOne(spec, *value);
  for (size_t i = 0; fits && i < shape.size(); ++i) fits = !shape[i].known() || shape[i].value == dims[i];
  if (!fits) {
    Fail(StatusCode::kInvalidArgument, "input '{}' has shape {}, the model expects {}", spec.name, ShapeText(dims),
         type->ToString());
  }
}

void Session::Impl::CheckMemory(const Value* value, std::string_view what, std::string_view name,
                                std::string_view is) const {
  if (value == nullptr || !value->IsOnDevice()) return;
  RequireUsed(memories, *PieceOf(*value)->pool(), fmt::format("{} '{}' {}", what, name, is));
  PieceOf(*value)->RequireAlive(fmt::format("{} '{}'", what, name));
}

void Session::Impl::CheckBindings(const RunBindings& bindings) const {
  if (bindings.outputs.size() != outputs.size()) {
    Fail(StatusCode::kInvalidArgument, "bindings for {} outputs were given, the model has {}", bindings.outputs.size(),
         outputs.size());
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const OutputBinding& binding = bindings.outputs[i];
    if (binding.value && (!binding.value->IsTensor() || binding.value->type() == DataType::kString)) {
      Fail(StatusCode::kInvalidArgument, "output '{}' is bound to a value that is no tensor of numbers; bind one",
           outputs[i].name);
    }
    if (binding.value && binding.value->IsReadOnly()) {
      Fail(StatusCode::kInvalidArgument,
           "output '{}' is bound to a constant of a model, which is read-only; bind a tensor of your own",
           outputs[i].name);
    }
    CheckMemory(binding.value.get(), "output", outputs[i].name, "is bound to");
    if (binding.memory) {
      RequireUsed(memories, *binding.memory, fmt::format("output '{}' is bound to", outputs[i].name));
    }
  }
}

std::vector<ValuePtr> Session::Run(std::span<const ValuePtr> inputs, const RunSettings& settings) {
  if (impl_->overridables.empty()) [[likely]]
    return RunAll(inputs, settings);
  if (inputs.size() != impl_->inputs.size()) {
    Fail(StatusCode::kInvalidArgument, "{} inputs were given, the model has {}", inputs.size(), impl_->inputs.size());
  }
  std::vector<ValuePtr> all(impl_->all_inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) all[impl_->positions[i]] = inputs[i];
  return RunAll(all, settings);
}

std::vector<ValuePtr> Session::RunAll(std::span<const ValuePtr> inputs, const RunSettings& settings) {
  if (settings.tag.empty()) [[likely]]
    return impl_->Run(inputs, settings);
  const LogTag tag(settings.tag);
  const auto begin = std::chrono::steady_clock::now();
  const auto milliseconds = [&] {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  };
  try {
    std::vector<ValuePtr> outputs = impl_->Run(inputs, settings);
    Log(LogLevel::kDebug, "session", "the run took {:.3f} ms", milliseconds());
    return outputs;
  } catch (const Error& error) {
    Log(LogLevel::kDebug, "session", "the run failed after {:.3f} ms: {}", milliseconds(), error.message());
    throw;
  }
}

// Returns null when there are no options.
std::unique_ptr<RunOptionViews> Session::Impl::ViewOptions(const RunSettings::ProviderOptions& given) const {
  if (given.empty()) return nullptr;
  auto views = std::make_unique<RunOptionViews>();
  for (const auto& [provider, options] : given) {
    if (std::find(placement.providers.begin(), placement.providers.end(), provider) == placement.providers.end()) {
      Fail(StatusCode::kInvalidArgument,
           "options were given to a run for provider '{}', which the session doesn't use; it uses {}", provider,
           fmt::join(placement.providers, ", "));
    }
    std::vector<EpKeyValue>& viewed = (*views)[provider];
    for (const auto& [key, value] : options) viewed.push_back({key.c_str(), value.c_str()});
  }
  return views;
}

std::vector<ValuePtr> Session::Impl::Run(std::span<const ValuePtr> given, const RunSettings& settings) {
  RequireOwnProcess();
  if (given.size() != all_inputs.size()) {
    Fail(StatusCode::kInvalidArgument, "{} inputs were given, the model has {}", given.size(), all_inputs.size());
  }
  if (!why_no_run.empty()) Fail(StatusCode::kInvalidArgument, "{}", why_no_run);
  constexpr size_t kInline = 16;
  Value* inline_arguments[kInline];
  std::vector<Value*> many;
  Value** arguments = inline_arguments;
  if (given.size() > kInline) {
    many.resize(given.size());
    arguments = many.data();
  }
  std::vector<ValuePtr> on_host;  // copies for a plan that takes host memory only
  for (size_t i = 0; i < given.size(); ++i) {
    CheckInput(i, given[i].get());
    arguments[i] = given[i] ? given[i].get() : defaults[i].get();
    const bool reshaped = given[i] && TakesOne(all_inputs[i], *given[i]);
    if (given[i] && given[i]->IsOnDevice()) [[unlikely]] {
      CheckMemory(given[i].get(), "input", all_inputs[i].name, "is in");
      if (!reshaped && (plan->on_devices() || settings.bindings != nullptr)) continue;
      on_host.push_back(ToHost(given[i], *devices));
      arguments[i] = on_host.back().get();
    }
    if (reshaped) [[unlikely]] {
      on_host.push_back(AsScalar(*arguments[i]));
      arguments[i] = on_host.back().get();
    }
  }
  if (settings.bindings != nullptr) [[unlikely]]
    CheckBindings(*settings.bindings);
  std::vector<ValuePtr> results(plan->output_count());
  Profiler::Span span(tools.profiler.get(), "session", "run", settings.tag);
  std::unique_ptr<RunOptionViews> options;
  if (settings.provider_options != nullptr) [[unlikely]]
    options = ViewOptions(*settings.provider_options);
  RunState run(limits, settings.stop, settings.tag, options.get());
  run.UseCache(blocks);
  const ThreadPool::Caller caller(*tools.pool);
  run.CheckStop();  // checked here because a plan may have no step that does
  try {
    plan->Run({arguments, given.size()}, {}, results, run, settings.bindings);
    on_host.clear();
    RunOutputs(given, run, *devices).TakeOver(results, settings.bindings, outputs);
  } catch (...) {
    used_files.RequireNothingLost();  // a kernel may have read zeros from a lost page
    run.CheckStop();                  // a cancellation counts, whatever error the plugin returned
    throw;
  }
  used_files.RequireNothingLost();
  return results;
}

std::vector<ValuePtr> Session::Run(std::span<const std::pair<std::string, ValuePtr>> inputs,
                                   std::span<const std::string> output_names, const RunSettings& settings) {
  std::vector<ValuePtr> ordered(impl_->all_inputs.size());
  for (const auto& [name, value] : inputs) {
    auto found = impl_->input_index.find(name);
    if (found == impl_->input_index.end()) {
      std::vector<std::string_view> names;
      for (const ValueSpec& spec : impl_->all_inputs) names.push_back(spec.name);
      Fail(StatusCode::kInvalidArgument, "the model has no input '{}'; it has: {}", name, fmt::join(names, ", "));
    }
    ordered[found->second] = value;
  }
  std::vector<size_t> wanted;
  for (const std::string& name : output_names) {
    auto found = impl_->output_index.find(name);
    if (found == impl_->output_index.end()) {
      std::vector<std::string_view> names;
      for (const ValueSpec& spec : impl_->outputs) names.push_back(spec.name);
      Fail(StatusCode::kInvalidArgument, "the model has no output '{}'; it has: {}", name, fmt::join(names, ", "));
    }
    wanted.push_back(found->second);
  }
  std::vector<ValuePtr> outputs = RunAll(ordered, settings);
  if (output_names.empty()) return outputs;
  std::vector<ValuePtr> chosen;
  for (size_t index : wanted) chosen.push_back(outputs[index]);
  return chosen;
}

Placement PlaceModel(Environment& environment, const std::filesystem::path& model, const SessionConfig& config) {
  ThreadPool pool(config.thread_count);
  SessionConfig without_context = config;
  if (config.context.enable) {
    without_context.context.enable = false;
    without_context.share = {};
  }
  SessionBuilder builder(environment, without_context, &pool, nullptr);
  return Printably([&] {
    builder.Read({.path = model});
    builder.Partition();
    builder.Explain();
    return builder.TakePlacement();
  });
}

}  // namespace epiphyte::core
