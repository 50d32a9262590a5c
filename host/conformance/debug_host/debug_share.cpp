#include "host/conformance/debug_host/debug_share.h"

#include "host/conformance/debug_host/debug_host.h"

namespace epiphyte::conformance {
namespace {

std::atomic<bool> was_asked{false};

DebugMembership* Require(const EpShareGroup* group, const char* function) {
  was_asked = true;
  return Live<EpShareGroup, DebugMembership>().Require(group, function, Rule::kGroupEndsWithTheProvider,
                                                       Rule::kDoesNotCrash);
}
EpStatus* NoGroup() {
  return DebugHost::Current().NewStatus(EP_STATUS_INVALID_ARGUMENT, "the share group is of no use here");
}

EpStatus* EP_CALL GetInfo(const EpShareGroup* group, EpShareInfo* info) {
  DebugMembership* mine = Require(group, "EpShareApi::GetInfo");
  return mine == nullptr ? NoGroup() : DebugHost::Current().FillRoom(info, mine->info(), "EpShareApi::GetInfo");
}

EpStatus* EP_CALL GetWorkspace(EpShareGroup* group, EpMakeWorkspace make, void* user, EpFreeWorkspace release,
                               void** data) {
  DebugMembership* mine = Require(group, "GetWorkspace");
  if (mine == nullptr) return NoGroup();
  thread_local bool t_making = false;
  if (t_making)
    return DebugHost::Current().Refuse(Rule::kMakeAsksForNoWorkspace,
                                       "GetWorkspace was called while it makes a workspace");
  DebugWorkspace& workspace = mine->workspace();
  std::lock_guard lock(workspace.mutex);
  if (workspace.release == nullptr) {
    t_making = true;
    EpStatus* status = make(user, &workspace.data);
    t_making = false;
    if (status != nullptr) return status;
    workspace.release = release;
  }
  *data = workspace.data;
  return nullptr;
}

}  // namespace

const EpShareApi kDebugShareApi = {sizeof(EpShareApi), 0, GetInfo, GetWorkspace};

bool DebugMembership::WasAsked() { return was_asked; }

DebugWorkspace::~DebugWorkspace() {
  if (release == nullptr) return;
  try {
    release(data);
  } catch (...) {
    DebugHost::Current().Violate(Rule::kReleasesKeepExceptions, "the release of a workspace let an exception escape");
  }
}

LentMemory& DebugWorkspace::Payload(const std::string& bytes,
                                    const std::function<std::unique_ptr<LentMemory>()>& make) {
  for (const auto& [known, memory] : payloads) {
    if (known == bytes) return *memory;
  }
  payloads.emplace_back(bytes, make());
  return *payloads.back().second;
}

DebugMembership::DebugMembership(std::shared_ptr<DebugWorkspace> workspace, bool compiling, bool last)
    : workspace_(std::move(workspace)), handle_(Live<EpShareGroup, DebugMembership>().Open(this)) {
  info_.struct_size = sizeof(info_);
  info_.compiling = compiling ? 1 : 0;
  info_.last = last ? 1 : 0;
  info_.name = "conformance";
}

DebugMembership::~DebugMembership() { Live<EpShareGroup, DebugMembership>().Close(handle_); }

}  // namespace epiphyte::conformance
