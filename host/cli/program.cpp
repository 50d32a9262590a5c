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

int Guarded(const std::string& program, const std::function<int()>& body) {
  std::string message;
  try {
    const int code = body();
    if (!std::cout.flush()) {
      return ReportError(program, kFailed,
                         IsOutputClosed()
                             ? "standard output is closed, so the results can't be printed; open it, or use >/dev/null"
                             : "standard output can't be written; is the disk full?");
    }
    if (CaughtSignal() == 0) return code;
  } catch (const std::bad_alloc&) {
    message = "out of memory; close other programs or use a smaller model";
  } catch (const Error& error) {
    message = std::string(error.what()) + std::string(HintText(error.hint()));
  } catch (const std::exception& error) {
    message = error.what();
  }
  std::cout.flush();
  if (CaughtSignal() == 0) return ReportError(program, kFailed, message);
  return ReportError(program, 128 + CaughtSignal(), "ended by " + SignalName(CaughtSignal()));
}

}  // namespace

int ReportError(std::string_view program, int code, std::string_view message) {
  // Exceptions of the command line parser may span lines.
  std::cerr << program << ": error: " << PrintableText(message, kMaxMessage) << '\n';
  return code;
}

int RunMain(const std::string& program, const std::function<int()>& body) {
  OccupyClosedStreams();
  try {
    RequireFreeDescriptors();
    const Interrupts interrupts(program);
    return Guarded(program, body);
  } catch (const std::exception& error) {
    return ReportError(program, kFailed, error.what());
  }
}

}  // namespace epiphyte::cli
