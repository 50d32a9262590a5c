#include "tests/device/plugin/options.h"

#include <sstream>

#include "epiphyte/kit/abi/error.hpp"
#include "tests/device/plugin/control.h"
#include "tests/device/plugin/program.h"

namespace epiphyte::test::device {
namespace {

[[noreturn]] void Refuse(const std::string& key, const std::string& value, const std::string& expected) {
  throw kit::Error(EP_STATUS_INVALID_ARGUMENT,
                   "option '" + key + "': '" + value + "' found, " + expected + " expected");
}

bool Flag(const std::string& key, const std::string& value) {
  if (value != "0" && value != "1") Refuse(key, value, "0 or 1");
  return value == "1";
}

std::set<std::string> Operators(const std::string& key, const std::string& value) {
  const std::set<std::string> all(kOpNames.begin(), kOpNames.end());
  std::set<std::string> claims;
  std::istringstream list(value);
  for (std::string op; std::getline(list, op, ',');) {
    if (!all.contains(op)) Refuse(key, op, "an operator of the test device");
    claims.insert(op);
  }
  return claims;
}

uint32_t Memories(const std::string& value) {
  if (value == "arena") return 2;
  if (value == "shared") return 4;
  if (value == "both") return 6;
  if (value == "host") return EP_MEMORIES_HOST;
  Refuse("memory", value, "arena, shared, both or host");
}

}  // namespace

Options Options::Of(const EpProviderConfig& config) {
  Options options;
  options.claims.insert(kOpNames.begin(), kOpNames.end());
  for (uint32_t i = 0; i < config.option_count; ++i) {
    const std::string key = config.options[i].key;
    const std::string value = config.options[i].value;
    if (key == "claims") {
      options.claims = Operators(key, value);
    } else if (key == "second") {
      options.second = Operators(key, value);
    } else if (key == "each") {
      options.each = Flag(key, value);
    } else if (key == "memory") {
      options.memories = Memories(value);
    } else if (key == "host_io") {
      options.host_io = Flag(key, value);
    } else if (key == "async") {
      options.is_async = Flag(key, value);
    } else if (key == "aliases") {
      options.aliases = Flag(key, value);
    } else if (key == "adopt") {
      options.adopts = Flag(key, value);
    } else if (key == "state") {
      options.has_states = Flag(key, value);
    } else if (key == "exclusive") {
      options.is_exclusive = Flag(key, value);
    } else if (key == "fault") {
      options.fault = FindFault(value);
      if (options.fault == nullptr) Refuse(key, value, "one of kTestDeviceFaults");
    } else {
      throw kit::Error(
          EP_STATUS_INVALID_ARGUMENT,
          "option '" + key +
              "' is unknown; claims, second, each, memory, host_io, async, aliases, adopt, exclusive, state "
              "and fault are known");
    }
  }
  if (options.host_io) options.memories |= EP_MEMORIES_HOST;
  return options;
}

}  // namespace epiphyte::test::device
