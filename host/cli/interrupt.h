// Interrupts: SIGINT, SIGTERM and SIGHUP end the program without leaving incomplete files, and with the exit code that
// shells expect: 130, 143, 129.
//
// The first signal asks work that can be cancelled to stop. The work has a few seconds, because a plugin may be in a
// long operation. All other work ends at once, and a second signal ends everything at once. A signal that is ignored
// when the program starts, as under nohup, stays ignored.
//
//   Interrupts interrupts("epiphyte");
//   {
//     Cancellable cancellable;
//     options.SetProgress([](…) { return CaughtSignal() != 0; });
//     Session session(environment, model, options);
//   }
#pragma once

#include <string>
#include <thread>

namespace epiphyte::cli {

// Make one object per program, in main before anything else.
class Interrupts {
 public:
  explicit Interrupts(std::string program);
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

 private:
  void Watch();
  [[noreturn]] void End(int signal);

  std::string program_;
  std::thread watcher_;
};

// Returns the signal that asks the program to end; 0: none. [any thread]
int CaughtSignal();
// Returns the signal's name, such as "SIGINT".
std::string SignalName(int signal);

// While such an object exists, the command polls CaughtSignal and ends the work itself.
class Cancellable {
 public:
  Cancellable();
  ~Cancellable();
  Cancellable(const Cancellable&) = delete;
  Cancellable& operator=(const Cancellable&) = delete;
};

}  // namespace epiphyte::cli
