// Checks of device streams: copies, points, order between streams, listeners, threads.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <thread>

#include "host/conformance/checks/device_bench.h"

namespace epiphyte::conformance {
namespace {

constexpr std::byte kAround{0xA5};

// Bytes of a copy that takes a moment. Code that doesn't wait for the copy then reads too early.
constexpr uint64_t kLarge = 1 << 20;

uint64_t LargeSize(DeviceBench& bench, MemoryPlace place) {
  const uint64_t most = bench.memory(place).max_buffer;
  return most == 0 ? kLarge : std::min(kLarge, most);
}

void CheckStreams(Journal& journal, const Target& target) {
  static constexpr std::initializer_list<Rule> kRules = {Rule::kStreamIsGiven, Rule::kStreamsAreNotShared,
                                                         Rule::kPointsGrow};
  DeviceBench bench(journal, target, kRules);
  if (!bench.has_devices()) return bench.Finish();
  for (int round = 0; round < 2; ++round) {
    std::vector<std::unique_ptr<Stream>> streams;
    for (const uint32_t device : bench.indices()) {
      for (int i = 0; i < 3; ++i) streams.push_back(std::make_unique<Stream>(bench.devices(), device));
    }
    // Each stream has its own timeline, with and without work on it.
    for (const auto& stream : streams) {
      for (int i = 0; i < 3; ++i) stream->Signal();
      const Buffer buffer(bench.devices(), {stream->device(), 0}, 4096);
      for (unsigned i = 0; i < 3; ++i) Send(*stream, Pattern(4096, i), buffer);
      stream->Finish();
    }
  }
  PassAll(journal, kRules);
  bench.Finish();
}

// --- copies

// A range of a buffer. For a memory without divisible buffers it is the whole buffer.
struct Part {
  uint64_t offset;
  uint64_t size;
};

std::vector<Part> PartsOf(DeviceBench& bench, MemoryPlace from, MemoryPlace to) {
  const uint64_t unit = bench.unit();
  if (bench.memory(from).whole() || bench.memory(to).whole()) return {{0, 3 * unit - 5}};
  return {{2 * unit, unit - 5}, {0, unit}, {unit, unit - 1}};
}

// Copies host memory to `from`, on to `to`, and back. Each step copies all parts in one batch. Bytes between the parts
// must not change.
void CheckWay(DeviceBench& bench, Stream& stream, MemoryPlace from, MemoryPlace to) {
  const std::vector<Part> parts = PartsOf(bench, from, to);
  const uint64_t size = 3 * bench.unit() - 5;
  const Buffer first(bench.devices(), from, size);
  const Buffer second(bench.devices(), to, size);
  const auto background = SourceOf(std::vector<std::byte>(size, kAround));
  const std::vector<std::byte> bytes = Pattern(size, 71);
  std::vector<std::byte> expected(size, kAround);
  std::vector<std::unique_ptr<LentMemory>> sources;
  std::vector<std::unique_ptr<LentMemory>> targets;
  std::vector<EpCopy> in;
  std::vector<EpCopy> on;
  std::vector<EpCopy> out;
  for (const Part& part : parts) {
    const std::span source(bytes.data() + part.offset, part.size);
    std::copy(source.begin(), source.end(), expected.begin() + static_cast<std::ptrdiff_t>(part.offset));
    sources.push_back(SourceOf(source));
    targets.push_back(TargetOf(part.size));
    in.push_back({At(sources.back()->data()), At(first, part.offset), part.size});
    on.push_back({At(first, part.offset), At(second, part.offset), part.size});
    out.push_back({At(second, part.offset), At(targets.back()->data()), part.size});
  }
  stream.Copy({{At(background->data()), At(first), size}});
  Stream other(bench.devices(), to.device);
  Send(other, std::vector<std::byte>(size, kAround), second);
  stream.Copy(in);
  stream.Copy(on);
  stream.Finish();
  other.Copy(out);
  const std::vector<std::byte> whole = Receive(bench.host(), other, second, size);
  for (size_t i = 0; i < parts.size(); ++i) {
    Demand(bench.host(), targets[i]->SurroundingsAreUntouched(), Rule::kCopiesEnd,
           "bytes around the target of a copy were written to");
    const auto begin = expected.begin() + static_cast<std::ptrdiff_t>(parts[i].offset);
    Demand(
        bench.host(), std::equal(targets[i]->data(), targets[i]->data() + parts[i].size, begin), Rule::kCopiesArrive,
        "copy " + std::to_string(i) + " of a batch of " + std::to_string(parts.size()) + " arrived with other bytes");
  }
  for (size_t at = 0; at < size; ++at) {
    if (whole[at] == expected[at]) continue;
    const bool around = expected[at] == kAround && std::none_of(parts.begin(), parts.end(), [at](const Part& part) {
                          return at >= part.offset && at < part.offset + part.size;
                        });
    EndWith(bench.host(), around ? Rule::kCopiesEnd : Rule::kCopiesArrive,
            "byte " + std::to_string(at) + " of a buffer is wrong after copies " + (around ? "around it" : "to it"));
  }
}

// Submissions to one stream take effect in order.
void CheckOrder(DeviceBench& bench, MemoryPlace place) {
  const uint64_t size = LargeSize(bench, place);
  const Buffer buffer(bench.devices(), place, size);
  Stream stream(bench.devices(), place.device);
  std::vector<std::vector<std::byte>> patterns;
  std::vector<std::unique_ptr<LentMemory>> sources;
  std::vector<std::unique_ptr<LentMemory>> targets;
  for (unsigned i = 0; i < 4; ++i) {
    patterns.push_back(Pattern(size, 80 + i));
    sources.push_back(SourceOf(patterns.back()));
    targets.push_back(TargetOf(size));
    stream.Copy({{At(sources.back()->data()), At(buffer), size}});
    stream.Copy({{At(buffer), At(targets.back()->data()), size}});
  }
  stream.Finish();
  for (size_t i = 0; i < patterns.size(); ++i) {
    Demand(
        bench.host(), std::equal(patterns[i].begin(), patterns[i].end(), targets[i]->data()), Rule::kCopiesArrive,
        "copy " + std::to_string(2 * i + 1) + " of a stream was not done after the one before it and before the next");
  }
  // When work is done, its memory belongs to the host again.
  sources.clear();
  targets.clear();
  const std::vector<std::byte> more = Pattern(4096, 90);
  const Buffer another(bench.devices(), place, more.size());
  Send(stream, more, another);
}

void CheckCopies(Journal& journal, const Target& target) {
  static constexpr std::initializer_list<Rule> kRules = {Rule::kCopiesArrive, Rule::kCopiesEnd};
  DeviceBench bench(journal, target, kRules);
  if (!bench.has_devices()) return bench.Finish();
  for (const MemoryPlace from : bench.places()) {
    CheckOrder(bench, from);
    for (const MemoryPlace to : bench.places()) {
      Stream stream(bench.devices(), from.device);
      CheckWay(bench, stream, from, to);
    }
  }
  PassAll(journal, kRules);
  bench.Finish();
}

// --- points

void CheckSynchronize(Journal& journal, const Target& target) {
  DeviceBench bench(journal, target, {Rule::kSynchronizeWaits});
  if (!bench.has_devices()) return bench.Finish();
  bench.host().BlameCrashesOn(Rule::kSynchronizeWaits);
  for (const uint32_t device : bench.indices()) {
    const MemoryPlace place = {device, 0};
    const uint64_t size = LargeSize(bench, place);
    const Buffer buffer(bench.devices(), place, size);
    Stream stream(bench.devices(), device);
    const std::vector<std::byte> bytes = Pattern(size, 101);
    const auto source = SourceOf(bytes);
    const auto received = TargetOf(size);
    stream.Copy({{At(source->data()), At(buffer), size}});
    const uint64_t early = stream.Signal();
    stream.Copy({{At(buffer), At(received->data()), size}});
    const uint64_t late = stream.Signal();
    std::atomic<bool> same{true};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        try {
          stream.Synchronize(i % 2 == 0 ? late : early);
          if (i % 2 == 0 && !std::equal(bytes.begin(), bytes.end(), received->data())) same = false;
        } catch (const CheckEnded&) {
        } catch (const std::exception& error) {
          journal.Break(error.what());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    bench.host().EndIfViolated();
    Demand(bench.host(), same, Rule::kSynchronizeWaits,
           "Synchronize returned before what was submitted before its point was done");
    // The points stay reached.
    stream.Synchronize(early);
    stream.Synchronize(late);
    stream.Finish();
  }
  bench.host().BlameCrashesOn(Rule::kDoesNotCrash);
  journal.Pass(Rule::kSynchronizeWaits);
  bench.Finish();
}

// --- order between streams

void CheckWait(Journal& journal, const Target& target) {
  DeviceBench bench(journal, target, {Rule::kWaitOrders});
  if (!bench.has_devices()) return bench.Finish();
  bench.host().BlameCrashesOn(Rule::kWaitOrders);
  for (const uint32_t device : {bench.indices().front(), bench.indices().back()}) {
    const MemoryPlace from = {bench.indices().front(), 0};
    const MemoryPlace to = {device, 0};
    const uint64_t size = std::min(LargeSize(bench, from), LargeSize(bench, to));
    const Buffer made(bench.devices(), from, size);
    const Buffer taken(bench.devices(), to, size);
    const auto noise = SourceOf(Pattern(size, 110));
    for (unsigned round = 0; round < 8; ++round) {
      Stream maker(bench.devices(), from.device);
      Stream taker(bench.devices(), to.device);
      const std::vector<std::byte> bytes = Pattern(size, 111 + round);
      const auto source = SourceOf(bytes);
      const auto received = TargetOf(size);
      for (int i = 0; i < 4; ++i) maker.Copy({{At(noise->data()), At(made), size}});
      maker.Copy({{At(source->data()), At(made), size}});
      taker.Wait(maker, maker.Signal());
      taker.Copy({{At(made), At(taken), size}});
      taker.Copy({{At(taken), At(received->data()), size}});
      taker.Finish();
      Demand(bench.host(), std::equal(bytes.begin(), bytes.end(), received->data()), Rule::kWaitOrders,
             std::string("a stream of ") + (device == from.device ? "the same" : "another") +
                 " device went on before the stream that it was to wait for had reached the point");
      maker.Finish();
    }
  }
  bench.host().BlameCrashesOn(Rule::kDoesNotCrash);
  journal.Pass(Rule::kWaitOrders);
  bench.Finish();
}

// --- listeners

// Calls of one listener. It is never freed, so that a call that comes too late still finds it.
struct Heard {
  std::atomic<int> calls{0};
  std::atomic<bool> ended{false};  // the stream is destroyed
  std::atomic<bool> late{false};
  std::atomic<bool> has_status{false};
};

void EP_CALL Listen(void* user, EpStatus* status) {
  auto* heard = static_cast<Heard*>(user);
  if (heard->ended) heard->late = true;
  if (status != nullptr) {
    heard->has_status = true;
    DebugHost::Current().TakeStatus(status, "OnReached's listener");
  }
  ++heard->calls;
}

Heard& ListenTo(DeviceBench& bench, const Stream& stream, uint64_t point) {
  auto* heard = new Heard();
  const DebugHost::Failure failure = bench.devices().Call(
      "OnReached", [&] { return bench.devices().api().OnReached(stream.handle(), point, Listen, heard); });
  if (failure) EndWith(bench.host(), Rule::kListenerIsCalledOnce, Describe(failure));
  return *heard;
}

void WaitFor(DeviceBench& bench, const Heard& heard, const char* when) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (heard.calls == 0) {
    Demand(bench.host(), std::chrono::steady_clock::now() < end, Rule::kListenerIsCalledOnce,
           std::string("a listener was not called within 10 s ") + when);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void CheckListeners(Journal& journal, const Target& target) {
  static constexpr std::initializer_list<Rule> kRules = {Rule::kListenerIsCalledOnce, Rule::kListenerEndsWithTheStream};
  DeviceBench bench(journal, target, kRules);
  if (!bench.has_devices()) return bench.Finish();
  if (bench.devices().api().OnReached == nullptr) {
    NotApplicable(journal, kRules, "the plugin has no OnReached");
    return bench.Finish();
  }
  std::vector<Heard*> all;
  for (const uint32_t device : bench.indices()) {
    const MemoryPlace place = {device, 0};
    const uint64_t size = LargeSize(bench, place);
    const auto source = SourceOf(Pattern(size, 121));
    const Buffer buffer(bench.devices(), place, size);
    {
      Stream stream(bench.devices(), device);
      for (int i = 0; i < 4; ++i) stream.Copy({{At(source->data()), At(buffer), size}});
      const uint64_t point = stream.Signal();
      for (int i = 0; i < 2; ++i) all.push_back(&ListenTo(bench, stream, point));
      for (const Heard* heard : all) WaitFor(bench, *heard, "of its point, which work alone leads to");
      stream.Synchronize(point);
      all.push_back(&ListenTo(bench, stream, point));
      WaitFor(bench, *all.back(), "of OnReached, with a point that was reached");
    }
    for (Heard* heard : all) heard->ended = true;
    for (int round = 0; round < 20; ++round) {
      {
        Stream stream(bench.devices(), device);
        stream.Copy({{At(source->data()), At(buffer), size}});
        const uint64_t point = stream.Signal();
        all.push_back(&ListenTo(bench, stream, point));
        stream.Synchronize(point);
      }
      all.back()->ended = true;
    }
  }
  // This leaves time for calls that come too late or a second time.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  for (const Heard* heard : all) {
    Demand(bench.host(), !heard->late, Rule::kListenerEndsWithTheStream,
           "a listener was called after DestroyStream had returned");
    Demand(bench.host(), heard->calls <= 1, Rule::kListenerIsCalledOnce,
           "a listener was called " + std::to_string(heard->calls) + " times");
    Demand(bench.host(), !heard->has_status, Rule::kListenerIsCalledOnce,
           "a listener got a status for a point that was reached");
  }
  PassAll(journal, kRules);
  bench.Finish();
}

// --- threads

void CheckSideBySide(Journal& journal, const Target& target) {
  constexpr unsigned kThreads = 4;
  constexpr unsigned kRounds = 25;
  DeviceBench bench(journal, target, {Rule::kDeviceSideBySide});
  if (!bench.has_devices()) return bench.Finish();
  bench.host().BlameCrashesOn(Rule::kDeviceSideBySide);
  const auto body = [&](unsigned number) {
    try {
      const MemoryPlace place = bench.places()[number % bench.places().size()];
      for (unsigned round = 0; round < kRounds && !bench.host().violated(); ++round) {
        Stream stream(bench.devices(), place.device);
        const std::vector<std::byte> bytes = Pattern(4096 + 256 * number, kRounds * number + round);
        const Buffer first(bench.devices(), place, bytes.size());
        const Buffer second(bench.devices(), place, bytes.size());
        Send(stream, bytes, first);
        stream.Copy({{At(first), At(second), bytes.size()}});
        Demand(
            bench.host(), Receive(bench.host(), stream, second, bytes.size()) == bytes, Rule::kDeviceSideBySide,
            "on " + std::to_string(kThreads) + " threads, each with a stream and buffers of its own, bytes got lost");
        bench.devices().Trim(place.device);
        bench.devices().UseOf(place.device, place.memory);
      }
    } catch (const CheckEnded&) {
    } catch (const std::exception& error) {
      journal.Break(error.what());
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
  bench.host().EndIfViolated();
  bench.host().BlameCrashesOn(Rule::kDoesNotCrash);
  journal.Pass(Rule::kDeviceSideBySide);
  bench.Finish();
}

constexpr Check kDeviceStreamChecks[] = {
    {"streams", CheckStreams}, {"copies", CheckCopies},       {"Synchronize", CheckSynchronize},
    {"Wait", CheckWait},       {"OnReached", CheckListeners}, {"device functions on threads", CheckSideBySide},
};

}  // namespace

std::span<const Check> DeviceStreamChecks() { return kDeviceStreamChecks; }

}  // namespace epiphyte::conformance
