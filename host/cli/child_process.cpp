#include "host/cli/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "epiphyte/error.hpp"

extern char** environ;

namespace epiphyte::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

[[noreturn]] void FailSystem(const std::string& what) {
  throw Error(StatusCode::kFail, what + ": " + std::strerror(errno) + "; close other programs and try again");
}

class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_, O_CLOEXEC) != 0) FailSystem("no pipe to another program");
    // The pipe's ends get numbers above the descriptors that the child uses.
    for (int& end : ends_) {
      const int moved = fcntl(end, F_DUPFD_CLOEXEC, 10);
      if (moved < 0) {
        const int error = errno;
        Close(0);
        Close(1);
        errno = error;
        FailSystem("no pipe to another program");
      }
      close(end);
      end = moved;
    }
  }
  ~Pipe() {
    Close(0);
    Close(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int end(int which) const { return ends_[which]; }
  void Close(int which) {
    if (ends_[which] >= 0) close(ends_[which]);
    ends_[which] = -1;
  }
  void MakeNonBlocking(int which) { fcntl(ends_[which], F_SETFL, O_NONBLOCK); }

 private:
  int ends_[2] = {-1, -1};
};

// A program that ends before it has read its whole input must not end this process with SIGPIPE.
class IgnoreBrokenPipe {
 public:
  IgnoreBrokenPipe() : previous_(signal(SIGPIPE, SIG_IGN)) {}
  ~IgnoreBrokenPipe() { signal(SIGPIPE, previous_); }

 private:
  sighandler_t previous_;
};

class Child {
 public:
  explicit Child(const ChildRequest& request) : request_(request) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in_.end(0), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err_.end(1), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err_.end(1), STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out_.end(1), request.out_descriptor);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t broken_pipe;
    sigemptyset(&broken_pipe);
    sigaddset(&broken_pipe, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes, &broken_pipe);
    posix_spawnattr_setpgroup(&attributes,
                              0);  // gives the child a process group, so that it can be killed with its own children
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    std::vector<std::string> words = request.words;
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    const int error = posix_spawnp(&pid_, pointers[0], &actions, &attributes, pointers.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (error != 0) {
      throw Error(StatusCode::kNotFound,
                  "program '" + request.words[0] + "' can't be started: " + std::strerror(error));
    }
    in_.Close(0);
    out_.Close(1);
    err_.Close(1);
    in_.MakeNonBlocking(1);
    out_.MakeNonBlocking(0);
    err_.MakeNonBlocking(0);
  }
  ~Child() {
    if (pid_ > 0) Kill();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  ChildResult Run() {
    const IgnoreBrokenPipe ignore;
    const auto begin = steady_clock::now();
    int status = 0;
    // Processes started by the child may keep the pipes open, so only the end of the child itself counts.
    while (waitpid(pid_, &status, WNOHANG) == 0) {
      if (request_.limit && steady_clock::now() - begin >= *request_.limit) {
        Exchange(milliseconds(0));
        Kill();
        result_.timed_out = true;
        return std::move(result_);
      }
      Exchange(milliseconds(20));
    }
    kill(-pid_, SIGKILL);  // kills processes that the child left behind
    pid_ = -1;
    Exchange(milliseconds(0));
    if (WIFEXITED(status)) result_.code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) result_.signal = WTERMSIG(status);
    return std::move(result_);
  }

 private:
  void Kill() {
    kill(-pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
  }

  // Waits for the pipes at most `patience`, then transfers the available bytes in both directions.
  void Exchange(milliseconds patience) {
    if (written_ == request_.input.size()) in_.Close(1);
    pollfd waiting[] = {{in_.end(1), POLLOUT, 0}, {out_.end(0), POLLIN, 0}, {err_.end(0), POLLIN, 0}};
    if (poll(waiting, std::size(waiting), static_cast<int>(patience.count())) < 0) return;
    if (in_.end(1) >= 0) Give();
    Take(&out_, request_.max_out, &result_.out);
    Take(&err_, request_.max_err, &result_.err);
  }

  void Give() {
    const ssize_t written = write(in_.end(1), request_.input.data() + written_, request_.input.size() - written_);
    if (written > 0) written_ += static_cast<size_t>(written);
    if (written < 0 && errno != EAGAIN && errno != EINTR) in_.Close(1);  // the child reads no more input
  }

  static void Take(Pipe* pipe, size_t limit, std::string* text) {
    char buffer[16 << 10];
    while (pipe->end(0) >= 0) {
      const ssize_t got = read(pipe->end(0), buffer, sizeof buffer);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return;
      if (got == 0) return pipe->Close(0);
      text->append(buffer, std::min(static_cast<size_t>(got), limit - std::min(limit, text->size())));
    }
  }

  const ChildRequest& request_;
  Pipe in_, out_, err_;
  pid_t pid_ = -1;
  size_t written_ = 0;
  ChildResult result_;
};

}  // namespace

ChildResult RunChild(const ChildRequest& request) { return Child(request).Run(); }

}  // namespace epiphyte::cli
