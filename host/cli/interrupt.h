// Interrupts: SIGINT, SIGTERM and SIGHUP end the program with nothing half written left behind, and the exit code that
// shells know: 130, 143, 129.
//
// The first signal asks work that can be cancelled to stop; it gets a few seconds, because a plugin may be deep in
// something long. Everything else ends at once, and so does everything at the second signal. A signal that the program
// was started with as ignored, as nohup does it, stays ignored.
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

// One in a program, made in main before anything else.
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

// The signal that asks the program to end; 0: none. [any thread]
int CaughtSignal();
// "SIGINT"
std::string SignalName(int signal);

// While one exists, the command polls CaughtSignal and ends the work itself.
class Cancellable {
 public:
  Cancellable();
  ~Cancellable();
  Cancellable(const Cancellable&) = delete;
  Cancellable& operator=(const Cancellable&) = delete;
};

}  // namespace epiphyte::cli
