// WatchedCall: checks before and after each call into a plugin that the plugin leaves the thread's state unchanged.
//
// A changed floating-point mode is restored, because it would change the results of everything that the thread computes
// later. A changed working directory is not restored, because another thread may have changed it. Both are logged once
// for each function of a plugin. exit() inside a call ends the process with a message and a nonzero code, because a
// script would take a plugin's exit(0) for success.
//
//   {
//     const WatchedCall call(plugin.name, "Compile", WatchedCall::kFolder);
//     status = api.Compile(…);
//   }
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/float_mode.h"

namespace epiphyte::core {

class WatchedCall {
 public:
  enum Watch {
    kMode,    // the floating-point mode; takes some nanoseconds
    kFolder,  // watches the working directory too; takes two system calls
  };

  // Construct it on the stack of the calling thread. Both texts must outlive the object.
  WatchedCall(std::string_view plugin, std::string_view function, Watch watch)
      : plugin_(plugin), function_(function), watches_folder_(watch == kFolder), outer_(t_current) {
    if (watches_folder_) folder_ = Folder::Current();
    t_current = this;
    mode_ = FloatMode::Current();
  }
  ~WatchedCall() {
    const FloatMode mode = FloatMode::Current();
    t_current = outer_;
    if (mode != mode_ || watches_folder_) [[unlikely]]
      Compare(mode);
  }
  WatchedCall(const WatchedCall&) = delete;
  WatchedCall& operator=(const WatchedCall&) = delete;

  // The innermost call of this thread; null when there is none.
  static const WatchedCall* Current() { return t_current; }

  // Marks its thread as working for a call of another thread, which waits for it. `call` may be null.
  class Helper {
   public:
    explicit Helper(const WatchedCall* call) : call_(call), outer_(t_current) {
      if (call_ == nullptr) return;
      t_current = call_;
      mode_ = FloatMode::Current();
    }
    ~Helper() {
      if (call_ == nullptr) return;
      t_current = outer_;
      const FloatMode mode = FloatMode::Current();
      if (mode != mode_) [[unlikely]]
        call_->CompareMode(mode_, mode);
    }
    Helper(const Helper&) = delete;
    Helper& operator=(const Helper&) = delete;

   private:
    const WatchedCall* call_;
    const WatchedCall* outer_;
    FloatMode mode_;
  };

  // Marks that the plugin has called back, so that application code runs, which may call exit().
  class Callback {
   public:
    Callback() : outer_(t_current) { t_current = nullptr; }
    ~Callback() { t_current = outer_; }
    Callback(const Callback&) = delete;
    Callback& operator=(const Callback&) = delete;

   private:
    const WatchedCall* outer_;
  };

  // From now on exit() is noticed before objects of libraries that are open already are destroyed. Call it before and
  // after a plugin's library is opened.
  static void NoticeExit();

 private:
  // Identifies the working directory.
  struct Folder {
    uint64_t device = 0;
    uint64_t number = 0;
    static Folder Current();
    bool operator==(const Folder&) const = default;
  };

  void Compare(FloatMode mode) const noexcept;
  void CompareMode(FloatMode before, FloatMode after) const noexcept;
  void Report(std::string_view kind, std::string_view text) const;
  static void OnExit(int status, void* unused);

  // Initial-exec, as in thread_pool.cpp: the memory is allocated with the thread.
  [[gnu::tls_model("initial-exec")]] static constinit thread_local const WatchedCall* t_current;

  std::string_view plugin_;
  std::string_view function_;
  bool watches_folder_;
  Folder folder_;
  FloatMode mode_;
  const WatchedCall* outer_;
};

}  // namespace epiphyte::core
