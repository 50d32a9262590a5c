#include "host/cli/svg.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include "epiphyte/error.hpp"

extern char** environ;

namespace epiphyte::cli {
namespace {

struct Pipe {
  int ends[2] = {-1, -1};
  Pipe() {
    if (pipe2(ends, O_CLOEXEC) != 0) {
      throw Error(StatusCode::kFail, "no pipe to graphviz: " + std::string(std::strerror(errno)));
    }
  }
  ~Pipe() {
    Close(0);
    Close(1);
  }
  void Close(int end) {
    if (ends[end] >= 0) close(ends[end]);
    ends[end] = -1;
  }
};

pid_t SpawnDot(int input, const std::string& output) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::string program = "dot", format = "-Tsvg", flag = "-o", file = output;
  char* arguments[] = {program.data(), format.data(), flag.data(), file.data(), nullptr};
  pid_t pid = -1;
  int error = posix_spawnp(&pid, "dot", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    throw Error(StatusCode::kNotFound, "graphviz's program 'dot' can't be started (" +
                                           std::string(std::strerror(error)) +
                                           "); install graphviz or use --json instead of --svg");
  }
  return pid;
}

// A program that ends early must not end this one.
class IgnoreBrokenPipe {
 public:
  IgnoreBrokenPipe() : previous_(signal(SIGPIPE, SIG_IGN)) {}
  ~IgnoreBrokenPipe() { signal(SIGPIPE, previous_); }

 private:
  sighandler_t previous_;
};

void WriteAll(int descriptor, std::string_view text) {
  while (!text.empty()) {
    ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return;  // its exit status tells what happened
    text.remove_prefix(static_cast<size_t>(written));
  }
}

int Wait(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

void WriteSvg(std::string_view dot, const std::filesystem::path& file) {
  std::filesystem::path staged = file;
  staged += ".part" + std::to_string(getpid());
  Pipe pipe;
  pid_t pid = SpawnDot(pipe.ends[0], std::filesystem::absolute(staged).string());
  pipe.Close(0);
  {
    IgnoreBrokenPipe ignore;
    WriteAll(pipe.ends[1], dot);
  }
  pipe.Close(1);
  int code = Wait(pid);
  std::error_code error;
  if (code == 0) {
    std::filesystem::rename(staged, file, error);
    if (!error) return;
  }
  std::error_code ignored;
  std::filesystem::remove(staged, ignored);
  std::string reason = code != 0 ? "graphviz failed" : error.message();
  throw Error(StatusCode::kFail, "'" + file.string() + "' can't be written: " + reason + "; check the folder");
}

}  // namespace epiphyte::cli
