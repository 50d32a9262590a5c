// Hashes: XXH3-128 to detect changed bytes, SHA-256 for identity, HMAC to prove that we wrote a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/progress_callback.h"

namespace epiphyte::core {

class ThreadPool;

// 32 lower-case hex digits.
std::string Xxh128(const void* data, size_t size);
// Like Xxh128, for a mapped file. A second thread of the pool maps pages ahead of the reading thread, which saves a
// third of the time. `pool` may be null. The memory need not be a mapping. `on_progress` reports the bytes read.
std::string Xxh128OfMapping(const void* data, size_t size, ThreadPool* pool, const ProgressCallback& on_progress = {});
// 64 lower-case hex digits.
std::string Sha256(const void* data, size_t size);
std::string Sha256OfFile(const std::filesystem::path& path);
// HMAC with SHA-256 as 64 lower-case hex digits. Only holders of the secret can compute it.
std::string HmacSha256(std::string_view secret, std::string_view text);
// Compares digests in a time that doesn't tell where they differ.
bool SameDigest(std::string_view a, std::string_view b);

class Xxh128Stream {
 public:
  Xxh128Stream();
  ~Xxh128Stream();
  void Update(const void* data, size_t size);
  std::string Finish() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class Sha256Stream {
 public:
  Sha256Stream();
  ~Sha256Stream();
  void Update(const void* data, size_t size);
  std::string Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace epiphyte::core
