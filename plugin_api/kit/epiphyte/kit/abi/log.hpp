// Log: writes to the host's log under the plugin's name.
//
//   const kit::Log log(host, "my-ep");
//   log.Warning("the device is busy; waiting");
//   if (log.IsOn(EP_LOG_DEBUG)) log.Debug(Describe(plan));
#pragma once

#include <string>

#include "epiphyte/kit/abi/error.hpp"

namespace epiphyte::kit {

// [any thread]
class Log {
 public:
  // `host` and `origin` must outlive the log.
  Log(const EpHostInfo& host, const char* origin) : services_(host.services), origin_(origin) {}

  // False: the host drops messages of that level, so the caller can skip making them.
  bool IsOn(EpLogLevel level) const { return services_->IsLogged(level) != 0; }
  void Write(EpLogLevel level, const std::string& message) const {
    if (IsOn(level)) services_->Log(level, origin_, message.c_str());
  }
  void Debug(const std::string& message) const { Write(EP_LOG_DEBUG, message); }
  void Info(const std::string& message) const { Write(EP_LOG_INFO, message); }
  void Warning(const std::string& message) const { Write(EP_LOG_WARNING, message); }
  void Error(const std::string& message) const { Write(EP_LOG_ERROR, message); }

 private:
  const EpServicesApi* services_;
  const char* origin_;
};

}  // namespace epiphyte::kit
