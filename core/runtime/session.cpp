#include "core/runtime/session.h"

#include <algorithm>
#include <exception>
#include <unordered_map>

#include "core/abi/host_tables.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/mapping_guard.h"
#include "core/base/memory_size.h"
#include "core/base/staged_file.h"
#include "core/base/text.h"
#include "core/cache/context_cache.h"
#include "core/runtime/session_builder.h"

namespace epiphyte::core {
namespace {

// Names from models and plugins end in messages; whoever gets one prints it.
template <typename Action>
auto Printably(Action action) {
  constexpr size_t kMaxMessage = size_t{64} << 10;
  try {
    return action();
  } catch (const Error& error) {
    throw Error(error.code(), PrintableLine(error.message(), kMaxMessage));
  }
}

}  // namespace

Environment::Environment(CatalogOptions options, bool guard_mapped_files)
    : catalog_(std::move(options), HostInfo()), memory_(MachineMemory()) {
  if (guard_mapped_files) InstallMappingGuard();
}

struct Session::Impl {
  Impl(const Environment& environment, const SessionOptions& options)
      : pool(options.thread_count), profile_path(options.profile_path) {
    const auto limit = [&](std::string_view key, uint64_t otherwise) {
      const uint64_t set = std::stoull(options.Get(key));
      return set == 0 ? otherwise : set;
    };
    limits.value_bytes = limit("session.max_value_bytes", environment.memory() / 2);
    limits.run_bytes = limit("session.max_run_bytes", environment.memory() / 4 * 3);
    if (profile_path.empty()) return;
    StagedFile::CheckTarget(profile_path);
    profiler = std::make_unique<Profiler>();
  }

  void Open(Environment& environment, const ModelSource& source, const SessionOptions& options) {
    if (!ContextCache::IsAskedFor(options)) {
      Build(environment, source, options, /*for_cache=*/false);
      return;
    }
    ContextCache(environment.catalog(), options, &pool)
        .Open(source, [&](const ModelSource& model, const SessionOptions& how, bool for_cache) {
          std::string failure = Build(environment, model, how, for_cache);
          return ContextCache::Opened{std::exchange(context_output, std::nullopt), std::move(failure)};
        });
  }

  // Returns why the cache got no context model, "" otherwise.
  std::string Build(Environment& environment, const ModelSource& source, const SessionOptions& options,
                    bool for_cache) {
    SessionBuilder builder(environment, options, &pool, profiler.get());
    if (for_cache) builder.ForCache();
    std::string failure;
    try {
      if (source.in_memory) {
        builder.ReadMemory(source.bytes, source.size);
      } else {
        builder.ReadFile(source.path);
      }
      builder.Partition();
      try {
        builder.Compile();
      } catch (const Error& error) {
        if (!for_cache || !builder.has_plan() || error.code() == StatusCode::kModelLoadCanceled) throw;
        failure = error.message();
      }
    } catch (...) {
      builder.ThrowIfCancelled();
      builder.used_files().RequireIntact();  // whatever the zeros of a lost page were taken for
      throw;
    }
    builder.used_files().RequireIntact();
    Take(builder);
    return failure;
  }

  void Take(SessionBuilder& builder) {
    inputs = builder.InputSpecs();
    outputs = builder.OutputSpecs();
    placement = builder.TakePlacement();
    context_output = builder.TakeContextOutput();
    has_context = builder.has_context();
    share_group = builder.TakeShareGroup();
    used_files = builder.used_files();
    plan = builder.TakePlan();
    for (size_t i = 0; i < inputs.size(); ++i) input_index[inputs[i].name] = i;
    for (size_t i = 0; i < outputs.size(); ++i) output_index.try_emplace(outputs[i].name, i);
  }

  void CheckInput(size_t index, const Value* value) const;

  ThreadPool pool;  // outlives the plan and its providers
  std::unique_ptr<Profiler> profiler;
  std::string profile_path;
  std::shared_ptr<ShareGroup> share_group;  // what it shares stays as long as one of its sessions; may be null
  std::unique_ptr<Plan> plan;
  UsedFiles used_files;
  MemoryLimits limits;
  std::vector<ValueSpec> inputs;
  std::vector<ValueSpec> outputs;
  Placement placement;
  std::optional<ContextOutput> context_output;
  bool has_context = false;
  std::unordered_map<std::string, size_t> input_index;
  std::unordered_map<std::string, size_t> output_index;
};

Session::Session(Environment& environment, const std::filesystem::path& model, const SessionOptions& options)
    : impl_(std::make_unique<Impl>(environment, options)) {
  Printably([&] { impl_->Open(environment, {model}, options); });
}

Session::Session(Environment& environment, const void* bytes, size_t size, const SessionOptions& options)
    : impl_(std::make_unique<Impl>(environment, options)) {
  Printably([&] { impl_->Open(environment, {{}, /*in_memory=*/true, bytes, size}, options); });
}

Session::~Session() {
  try {
    SaveProfile();
  } catch (const std::exception& error) {
    Log(LogLevel::kError, "session", "the profile is lost: {}", error.what());
  }
}

const std::vector<ValueSpec>& Session::inputs() const { return impl_->inputs; }
const std::vector<ValueSpec>& Session::outputs() const { return impl_->outputs; }
const Placement& Session::placement() const { return impl_->placement; }
bool Session::has_context() const { return impl_->has_context; }
const ContextOutput* Session::context_output() const {
  return impl_->context_output ? &*impl_->context_output : nullptr;
}
std::string Session::ProfileJson() const { return impl_->profiler ? impl_->profiler->ToJson() : std::string(); }

void Session::SaveProfile() {
  const std::string path = std::exchange(impl_->profile_path, "");
  if (path.empty()) return;
  StagedFile file(path);
  const std::string json = ProfileJson();
  file.Write(json.data(), json.size());
  file.Commit(/*overwrite=*/true);
}

namespace {

std::string ShapeText(std::span<const int64_t> dims) { return fmt::format("[{}]", fmt::join(dims, ",")); }

}  // namespace

void Session::Impl::CheckInput(size_t index, const Value* value) const {
  const ValueSpec& spec = inputs[index];
  const Type* type = spec.type.get();
  if (type == nullptr || type->kind() == EP_KIND_UNKNOWN) return;
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
  bool fits = dims.size() == shape.size();
  for (size_t i = 0; fits && i < dims.size(); ++i) fits = !shape[i].known() || shape[i].value == dims[i];
  if (!fits) {
    Fail(StatusCode::kInvalidArgument, "input '{}' has shape {}, the model expects {}", spec.name, ShapeText(dims),
         type->ToString());
  }
}

std::vector<ValuePtr> Session::Run(std::span<const ValuePtr> inputs, const std::stop_token& stop) {
  if (inputs.size() != impl_->inputs.size()) {
    Fail(StatusCode::kInvalidArgument, "{} inputs were given, the model has {}", inputs.size(), impl_->inputs.size());
  }
  constexpr size_t kInline = 16;
  Value* inline_arguments[kInline];
  std::vector<Value*> many;
  Value** arguments = inline_arguments;
  if (inputs.size() > kInline) {
    many.resize(inputs.size());
    arguments = many.data();
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    impl_->CheckInput(i, inputs[i].get());
    arguments[i] = inputs[i].get();
  }
  std::vector<ValuePtr> outputs(impl_->plan->output_count());
  Profiler::Span span(impl_->profiler.get(), "session", "run");
  RunState run(impl_->limits, stop);
  try {
    impl_->plan->Run({arguments, inputs.size()}, {}, outputs, run);
  } catch (...) {
    impl_->used_files.RequireNothingLost();  // whatever a kernel took the zeros for
    run.CheckStop();                         // in whatever words a plugin gave up
    throw;
  }
  impl_->used_files.RequireNothingLost();
  return outputs;
}

std::vector<ValuePtr> Session::Run(std::span<const std::pair<std::string, ValuePtr>> inputs,
                                   std::span<const std::string> output_names, const std::stop_token& stop) {
  std::vector<ValuePtr> ordered(impl_->inputs.size());
  for (const auto& [name, value] : inputs) {
    auto found = impl_->input_index.find(name);
    if (found == impl_->input_index.end()) {
      std::vector<std::string_view> names;
      for (const ValueSpec& spec : impl_->inputs) names.push_back(spec.name);
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
  std::vector<ValuePtr> outputs = Run(ordered, stop);
  if (output_names.empty()) return outputs;
  std::vector<ValuePtr> chosen;
  for (size_t index : wanted) chosen.push_back(outputs[index]);
  return chosen;
}

Placement PlaceModel(Environment& environment, const std::filesystem::path& model, const SessionOptions& options) {
  ThreadPool pool(options.thread_count);
  SessionOptions without_context = options;
  if (options.GetBool("ep.context_enable")) {
    for (const char* key : {"ep.context_enable", "ep.share_ep_contexts", "ep.stop_share_ep_contexts"})
      without_context.Set(key, "0");
  }
  SessionBuilder builder(environment, without_context, &pool, nullptr);
  return Printably([&] {
    builder.ReadFile(model);
    builder.Partition();
    return builder.TakePlacement();
  });
}

}  // namespace epiphyte::core
