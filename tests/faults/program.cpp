#include "tests/faults/program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <sstream>
#include <stdexcept>
#include <thread>

extern char** environ;

namespace epiphyte::test {
namespace {

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Program::Program(std::vector<std::string> words, const std::map<std::string, std::string>& environment) {
  std::vector<std::string> variables;
  for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    if (!environment.contains(text.substr(0, text.find('=')))) variables.push_back(text);
  }
  const std::string out = outputs_ / "out", err = outputs_ / "err";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), O_WRONLY | O_CREAT, 0600);
  // A shell ignores SIGINT in its background jobs, and this program and its children inherit that. The child must not
  // ignore it.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&defaults, signal);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  const int error =
      posix_spawn(&pid_, words[0].c_str(), &actions, &attributes, Pointers(words).data(), Pointers(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error("can't start " + words[0]);
}

Program::~Program() {
  if (pid_ > 0) Wait(std::chrono::seconds(0));
}

void Program::Signal(int signal) const { kill(pid_, signal); }

ProgramEnd Program::Wait(std::chrono::seconds limit) {
  ProgramEnd end;
  const auto deadline = std::chrono::steady_clock::now() + limit;
  int status = 0;
  for (pid_t waited = 0; waited == 0;) {
    waited = waitpid(pid_, &status, WNOHANG);
    if (waited != 0) break;
    if (std::chrono::steady_clock::now() >= deadline) {
      end.in_time = false;
      kill(pid_, SIGKILL);
      waitpid(pid_, &status, 0);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  pid_ = -1;
  if (WIFEXITED(status)) end.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  end.out = ReadFile(outputs_ / "out");
  end.err = ReadFile(outputs_ / "err");
  return end;
}

std::vector<std::string> WorkerWords(std::vector<std::string> words) {
  words.insert(words.begin(), EPIPHYTE_FAULTS_WORKER);
  return words;
}

std::vector<std::string> EpiphyteWords(std::vector<std::string> words) {
  words.insert(words.begin(), EPIPHYTE_PROGRAM);
  return words;
}

std::vector<std::string> SharingWords(std::vector<std::string> words) {
  words.insert(words.begin(), EPIPHYTE_SHARING_PROGRAM);
  return words;
}

ProgramEnd RunWorker(std::vector<std::string> words, const std::map<std::string, std::string>& environment,
                     std::chrono::seconds limit) {
  return Program(WorkerWords(std::move(words)), environment).Wait(limit);
}

std::string ToText(const Numbers& numbers) {
  std::string text;
  for (const std::vector<float>& output : numbers) {
    for (float number : output) {
      char digits[64];
      std::snprintf(digits, sizeof digits, "%.9g ", static_cast<double>(number));
      text += digits;
    }
    text += "; ";
  }
  return text;
}

Numbers NumbersFrom(const std::string& text) {
  Numbers numbers(1);
  std::istringstream words(text.substr(0, text.find('\n')));
  for (std::string word; words >> word;) {
    if (word == ";") {
      numbers.emplace_back();
      continue;
    }
    size_t used = 0;
    try {
      numbers.back().push_back(std::stof(word, &used));
    } catch (const std::exception&) {
      return {};
    }
    if (used != word.size()) return {};
  }
  numbers.pop_back();
  return numbers;
}

}  // namespace epiphyte::test
