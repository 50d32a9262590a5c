// A host's log, limits and extensions, as a plugin sees them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "epiphyte/kit/abi/extension.hpp"
#include "epiphyte/kit/abi/log.hpp"
#include "epiphyte/kit/abi/run.hpp"
#include "tests/framework/single_thread_services.h"

namespace epiphyte::test {
namespace {

using testing::ElementsAre;

std::vector<std::string> g_lines;
uint64_t g_taken = 0;

const EpServicesApi kServices = [] {
  EpServicesApi services = kSingleThreadServices;
  services.IsLogged = [](EpLogLevel level) -> uint32_t { return level >= EP_LOG_INFO ? 1 : 0; };
  services.Log = [](EpLogLevel level, const char* origin, const char* message) {
    g_lines.push_back(std::to_string(level) + " " + origin + ": " + message);
  };
  return services;
}();

const EpStatusApi kStatus = {
    sizeof(EpStatusApi),
    0,
    [](EpStatusCode, const char*) { return static_cast<EpStatus*>(nullptr); },
    [](const EpStatus*) -> EpStatusCode { return EP_STATUS_FAIL; },
    [](const EpStatus*) -> const char* { return "the run may use 100 bytes; raise session.max_run_bytes"; },
    [](EpStatus*) {}};

const EpRunLimitsApi kLimits = {sizeof(EpRunLimitsApi), 0,
                                [](EpRun* run, uint64_t bytes) -> EpStatus* {
                                  if (g_taken + bytes > 100) return reinterpret_cast<EpStatus*>(run);
                                  g_taken += bytes;
                                  return nullptr;
                                },
                                [](EpRun*, uint64_t bytes) { g_taken -= bytes; }};

EpHostInfo HostWith(const void*(EP_CALL* get_extension)(const EpHostInfo*, const char*)) {
  EpHostInfo host = {};
  host.struct_size = sizeof host;
  host.status = &kStatus;
  host.services = &kServices;
  host.GetExtension = get_extension;
  return host;
}
const void* EP_CALL LimitsAlone(const EpHostInfo*, const char* id) {
  return std::strcmp(id, EP_RUN_LIMITS_EXTENSION) == 0 ? &kLimits : nullptr;
}

TEST(KitLog, WritesUnderThePluginsNameWhatIsKept) {
  g_lines.clear();
  const EpHostInfo host = HostWith(NoExtension);
  const kit::Log log(host, "mine");
  log.Debug("not kept");
  log.Info("compiled");
  log.Warning("slow");
  log.Error("lost");
  EXPECT_FALSE(log.IsOn(EP_LOG_DEBUG));
  EXPECT_TRUE(log.IsOn(EP_LOG_ERROR));
  EXPECT_THAT(g_lines, ElementsAre("2 mine: compiled", "3 mine: slow", "4 mine: lost"));
}

TEST(KitExtension, IsFoundByItsIdOrNotThere) {
  const EpHostInfo host = HostWith(LimitsAlone);
  EXPECT_EQ(kit::FindExtension<EpRunLimitsApi>(host, EP_RUN_LIMITS_EXTENSION), &kLimits);
  EXPECT_EQ(kit::FindExtension<EpRunLimitsApi>(host, "ep.run_limits/2"), nullptr);
}

TEST(KitRunLimits, WhatIsTakenCountsUntilItIsReturned) {
  g_taken = 0;
  const EpHostInfo host = HostWith(LimitsAlone);
  const kit::RunLimits limits(host);
  EpRun* const run = reinterpret_cast<EpRun*>(&g_taken);
  limits.Take(run, 60);
  try {
    limits.Take(run, 60);
    FAIL() << "100 is the limit";
  } catch (const kit::Error& error) {
    EXPECT_EQ(error.code(), EP_STATUS_FAIL);
    EXPECT_THAT(error.what(), testing::HasSubstr("session.max_run_bytes"));
  }
  limits.Return(run, 60);
  limits.Take(run, 60);
  EXPECT_EQ(g_taken, 60u);
}

TEST(KitRunLimits, AHostWithoutLimitsAllowsEverything) {
  const EpHostInfo host = HostWith(NoExtension);
  for (const kit::RunLimits& limits : {kit::RunLimits(host), kit::RunLimits()}) {
    EXPECT_NO_THROW(limits.Take(static_cast<EpRun*>(nullptr), UINT64_MAX));
    EXPECT_NO_THROW(limits.Return(nullptr, UINT64_MAX));
  }
}

}  // namespace
}  // namespace epiphyte::test
