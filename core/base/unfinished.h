// Unfinished: a file or folder that is being made and must not stay behind when the process ends without unwinding, as
// after a signal.
//
//   Unfinished folder;
//   folder.Make(path, [&] { MakeTheFolder(path); });
//   … fill it, put it in place or remove it …
//   folder.Forget();   // or its destructor
//
// What ends the process calls Unfinished::RemoveAll() right before. This is state of the process, as its end is.
#pragma once

#include <filesystem>
#include <functional>

namespace epiphyte::core {

class Unfinished {
 public:
  Unfinished() = default;
  ~Unfinished() { Forget(); }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;

  // From now on `path` is removed at an early end. `make` creates it; nothing is made any more once RemoveAll has
  // begun: then Make throws FAIL. If `make` throws, there is nothing to remove.
  void Make(const std::filesystem::path& path, const std::function<void()>& make);
  void Forget() noexcept;
  // Runs `step`, which puts something in place, before RemoveAll has begun or not at all: then it throws FAIL.
  static void Undisturbed(const std::function<void()>& step);

  // Removes all that is unfinished in the process. Whoever still writes to it finds it gone. [any thread, no signal
  // handler]
  static void RemoveAll() noexcept;

 private:
  std::filesystem::path path_;  // empty: nothing
  Unfinished* previous_ = nullptr;
  Unfinished* next_ = nullptr;
};

}  // namespace epiphyte::core
