#include "suite.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

namespace epiphyte::nsdk_conformance {
namespace {

using Clock = std::chrono::steady_clock;

struct Ending {
  Outcome outcome;
  std::string message;
};

Ending Check(const Rule& rule, const Target& target) {
  // The Sdk is never destroyed and its library stays open, because threads of the library may still run.
  Sdk& sdk = *new Sdk(target);
  try {
    rule.check(sdk);
    return {Outcome::kPass, ""};
  } catch (const Failed& end) {
    return {Outcome::kFail, end.found};
  } catch (const NotApplicable& end) {
    return {Outcome::kNotApplicable, end.why};
  } catch (const NotReached& end) {
    return {Outcome::kNotReached, end.why};
  } catch (const std::exception& error) {
    return {Outcome::kFail, fmt::format("an exception came out of the library: {}", error.what())};
  }
}

[[noreturn]] void RunInChild(const Rule& rule, const Target& target, int answer, int printed) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  dup2(printed, 1);
  dup2(printed, 2);
  const Ending ending = Check(rule, target);
  const std::string text = static_cast<char>(ending.outcome) + ending.message;
  size_t at = 0;
  while (at < text.size()) {
    const ssize_t written = write(answer, text.data() + at, text.size() - at);
    if (written <= 0) break;
    at += static_cast<size_t>(written);
  }
  // Exits without destructors, so that the library can't make the exit fail.
  _exit(0);
}

// The line of a sanitizer's report that says what it found, else the first line that was printed.
std::string Printed(int file) {
  std::string text(1 << 16, '\0');
  text.resize(static_cast<size_t>(std::max<ssize_t>(0, pread(file, text.data(), text.size(), 0))));
  size_t at = text.find("ERROR: ");
  if (at == std::string::npos) at = text.find("WARNING: ThreadSanitizer");
  if (at == std::string::npos) at = text.find("runtime error: ");
  if (at == std::string::npos) at = 0;
  const std::string line = text.substr(at, std::min<size_t>(text.find('\n', at) - at, 300));
  return line.empty() ? "" : "; printed: " + line;
}

Ending RunIsolated(const Rule& rule, const Target& target, std::chrono::seconds limit) {
  int ends[2];
  const int printed = memfd_create("printed", MFD_CLOEXEC);
  if (printed < 0 || pipe(ends) != 0) throw std::runtime_error("no pipe can be made");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no process can be made");
  if (child == 0) {
    close(ends[0]);
    RunInChild(rule, target, ends[1], printed);
  }
  close(ends[1]);
  const auto end = Clock::now() + limit;
  std::string answer;
  bool in_time = true;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd waiting{ends[0], POLLIN, 0};
    if (left <= 0 || poll(&waiting, 1, static_cast<int>(left)) == 0) {
      in_time = false;
      kill(child, SIGKILL);
      break;
    }
    char buffer[4096];
    const ssize_t got = read(ends[0], buffer, sizeof buffer);
    if (got <= 0) break;
    answer.append(buffer, static_cast<size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  Ending ending{Outcome::kFail, ""};
  if (!in_time) {
    ending.message = fmt::format("no answer within {} s", limit.count());
  } else if (WIFSIGNALED(status)) {
    ending.message =
        fmt::format("the process was ended by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  } else if (answer.empty() || WEXITSTATUS(status) != 0) {
    ending.message = fmt::format("the process ended with exit code {}", WEXITSTATUS(status));
  } else {
    ending = {static_cast<Outcome>(answer[0]), answer.substr(1)};
    close(printed);
    return ending;
  }
  ending.message += Printed(printed);
  close(printed);
  return ending;
}

const char* NameOf(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass: return "pass";
    case Outcome::kFail: return "fail";
    case Outcome::kNotApplicable: return "not applicable";
    default: return "not reached";
  }
}

// Makes one printable line of a text, whatever an SDK put into it.
std::string Printable(std::string text) {
  for (char& letter : text) {
    if (static_cast<unsigned char>(letter) < ' ' || static_cast<unsigned char>(letter) > '~') letter = '?';
  }
  return text.substr(0, 1024);
}

}  // namespace

std::vector<Result> RunSuite(const Target& target, const SuiteOptions& options) {
  std::vector<Result> results;
  for (const Rule& rule : AllRules()) {
    if (!options.rules.empty() && !options.rules.contains(rule.number)) continue;
    const auto start = Clock::now();
    const Ending ending = options.fork ? RunIsolated(rule, target, options.limit) : Check(rule, target);
    results.push_back({&rule, ending.outcome, Printable(ending.message),
                       std::chrono::duration<double>(Clock::now() - start).count()});
  }
  const bool failed = std::any_of(results.begin(), results.end(),
                                  [](const Result& result) { return result.outcome == Outcome::kFail; });
  for (Result& result : results) {
    if (result.outcome == Outcome::kNotReached && !failed) result.outcome = Outcome::kFail;
  }
  return results;
}

void WriteText(std::ostream& out, const std::vector<Result>& results, bool verbose) {
  std::map<Outcome, int> counts;
  for (const Result& result : results) {
    ++counts[result.outcome];
    if (result.outcome == Outcome::kFail) {
      out << fmt::format("N{} FAIL {}\n  found: {}\n  do: {}\n", result.rule->number, result.rule->text, result.message,
                         result.rule->advice);
    } else if (verbose || result.outcome == Outcome::kNotReached) {
      out << fmt::format("N{} {} ({:.2f} s) {}{}{}\n", result.rule->number, NameOf(result.outcome), result.seconds,
                         result.rule->text, result.message.empty() ? "" : ": ", result.message);
    }
  }
  out << fmt::format("{} rules passed, {} failed, {} not applicable, {} not reached\n", counts[Outcome::kPass],
                     counts[Outcome::kFail], counts[Outcome::kNotApplicable], counts[Outcome::kNotReached]);
}

void WriteJson(std::ostream& out, const std::string& library, const std::vector<Result>& results) {
  nlohmann::ordered_json rules = nlohmann::ordered_json::array();
  std::map<std::string, int> counts;
  for (const Result& result : results) {
    ++counts[NameOf(result.outcome)];
    nlohmann::ordered_json rule = {{"rule", result.rule->number},
                                   {"outcome", NameOf(result.outcome)},
                                   {"text", result.rule->text},
                                   {"seconds", result.seconds}};
    if (!result.message.empty()) rule["message"] = result.message;
    if (result.outcome == Outcome::kFail) rule["do"] = result.rule->advice;
    rules.push_back(std::move(rule));
  }
  const nlohmann::ordered_json report = {{"library", library},
                                         {"passed", counts["pass"]},
                                         {"failed", counts["fail"]},
                                         {"not_applicable", counts["not applicable"]},
                                         {"not_reached", counts["not reached"]},
                                         {"rules", rules}};
  out << report.dump(2) << "\n";
}

}  // namespace epiphyte::nsdk_conformance
