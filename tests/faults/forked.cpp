#include "tests/faults/forked.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string_view>
#include <typeinfo>

#include "epiphyte/error.hpp"

namespace epiphyte::test {
namespace {

struct Message {
  Outcome::End end;
  uint64_t calls;
};

int g_report = -1;  // pipe to the parent, in a child; -1 in the parent

bool IsMachinery(std::string_view path) {
  for (std::string_view name : {"libc.so", "libstdc++.so", "libgcc_s.so"}) {
    if (path.find(name) != path.npos) return true;
  }
  return false;
}

// Reports the function and library in which the signal occurred, then re-raises the signal with its default action.
void ReportCrash(int signal) {
  void* frames[64];
  const int count = backtrace(frames, 64);
  // The first frame is this function, in the test itself.
  for (int i = 1; i < count; ++i) {
    Dl_info info = {};
    if (dladdr(frames[i], &info) == 0 || info.dli_fname == nullptr) continue;
    if (IsMachinery(info.dli_fname)) continue;
    const Message message = {Outcome::End::kSignal, 0};
    char text[sizeof message + 512];
    std::memcpy(text, &message, sizeof message);
    const int length = std::snprintf(text + sizeof message, sizeof text - sizeof message, "%s in %s",
                                     info.dli_sname == nullptr ? "a function" : info.dli_sname, info.dli_fname);
    if (length < 0 || write(g_report, text, sizeof message + std::min<size_t>(static_cast<size_t>(length), 511)) < 0) {
      _exit(1);
    }
    break;
  }
  std::signal(signal, SIG_DFL);
  raise(signal);
}

[[noreturn]] void RunChild(int pipe, const std::function<std::string()>& body, const Around& around) {
  g_report = pipe;
  for (int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) std::signal(signal, ReportCrash);
  Message message = {};
  std::string text;
  around.before();
  // `after` is called as soon as the body ends, so that no fault hits the harness itself.
  try {
    text = body();
    message = {Outcome::End::kReturned, around.after()};
  } catch (const Error& error) {
    message = {Outcome::End::kError, around.after()};
    text = std::string(StatusCodeName(error.code())) + ": " + error.what();
  } catch (const std::exception& error) {
    message = {Outcome::End::kEscaped, around.after()};
    text = std::string(typeid(error).name()) + ": " + error.what();
  } catch (...) {
    message = {Outcome::End::kEscaped, around.after()};
    text = "an exception that is no std::exception";
  }
  text.insert(0, reinterpret_cast<const char*>(&message), sizeof message);
  for (size_t at = 0; at < text.size();) {
    const ssize_t written = write(pipe, text.data() + at, text.size() - at);
    if (written <= 0) _exit(1);
    at += static_cast<size_t>(written);
  }
  _exit(0);
}

// Reads up to the end of the stream. Returns false when the end doesn't come within `limit`.
bool ReadAll(int pipe, std::chrono::seconds limit, std::string* text) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  char buffer[4096];
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    pollfd waiting = {pipe, POLLIN, 0};
    const int ready = left <= 0 ? 0 : poll(&waiting, 1, static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t got = read(pipe, buffer, sizeof buffer);
    if (got <= 0) return true;
    text->append(buffer, static_cast<size_t>(got));
  }
}

}  // namespace

std::string Outcome::Describe() const {
  switch (end) {
    case End::kReturned: return "returned '" + text + "'";
    case End::kError: return "failed with " + text;
    case End::kEscaped: return "let escape " + text;
    case End::kSignal: return std::string("was killed by signal ") + strsignal(signal) + " in " + text;
    case End::kTimeout: return "did not end in time";
    case End::kExit: return "left without a word";
  }
  return "?";
}

Outcome RunForked(const std::function<std::string()>& body, const Around& around, std::chrono::seconds limit) {
  void* warm[1];
  backtrace(warm, 1);  // loads the library that backtrace needs
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no fork");
  if (child == 0) {
    close(ends[0]);
    RunChild(ends[1], body, around);
  }
  close(ends[1]);
  std::string text;
  const bool in_time = ReadAll(ends[0], limit, &text);
  close(ends[0]);
  if (!in_time) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  Outcome outcome;
  if (!in_time) {
    outcome.end = Outcome::End::kTimeout;
  } else if (WIFSIGNALED(status)) {
    outcome.end = Outcome::End::kSignal;
    outcome.signal = WTERMSIG(status);
    if (text.size() > sizeof(Message)) outcome.text = text.substr(sizeof(Message));
  } else if (text.size() >= sizeof(Message)) {
    Message message;
    std::memcpy(&message, text.data(), sizeof message);
    outcome.end = message.end;
    outcome.calls = message.calls;
    outcome.text = text.substr(sizeof message);
  }
  return outcome;
}

}  // namespace epiphyte::test
