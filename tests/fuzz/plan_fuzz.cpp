// Plans of the CPU plugin with correct digests: any context is either loaded and run, or refused. Its bytes, inputs and
// outputs lie before inaccessible guard pages.
//
// Seeds are a case of each operator in the catalogue (host/conformance/operators) and the models of plan/models,
// compiled when the target starts. Kernels, fusions and packed weights are thus those of the machine. Mutations change
// the contents of the plan (plan/plan_mutation.h) and seal it again.
#include <algorithm>
#include <cstring>
#include <filesystem>

#include "core/context/context_model.h"
#include "core/onnx/model_reader.h"
#include "epiphyte/kit/memory/digest.hpp"
#include "host/conformance/operators/case_model.h"
#include "host/conformance/operators/make_case.h"
#include "plugins/cpu/exec/context.h"
#include "tests/framework/guarded_memory.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/plan/guarded_run.h"
#include "tests/fuzz/plan/plan_mutation.h"

// Makes allocations of libraries fail when they are too large.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1:max_allocation_size_mb=256"; }

namespace {

namespace core = epiphyte::core;
namespace cpu = epiphyte::cpu;
namespace fuzz = epiphyte::fuzz;
namespace kit = epiphyte::kit;
namespace test = epiphyte::test;

const cpu::KernelRegistry& Registry() {
  static const cpu::KernelRegistry* const kRegistry = [] {
    auto* made = new cpu::KernelRegistry;
    cpu::RegisterAllKernels(*made);
    return made;
  }();
  return *kRegistry;
}

void LoadAndRun(const void* data, size_t size, std::mt19937& random) {
  const kit::ContextContainer context({static_cast<const std::byte*>(data), size}, cpu::kContextFormat,
                                      kit::ContainerDigests::kAll);
  for (const std::string_view name : kit::GraphNames(context)) {
    kit::StoredGraph loaded = kit::ReadGraph(context, name, kit::GraphCheck::kLater);
    cpu::PlanConfig config;
    config.registry = &Registry();
    config.threads = fuzz::OneThread();
    config.origin = cpu::PlanOrigin::kContext;
    config.packed_is_current = random() % 2 == 0;
    const auto plan = cpu::Plan::Build(std::move(loaded.graph), config, std::move(loaded.packed));
    for (int i = 0; i < 2; ++i) {
      try {
        fuzz::RunGuarded(*plan, random);
      } catch (const kit::Error&) {
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::shared_ptr<void> payload = test::GuardedMemory(size);
  if (size != 0) std::memcpy(payload.get(), data, size);
  std::mt19937 random(static_cast<uint32_t>(kit::Digest(payload.get(), size)));
  try {
    LoadAndRun(payload.get(), size, random);
  } catch (const kit::Error&) {
  } catch (const std::bad_alloc&) {
  }
  return 0;
}

std::string Mutate(std::string input, std::mt19937& random) {
  std::optional<fuzz::PlanFile> file = fuzz::OpenPlanFile(input);
  if (!file) return input;
  return fuzz::MutatePlan(std::move(*file), random);
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  std::mt19937 random(seed);
  const std::string changed = Mutate({reinterpret_cast<const char*>(data), size}, random);
  if (changed.size() > max_size) return size;
  std::memcpy(data, changed.data(), changed.size());
  return changed.size();
}

namespace {

// Compiles the model, and appends the payloads of the resulting context model.
void AddPayloads(core::Environment& environment, const std::string& model, std::vector<std::string>* payloads) {
  const test::TempDir dir;
  core::SessionOptions options = test::OptionsFor({"cpu"});
  options.Set("ep.context_enable", "1");
  options.Set("ep.context_embed_mode", "1");
  const core::Session session(environment, dir.Write("m.onnx", model), options);
  if (!std::filesystem::exists(dir / "m_ctx.onnx")) return;  // the core has computed everything at compile time
  const std::string bytes = test::ReadFile(dir / "m_ctx.onnx");
  core::Model made = core::ReadModelMemory(bytes.data(), bytes.size(), nullptr, {});
  for (core::Node* node : core::FindContextNodes(*made.graph)) {
    const core::ContextAttributes attributes = core::ReadContextAttributes(*node);
    if (attributes.main_context)
      payloads->emplace_back(static_cast<const char*>(attributes.embedded.data), attributes.embedded.size);
  }
}

}  // namespace

// Returns a plan of each operator in the catalogue, and the models of plan/models, which have fused operators and
// operators without cases.
std::vector<std::string> SeedInputs() {
  namespace operators = epiphyte::operators;
  std::vector<std::filesystem::path> models;
  for (const auto& entry : std::filesystem::directory_iterator(EPIPHYTE_PLAN_MODELS)) models.push_back(entry.path());
  std::sort(models.begin(), models.end());
  const std::unique_ptr<core::Environment> environment = test::BuildTreeEnvironment();
  std::vector<std::string> seeds;
  for (const std::filesystem::path& path : models)
    AddPayloads(*environment, test::OnnxFromText(test::ReadFile(path)), &seeds);
  for (const operators::OperatorCases& op : operators::AllOperators()) {
    operators::Random random(0);
    AddPayloads(*environment, operators::MakeModel(operators::MakeCase(op, op.make, 0), random).bytes, &seeds);
  }
  return seeds;
}
