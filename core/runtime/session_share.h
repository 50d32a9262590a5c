// SessionShare: the share group of a session, while the session is made. See share_group.h.
//
//   SessionShare share(environment.share_groups(), config);
//   share.Join();  // waits for the group's session that compiles
//   std::unique_ptr<ContextGenerator> generator = share.MakeGenerator(target);
//   …
//   share.Leave();
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/abi/share_workspaces.h"
#include "core/context/context_generator.h"
#include "core/context/share_group.h"
#include "core/runtime/session_config.h"

namespace epiphyte::core {

class SessionShare {
 public:
  // Both must outlive this object.
  SessionShare(ShareGroups& groups, const SessionConfig& config) : groups_(groups), config_(config) {}
  SessionShare(const SessionShare&) = delete;
  SessionShare& operator=(const SessionShare&) = delete;

  // Joins the group that the options name, if any. When it compiles, waits for the session that has the turn. Throws
  // INVALID_ARGUMENT for options that contradict each other.
  void Join();
  // Ends the session's turn. A compiling group that has no use for this session goes on without it. The session's
  // generator must be destroyed before, because it drops payloads that it staged in the group's set.
  void Leave();

  ShareMembership membership() const;
  // The group of a session that loads; null when there is none.
  ShareGroup* loading() const { return loading_.get(); }
  std::shared_ptr<ShareGroup> TakeLoading() { return std::move(loading_); }

  // The generator of the session's context model, in the group's set if there is a group that compiles.
  std::unique_ptr<ContextGenerator> MakeGenerator(ContextTarget target);
  // Whether the session publishes: the last one of its group, or one without a group.
  bool Publishes() const { return compiling_ == nullptr || config_.share.stop; }
  // File names of the models that earlier sessions of the group compiled.
  std::vector<std::string> EarlierModels() const;
  const std::string& group_name() const { return config_.share.group; }

  // The model is in the group's set, or published.
  void MarkJoined() { has_joined_ = true; }
  // A provider began to write payloads that earlier sessions of the group deferred. That can't be repeated.
  void MarkSpent() { is_spent_ = true; }
  bool is_spent() const { return is_spent_; }

 private:
  ShareGroups& groups_;
  const SessionConfig& config_;
  std::shared_ptr<ShareGroup> loading_;
  std::shared_ptr<ShareGroups::Compiling> compiling_;
  std::unique_lock<std::mutex> turn_;
  bool has_joined_ = false;
  bool is_spent_ = false;
};

}  // namespace epiphyte::core
