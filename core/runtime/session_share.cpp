#include "core/runtime/session_share.h"

#include <thread>

#include "core/base/error.h"
#include "core/base/log.h"

namespace epiphyte::core {

void SessionShare::Join() {
  const bool stop = config_.share.stop;
  if (!config_.share.enable) {
    if (stop) {
      Fail(StatusCode::kInvalidArgument,
           "ep.stop_share_ep_contexts is 1 but ep.share_ep_contexts is not; set both for the last session of a group");
    }
    return;
  }
  const std::string& name = config_.share.group;
  if (!config_.context.enable) {
    if (stop) {
      Fail(StatusCode::kInvalidArgument,
           "ep.stop_share_ep_contexts is for sessions that compile (ep.context_enable=1); a group that loads ends with "
           "its last session");
    }
    loading_ = groups_.ForLoading(name);
    return;
  }
  // Sessions of a group compile one after another. The group may have ended while this one waited.
  for (;;) {
    const auto group = groups_.ForCompiling(name);
    if (group->compiler.load() == std::this_thread::get_id()) {
      Fail(StatusCode::kInvalidArgument,
           "a session of share group '{}' was created by a callback of another one that compiles; create it when that "
           "one is ready",
           name);
    }
    std::unique_lock<std::mutex> turn(group->turn);
    if (group->ended) continue;
    group->compiler = std::this_thread::get_id();
    compiling_ = group;
    turn_ = std::move(turn);
    return;
  }
}

void SessionShare::Leave() {
  if (!compiling_) return;
  const std::shared_ptr<ShareGroups::Compiling> group = std::move(compiling_);
  const std::unique_lock<std::mutex> turn = std::move(turn_);  // released before the group
  group->compiler = std::thread::id();
  if (has_joined_ && !config_.share.stop) return;
  const size_t models = group->set == nullptr ? 0 : group->set->ModelNames().size();
  if (!has_joined_ && !is_spent_ && models != 0) {
    group->set->NoteFailure();
    return;
  }
  group->ended = true;
  groups_.EndCompiling(config_.share.group, group);
}

ShareMembership SessionShare::membership() const {
  if (compiling_) return {compiling_->group->workspaces(), true, config_.share.stop};
  if (loading_) return {loading_->workspaces(), false, false};
  return {};
}

std::unique_ptr<ContextGenerator> SessionShare::MakeGenerator(ContextTarget target) {
  if (!compiling_) return std::make_unique<ContextGenerator>(std::move(target));
  if (compiling_->set && compiling_->set->IsBegunAnewBy(target)) {
    Log(LogLevel::kWarning, "context",
        "share group '{}' starts again: an earlier session failed after it had compiled '{}'", config_.share.group,
        target.model.filename().string());
    compiling_->set.reset();
    compiling_->group = std::make_shared<ShareGroup>(config_.share.group);
  }
  return std::make_unique<ContextGenerator>(std::move(target), &compiling_->set);
}

std::vector<std::string> SessionShare::EarlierModels() const {
  return compiling_ ? compiling_->set->ModelNames() : std::vector<std::string>();
}

}  // namespace epiphyte::core
