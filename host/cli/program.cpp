#include "host/cli/program.h"

#include <exception>
#include <iostream>

#include "epiphyte/error.hpp"
#include "epiphyte/text.hpp"
#include "host/cli/descriptors.h"
#include "host/cli/hints.h"
#include "host/cli/interrupt.h"
#include "host/cli/text.h"

namespace epiphyte::cli {
namespace {

constexpr size_t kMaxMessage = 16 << 10;

// The reason why a program ended without a result.
struct Failure {
  int exit_code = kFailed;
  StatusCode code = StatusCode::kFail;
  Hint hint = Hint::kNone;
  std::string message;
  bool reported = false;  // the failure is already in the JSON result
};

std::string_view HintName(Hint hint) {
  switch (hint) {
    case Hint::kNone: return "";
    case Hint::kOverwrite: return "overwrite";
    case Hint::kReseal: return "reseal";
    case Hint::kVerify: return "verify";
    case Hint::kShowPlacement: return "show_placement";
    case Hint::kListPlugins: return "list_plugins";
    case Hint::kProbePlugins: return "probe_plugins";
    case Hint::kWritePlain: return "write_plain";
  }
  return "";
}

int Report(const std::string& program, const Failure& failure, bool json) {
  if (json && !failure.reported) {
    PrintJson({{"error",
                {{"code", StatusCodeName(failure.code)},
                 {"message", PrintableText(failure.message, kMaxMessage)},
                 {"hint", HintName(failure.hint)},
                 {"exit_code", failure.exit_code}}}});
  }
  std::cout.flush();
  return ReportError(program, failure.exit_code, failure.message + std::string(HintText(failure.hint)));
}

int Guarded(const std::string& program, const std::function<int()>& body, bool json) {
  Failure failure;
  try {
    const int code = body();
    if (!std::cout.flush()) {
      return ReportError(program, kFailed,
                         IsOutputClosed()
                             ? "standard output is closed, so the results can't be printed; open it, or use >/dev/null"
                             : "standard output can't be written; is the disk full?");
    }
    if (CaughtSignal() == 0) return code;
    failure.reported = true;  // the signal came after the result
  } catch (const std::bad_alloc&) {
    failure.code = StatusCode::kOutOfMemory;
    failure.message = "out of memory; close other programs or use a smaller model";
  } catch (const Error& error) {
    failure.code = error.code();
    failure.hint = error.hint();
    failure.message = error.what();
    failure.reported = dynamic_cast<const ReportedError*>(&error) != nullptr;
    if (dynamic_cast<const UsageError*>(&error) != nullptr) failure.exit_code = kUsage;
  } catch (const std::exception& error) {
    failure.message = error.what();
  }
  if (CaughtSignal() != 0) {
    failure.exit_code = 128 + CaughtSignal();
    failure.code = StatusCode::kCanceled;
    failure.hint = Hint::kNone;
    failure.message = "ended by " + SignalName(CaughtSignal());
  }
  return Report(program, failure, json);
}

}  // namespace

int ReportError(std::string_view program, int code, std::string_view message) {
  // Exceptions of the command line parser may span lines.
  std::cerr << program << ": error: " << PrintableText(message, kMaxMessage) << '\n';
  return code;
}

int RunMain(const std::string& program, const std::function<int()>& body, bool json) {
  OccupyClosedStreams();
  try {
    RequireFreeDescriptors();
    const Interrupts interrupts(program);
    return Guarded(program, body, json);
  } catch (const std::exception& error) {
    return ReportError(program, kFailed, error.what());
  }
}

}  // namespace epiphyte::cli
