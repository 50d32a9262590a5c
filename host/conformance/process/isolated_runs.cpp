#include "host/conformance/process/isolated_runs.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace epiphyte::conformance {
namespace {

bool WriteAll(int file, const void* data, size_t size) {
  const char* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = write(file, bytes, size);
    if (written <= 0) return false;
    bytes += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

// Each answer consists of its length as 32 bits and its bytes.
[[noreturn]] void ServeTasks(const IsolatedTasks& tasks, size_t first, int answers) {
  tasks.start();
  for (size_t i = first; i < tasks.count; ++i) {
    const std::string answer = tasks.run(i);
    const auto size = static_cast<uint32_t>(answer.size());
    if (!WriteAll(answers, &size, sizeof size) || !WriteAll(answers, answer.data(), answer.size())) _exit(1);
  }
  // Exits without destructors, so that a task's leaks or damage can't disturb the end.
  _exit(0);
}

class Child {
 public:
  Child(const IsolatedTasks& tasks, size_t first) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe can be made");
    pid_ = fork();
    if (pid_ < 0) throw std::runtime_error("no process can be made");
    if (pid_ == 0) {
      close(ends[0]);
      ServeTasks(tasks, first, ends[1]);
    }
    close(ends[1]);
    answers_ = ends[0];
  }
  ~Child() { close(answers_); }

  // Returns false when the child has died or sent nothing for `timeout`.
  bool ReadAnswer(std::chrono::milliseconds timeout, std::string& answer) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    uint32_t size = 0;
    if (!ReadAll(deadline, &size, sizeof size)) return false;
    answer.resize(size);
    return ReadAll(deadline, answer.data(), size);
  }

  // Ends the child, and describes how it ended.
  std::string End() {
    if (timed_out_) kill(pid_, SIGKILL);
    int status = 0;
    waitpid(pid_, &status, 0);
    if (timed_out_) return "no answer in time";
    if (WIFSIGNALED(status)) {
      return "killed by signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")";
    }
    return "the process ended with status " + std::to_string(WEXITSTATUS(status));
  }

 private:
  bool ReadAll(std::chrono::steady_clock::time_point deadline, void* data, size_t size) {
    char* bytes = static_cast<char*>(data);
    while (size > 0) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
      pollfd poll_for{answers_, POLLIN, 0};
      if (left <= 0 || poll(&poll_for, 1, static_cast<int>(left)) <= 0) {
        timed_out_ = true;
        return false;
      }
      const ssize_t got = read(answers_, bytes, size);
      if (got <= 0) return false;
      bytes += got;
      size -= static_cast<size_t>(got);
    }
    return true;
  }

  pid_t pid_ = 0;
  int answers_ = -1;
  bool timed_out_ = false;
};

}  // namespace

std::vector<std::string> RunIsolated(const IsolatedTasks& tasks, std::chrono::seconds timeout,
                                     const std::function<std::string(const std::string& cause)>& on_death) {
  std::vector<std::string> answers;
  while (answers.size() < tasks.count) {
    Child child(tasks, answers.size());
    std::string answer;
    while (answers.size() < tasks.count && child.ReadAnswer(timeout, answer)) answers.push_back(answer);
    const std::string end = child.End();
    if (answers.size() < tasks.count) answers.push_back(on_death(end));
  }
  return answers;
}

}  // namespace epiphyte::conformance
