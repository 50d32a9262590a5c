#include "tests/faults/damage.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "tests/faults/forked.h"
#include "tests/framework/temp_dir.h"

namespace epiphyte::test {
namespace {

constexpr unsigned kSecondsEach = 10;
constexpr size_t kMostFailures = 20;

// Progress of a child while it works, in memory that survives the child's death.
struct Progress {
  uint64_t current;
  uint64_t refused;
  uint64_t harmless;
  uint64_t other;
  uint64_t failures;
  char failure[kMostFailures][512];
};

class SharedProgress {
 public:
  SharedProgress() {
    void* memory = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("no shared memory");
    progress_ = static_cast<Progress*>(memory);
  }
  ~SharedProgress() { munmap(progress_, sizeof(Progress)); }
  SharedProgress(const SharedProgress&) = delete;
  SharedProgress& operator=(const SharedProgress&) = delete;
  Progress* operator->() { return progress_; }

  void Fail(const std::string& text) {
    if (progress_->failures < kMostFailures) {
      std::snprintf(progress_->failure[progress_->failures], sizeof progress_->failure[0], "%s", text.c_str());
    }
    ++progress_->failures;
  }

 private:
  Progress* progress_;
};

void WriteBytes(const std::filesystem::path& path, const char* data, size_t size) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(data, static_cast<std::streamsize>(size));
  if (!file.flush()) throw std::runtime_error("can't write " + path.string());
}

void TryOne(const std::filesystem::path& model, const SessionOptions& options, const Numbers& expected,
            Tolerance tolerance, const Damage& damage, SharedProgress* progress) {
  Numbers numbers;
  const std::string result = ResultOf([&] { numbers = RunModel(model, options); });
  if (result == "OK" && AreClose(numbers, expected)) {
    ++(*progress)->harmless;
  } else if (result.starts_with("INVALID_GRAPH: ") || result.starts_with("INVALID_PROTOBUF: ")) {
    ++(*progress)->refused;
  } else if (tolerance == Tolerance::kAnyNumbers) {
    ++(*progress)->other;
  } else {
    progress->Fail(damage.Describe() + (result == "OK" ? " gives wrong numbers" : " gives " + result));
  }
}

}  // namespace

std::string Damage::Describe() const {
  if (mask == 0) return "cut at " + std::to_string(at);
  char text[64];
  std::snprintf(text, sizeof text, "byte %llu ^ 0x%02x", static_cast<unsigned long long>(at), mask);
  return text;
}

std::vector<Damage> EveryTruncation(uint64_t size) {
  std::vector<Damage> damages;
  for (uint64_t at = 0; at < size; ++at) damages.push_back({at, 0});
  return damages;
}

std::vector<Damage> EveryFlip(uint64_t size) {
  std::vector<Damage> damages;
  for (uint64_t at = 0; at < size; ++at) {
    for (uint8_t mask : kFlipMasks) damages.push_back({at, mask});
  }
  return damages;
}

std::string DamageReport::Summary() const {
  std::string text = std::to_string(refused) + " refused, " + std::to_string(harmless) + " harmless, " +
                     std::to_string(other) + " other, " + std::to_string(failures.size()) + " failures";
  for (const std::string& failure : failures) text += "\n  " + failure;
  return text;
}

DamageReport TryDamage(const std::filesystem::path& model, const std::filesystem::path& file,
                       const std::vector<Damage>& damages, const SessionOptions& options, const Numbers& expected,
                       Tolerance tolerance) {
  const std::string whole = ReadFile(file);
  SharedProgress progress;
  for (uint64_t next = 0; next < damages.size() && progress->failures < kMostFailures; next = progress->current + 1) {
    const Outcome outcome = RunForked(
        [&] {
          std::string bytes = whole;
          for (progress->current = next; progress->current < damages.size(); ++progress->current) {
            const Damage& damage = damages[progress->current];
            alarm(kSecondsEach);
            if (damage.mask != 0) bytes[damage.at] = static_cast<char>(bytes[damage.at] ^ damage.mask);
            WriteBytes(file, bytes.data(), damage.mask != 0 ? bytes.size() : damage.at);
            TryOne(model, options, expected, tolerance, damage, &progress);
            if (damage.mask != 0) bytes[damage.at] = whole[damage.at];
          }
          alarm(0);
          return std::string("done");
        },
        {}, std::chrono::seconds(300));
    if (!outcome.returned()) progress.Fail(damages[progress->current].Describe() + " " + outcome.Describe());
  }
  WriteBytes(file, whole.data(), whole.size());
  DamageReport report{progress->refused, progress->harmless, progress->other, {}};
  for (size_t i = 0; i < std::min<size_t>(progress->failures, kMostFailures); ++i) {
    report.failures.push_back(progress->failure[i]);
  }
  return report;
}

}  // namespace epiphyte::test
