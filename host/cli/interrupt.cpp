#include "host/cli/interrupt.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "epiphyte/error.hpp"
#include "epiphyte/files.hpp"

namespace epiphyte::cli {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
constexpr int kPatienceMs = 2000;
constexpr int kDone = 0;
constexpr int kNothing = -1;

// A signal handler can only reach state of the process, so these variables are globals.
std::atomic<int> g_signal = 0;
std::atomic<int> g_cancellable = 0;
int g_pipe[2] = {-1, -1};

void OnSignal(int signal) {
  const int error = errno;
  const char byte = static_cast<char>(signal);
  // If the pipe is full, the byte is lost. The pipe then has more signals than the program reads.
  [[maybe_unused]] const ssize_t written = write(g_pipe[1], &byte, 1);
  errno = error;
}

// Returns a signal; kDone: the other end was closed; kNothing: nothing came before the timeout.
int ReadByte(int timeout_ms) {
  pollfd waiting = {g_pipe[0], POLLIN, 0};
  int ready = 0;
  do {
    ready = poll(&waiting, 1, timeout_ms);
  } while (ready < 0 && errno == EINTR);
  if (ready <= 0) return kNothing;
  char byte = 0;
  return read(g_pipe[0], &byte, 1) == 1 ? byte : kDone;
}

}  // namespace

Interrupts::Interrupts(std::string program) : program_(std::move(program)) {
  if (pipe2(g_pipe, O_CLOEXEC) != 0) {
    throw Error(StatusCode::kFail, "no pipe for signals: " + std::string(std::strerror(errno)) +
                                       "; close other programs or raise the limit of open files (ulimit -n)");
  }
  fcntl(g_pipe[1], F_SETFL, O_NONBLOCK);
  try {
    watcher_ = std::thread([this] { Watch(); });
  } catch (const std::system_error&) {
    return;  // no thread can be started: signals keep their default effect
  }
  for (int number : kSignals) {
    struct sigaction old = {};
    sigaction(number, nullptr, &old);
    if (old.sa_handler == SIG_IGN) continue;
    struct sigaction action = {};
    action.sa_handler = OnSignal;
    action.sa_flags = SA_RESTART;  // system calls of plugins and libraries are not interrupted
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, nullptr);
  }
}

Interrupts::~Interrupts() {
  for (int number : kSignals) {
    struct sigaction now = {};
    sigaction(number, nullptr, &now);
    if (now.sa_handler == OnSignal) signal(number, SIG_DFL);
  }
  close(std::exchange(g_pipe[1], -1));
  if (watcher_.joinable()) watcher_.join();
  close(g_pipe[0]);
}

void Interrupts::Watch() {
  const int signal = ReadByte(-1);
  if (signal == kDone) return;
  g_signal = signal;
  if (g_cancellable == 0 || ReadByte(kPatienceMs) != kDone) End(signal);
}

void Interrupts::End(int signal) {
  RemoveUnfinishedFiles();
  // On a terminal, a progress bar may be on this line.
  std::string text = isatty(STDERR_FILENO) ? "\r\033[K" : "";
  text += program_ + ": error: ended by " + SignalName(signal) + "\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
  _exit(128 + signal);
}

int CaughtSignal() { return g_signal; }

std::string SignalName(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? "signal " + std::to_string(signal) : "SIG" + std::string(name);
}

Cancellable::Cancellable() { ++g_cancellable; }
Cancellable::~Cancellable() { --g_cancellable; }

}  // namespace epiphyte::cli
