// Execution in the faulty plugin.
#include <algorithm>

#include "tests/conformance/faulty/device.h"

void Compute(const Program& program, std::span<const float> x, float* y) {
  for (size_t i = 0; i < x.size(); ++i) {
    y[i] = program.operation == kRelu ? std::max(x[i], 0.0f) : x[i] + program.constant[i % program.constant.size()];
  }
}

namespace {

struct Gang {
  const EpHostInfo* host;
  EpThreadPool* pool;
};
void EP_CALL Nothing(void*, uint32_t, uint32_t) {}
void EP_CALL InLoop(void* user, uint64_t, uint64_t, uint32_t) {
  const auto* gang = static_cast<const Gang*>(user);
  gang->host->services->RunGang(gang->pool, 2, Nothing, nullptr);
}

}  // namespace

EpStatus* EP_CALL Execute(EpKernel* kernel, EpKernelState*, EpRun* run) {
  const EpHostInfo* host = kernel->provider->plugin->host;
  EpThreadPool* pool = kernel->provider->pool;
  if (Has("1001_aborts")) std::abort();
  if (host->run->IsCancelled(run) != 0 && !Has("723_ignores_cancel"))
    return Refuse(host, EP_STATUS_CANCELED, "the run was cancelled");
  if (IsOnDevice()) return ExecuteOnDevice(kernel, run);
  if (IsAbout("15", "profile")) {
    if (EpStatus* status = AddSpan(host, run)) return status;
  }
  if (Has("1008_gang_in_a_loop")) {
    Gang gang = {host, pool};
    host->services->ParallelFor(pool, 1, 1, InLoop, &gang);
  }
  EpRunInfo info = {};
  info.struct_size = sizeof(info);
  if (EpStatus* status = host->run->GetInfo(run, &info)) return status;
  if (Has("1004_leaks_a_status")) host->status->Create(EP_STATUS_FAIL, "nobody takes this");
  if (Has("1005_releases_a_status_twice")) {
    EpStatus* status = host->status->Create(EP_STATUS_FAIL, "released twice");
    host->status->Release(status);
    host->status->Release(status);
  }
  if (Has("1006_fails_silently")) return host->status->Create(EP_STATUS_EP_FAIL, nullptr);
  const EpTensorView& x = *info.inputs[0]->tensor;
  if (x.element_count == 0 && Has("724_fails_on_nothing")) return Refuse(host, EP_STATUS_EP_FAIL, "nothing to do");
  const std::span input(static_cast<const float*>(x.data), x.element_count);
  if (Has("710_writes_input")) *const_cast<float*>(input.data()) = 1;
  if (Has("711_reads_beyond_input")) {
    volatile float beyond = input.data()[x.element_count];
    (void)beyond;
  }
  static const float* kept = nullptr;
  if (Has("713_keeps_input") && kept != nullptr) {
    volatile float late = *kept;
    (void)late;
  }
  if (x.element_count != 0) kept = input.data();
  if (kernel->lent != nullptr) {
    volatile float late = kernel->lent[0];
    (void)late;
  }
  void* data = nullptr;
  EpStatus* status = host->run->AllocateOutput(run, 0, EP_TYPE_FLOAT, x.dims, x.rank, &data);
  if (status != nullptr && Has("722_ignores_refusal")) {
    host->status->Release(status);
    return nullptr;
  }
  if (status != nullptr) return status;
  auto* y = static_cast<float*>(data);
  if (Has("719_shares_scratch")) {
    static std::vector<float> scratch;
    scratch.assign(input.begin(), input.end());
    for (int i = 0; i < 20000; ++i) Compute(kernel->program, {scratch.data(), scratch.size()}, y);
    Compute(kernel->program, {scratch.data(), scratch.size()}, y);
    return nullptr;
  }
  uint32_t before = 0;
  if (x.element_count != 0) std::memcpy(&before, &y[0], sizeof(before));
  Compute(kernel->program, input, y);
  const Workspace* workspace = kernel->provider->workspace;
  if (workspace != nullptr && workspace->owner_is_gone && x.element_count != 0) y[0] += 1;
  if (Has("712_writes_beyond_output")) y[x.element_count] = 0;
  // The result depends slightly on the output memory's earlier content.
  if (Has("720_adds_to_what_was_there") && x.element_count != 0) y[0] += (before & 1) != 0 ? 1e-4f : 0;
  // Only inputs of operator cases have three dimensions.
  const Program& program = kernel->program;
  const bool wrong = kernel->loaded ? Has(program.embedded != 0 ? "1103_wrong_when_embedded" : "1102_wrong_when_loaded")
                                    : Has("1101_wrong_when_compiled") && !kernel->provider->makes_contexts;
  if (wrong && x.rank == 3) y[0] += 1;
  if (Has("721_wrong_numbers") && x.element_count != 0) y[0] += 1;
  return nullptr;
}
