#include "host/cli/open_session.h"

#include <optional>
#include <utility>

#include "epiphyte/error.hpp"
#include "host/cli/interrupt.h"
#include "host/cli/progress.h"

namespace epiphyte::cli {

Session OpenSession(const Environment& environment, const std::filesystem::path& model, SessionOptions options,
                    const std::string& doing, const TimeLimit& limit) {
  const Cancellable cancellable;
  Progress progress(doing + " " + model.filename().string());
  options.SetProgress([&progress, &limit](const SessionProgress& at) {
    progress.Update(at);
    return CaughtSignal() != 0 || limit.is_over();
  });
  std::optional<Session> session;
  limit.Watch(doing, [&] { session.emplace(environment, model, options); });
  // The signal may have come too late to cancel the session, but it must stop the next step.
  if (CaughtSignal() != 0) throw Error(StatusCode::kModelLoadCanceled, "cancelled");
  return *std::move(session);
}

}  // namespace epiphyte::cli
