#include "host/conformance/debug_host/debug_task.h"

#include "host/conformance/debug_host/debug_host.h"

namespace epiphyte::conformance {
namespace {

struct Held {
  std::shared_ptr<DebugGraph> graph;
  int value;
};

EpStatus* NoTask() { return DebugHost::Current().NewStatus(EP_STATUS_INVALID_ARGUMENT, "the task is of no use here"); }

uint32_t EP_CALL ReportProgress(EpTask* task, uint64_t done, uint64_t total, const char* text) {
  DebugTask* mine = DebugTask::Find(task, "ReportProgress");
  return mine == nullptr ? 1 : mine->Report(done, total, text);
}
uint32_t EP_CALL IsCancelled(const EpTask* task) {
  DebugTask* mine = DebugTask::Find(task, "EpTaskApi::IsCancelled");
  return mine == nullptr ? 1 : mine->IsCancelled();
}
EpStatus* EP_CALL SetCancelListener(EpTask* task, EpCancelListener listener, void* user) {
  DebugTask* mine = DebugTask::Find(task, "EpTaskApi::SetCancelListener");
  return mine == nullptr ? NoTask() : mine->Listen(listener, user);
}
EpStatus* EP_CALL DeclinePartition(EpTask* task, uint64_t index, const char* reason) {
  DebugTask* mine = DebugTask::Find(task, "DeclinePartition");
  return mine == nullptr ? NoTask() : mine->Decline(index, reason);
}
EpStatus* EP_CALL RetainConstant(EpTask* task, const EpValueDef* value, EpConstant** constant) {
  DebugTask* mine = DebugTask::Find(task, "RetainConstant");
  return mine == nullptr ? NoTask() : mine->Retain(value, constant);
}
EpStatus* EP_CALL DropConstant(EpTask* task, const EpValueDef* value) {
  DebugTask* mine = DebugTask::Find(task, "DropConstant");
  return mine == nullptr ? NoTask() : mine->Drop(value);
}
void EP_CALL ReleaseConstant(EpConstant* constant) {
  if (constant != nullptr && !RetainedConstants::Release(constant)) {
    DebugHost::Current().Violate(Rule::kConstantsReleasedOnce,
                                 "ReleaseConstant was called with a constant that is not held");
  }
}

}  // namespace

const EpTaskApi kDebugTaskApi = {
    sizeof(EpTaskApi), 0,           ReportProgress, IsCancelled, SetCancelListener, DeclinePartition, RetainConstant,
    ReleaseConstant,   DropConstant};

EpConstant* RetainedConstants::Add(std::shared_ptr<DebugGraph> graph, int value) {
  graph->Retain(value);
  EpConstant* constant = Live<EpConstant, Held>().Open(new Held{std::move(graph), value});
  held_.push_back(constant);
  return constant;
}

bool RetainedConstants::Release(const EpConstant* constant) {
  LiveHandles<EpConstant, Held>::Verdict verdict;
  Held* held = Live<EpConstant, Held>().Find(constant, &verdict);
  if (held == nullptr) return false;
  Live<EpConstant, Held>().Close(constant);
  held->graph->Release(held->value);
  delete held;
  return true;
}

RetainedConstants::~RetainedConstants() {
  for (const EpConstant* constant : held_) Release(constant);
}

DebugTask* DebugTask::Find(const EpTask* task, const char* function) {
  return Live<EpTask, DebugTask>().Require(task, function, Rule::kTaskEndsWithTheCall, Rule::kDoesNotCrash);
}

DebugTask::DebugTask(Kind kind, std::vector<std::shared_ptr<DebugGraph>> graphs, RetainedConstants& constants)
    : kind_(kind), graphs_(std::move(graphs)), constants_(constants), handle_(Live<EpTask, DebugTask>().Open(this)) {}

DebugTask::~DebugTask() { Live<EpTask, DebugTask>().Close(handle_); }

uint32_t DebugTask::Report(uint64_t done, uint64_t total, const char* text) {
  DebugHost& host = DebugHost::Current();
  if (total != 0 && done > total) {
    host.Violate(Rule::kProgressIsAFraction,
                 "ReportProgress was told " + std::to_string(done) + " of " + std::to_string(total));
  }
  if (text != nullptr && !IsUtf8(text)) host.Violate(Rule::kReasonsAreText, "the text of ReportProgress is not UTF-8");
  return IsCancelled();
}

uint32_t DebugTask::IsCancelled() {
  if (!cancel_) return 0;
  told_ = true;
  std::lock_guard lock(mutex_);
  if (listener_ != nullptr) {
    const EpCancelListener listener = listener_;
    listener_ = nullptr;
    listener(listener_user_);
  }
  return 1;
}

EpStatus* DebugTask::Listen(EpCancelListener listener, void* user) {
  std::lock_guard lock(mutex_);
  listener_ = listener;
  listener_user_ = user;
  if (cancel_) IsCancelled();
  return nullptr;
}

EpStatus* DebugTask::Decline(uint64_t index, const char* reason) {
  DebugHost& host = DebugHost::Current();
  if (kind_ != Kind::kCompile)
    return host.Refuse(Rule::kDeclinesItsPartitions, "DeclinePartition was called outside of Compile");
  if (index >= graphs_.size()) {
    return host.Refuse(
        Rule::kDeclinesItsPartitions,
        "DeclinePartition was called for partition " + std::to_string(index) + " of " + std::to_string(graphs_.size()));
  }
  if (reason != nullptr && !IsUtf8(reason))
    return host.Refuse(Rule::kReasonsAreText, "the reason of DeclinePartition is not UTF-8");
  std::lock_guard lock(mutex_);
  if (!declined_.insert(index).second) {
    return host.Refuse(Rule::kDeclinesItsPartitions,
                       "DeclinePartition was called twice for partition " + std::to_string(index));
  }
  return nullptr;
}

int DebugTask::FindConstant(const EpValueDef* value, std::shared_ptr<DebugGraph>* graph) const {
  for (const std::shared_ptr<DebugGraph>& candidate : graphs_) {
    const int index = candidate->IndexOf(value);
    if (index < 0) continue;
    *graph = candidate;
    return candidate->spec().values[static_cast<size_t>(index)].is_constant ? index : -1;
  }
  return -1;
}

EpStatus* DebugTask::Retain(const EpValueDef* value, EpConstant** constant) {
  std::shared_ptr<DebugGraph> graph;
  const int index = FindConstant(value, &graph);
  if (index < 0) {
    return DebugHost::Current().Refuse(Rule::kRetainsConstants,
                                       "RetainConstant was called with what is no constant of this task");
  }
  std::lock_guard lock(mutex_);
  *constant = constants_.Add(graph, index);
  return nullptr;
}

EpStatus* DebugTask::Drop(const EpValueDef* value) {
  std::shared_ptr<DebugGraph> graph;
  const int index = FindConstant(value, &graph);
  if (index < 0) {
    return DebugHost::Current().Refuse(Rule::kRetainsConstants,
                                       "DropConstant was called with what is no constant of this task");
  }
  std::lock_guard lock(mutex_);
  graph->Drop(index);
  return nullptr;
}

}  // namespace epiphyte::conformance
