// kSingleThreadServices and kUncancelledTask: the services of a host with one thread and without a log. They are for
// tests that call a plugin's code without the core; kernels get their threads from them, too.
//
//   config.threads = {&kSingleThreadServices, nullptr, 1};
#pragma once

#include "epiphyte/ep_host.h"

namespace epiphyte::test {

inline constexpr EpServicesApi kSingleThreadServices = {
    sizeof(EpServicesApi),
    0,
    [](EpLogLevel) -> uint32_t { return 0; },
    [](EpLogLevel, const char*, const char*) {},
    [](EpThreadPool*, uint64_t count, uint64_t, EpParallelBody body, void* user) { body(user, 0, count, 0); },
    [](EpThreadPool*) -> uint32_t { return 1; },
    [](EpThreadPool*, uint32_t, EpGangBody body, void* user) { body(user, 0, 1); },
};

// A task that is never cancelled.
inline constexpr EpTaskApi kUncancelledTask = {
    sizeof(EpTaskApi),
    0,
    [](EpTask*, uint64_t, uint64_t, const char*) -> uint32_t { return 0; },
    [](const EpTask*) -> uint32_t { return 0; },
    nullptr,
    nullptr,
    nullptr,
    nullptr,
};

// A host without extensions.
inline const void* EP_CALL NoExtension(const EpHostInfo*, const char*) { return nullptr; }

}  // namespace epiphyte::test
