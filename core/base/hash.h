// Hashes: XXH3-128 for "are these the bytes that were written", SHA-256 for identity, HMAC for "did we write this".
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
// As Xxh128, of a mapped file: a second thread of the pool maps the pages ahead of the one that reads them, which takes
// a third off the time. `pool` may be null. The memory need not be a mapping. `on_progress` beats with the bytes read.
std::string Xxh128OfMapping(const void* data, size_t size, ThreadPool* pool, const ProgressCallback& on_progress = {});
// 64 lower-case hex digits.
std::string Sha256(const void* data, size_t size);
std::string Sha256OfFile(const std::filesystem::path& path);
// 64 lower-case hex digits: HMAC with SHA-256, which only who knows the secret can make.
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
