#include "core/base/hash.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/mman.h>
#include <xxhash.h>
#if defined(__x86_64__)
#include <xxh_x86dispatch.h>  // the widest vectors the processor has
#endif

#include <algorithm>
#include <fstream>
#include <vector>

#include "core/base/error.h"
#include "core/base/thread_pool.h"

namespace epiphyte::core {
namespace {

std::string Hex(const unsigned char* bytes, size_t size) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(size * 2);
  for (size_t i = 0; i < size; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

std::string Hex(XXH128_hash_t hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  return Hex(canonical.digest, sizeof canonical.digest);
}

}  // namespace

std::string Xxh128(const void* data, size_t size) { return Hex(XXH3_128bits(data, size)); }

namespace {

#if defined(MADV_POPULATE_READ)
constexpr int kPopulate = MADV_POPULATE_READ;
#else
constexpr int kPopulate = 22;  // Linux 5.14; older systems refuse it
#endif
constexpr uintptr_t kWindow = uintptr_t{4} << 20;
constexpr uint64_t kWorthAHelper = uint64_t{8} << 20;

// Maps pages ahead of the reading thread. If the system refuses, the pages are mapped when they are read.
void Populate(const void* data, size_t size) {
  constexpr uintptr_t kPage = 4096;
  const auto begin = reinterpret_cast<uintptr_t>(data) & ~(kPage - 1);
  const uintptr_t end = reinterpret_cast<uintptr_t>(data) + size;
  for (uintptr_t at = begin; at < end; at += kWindow) {
    if (madvise(reinterpret_cast<void*>(at), std::min(kWindow, end - at), kPopulate) != 0) return;
  }
}

struct MappedBytes {
  const void* data;
  size_t size;
  Xxh128Stream* digest;
};

void UpdateFromMapping(MappedBytes bytes, ThreadPool* pool) {
  if (pool == nullptr || bytes.size < kWorthAHelper || pool->thread_count() == 1) {
    bytes.digest->Update(bytes.data, bytes.size);
    return;
  }
  pool->RunGang(
      2,
      [](void* user, uint32_t member, uint32_t) {
        auto& mine = *static_cast<MappedBytes*>(user);
        if (member == 0) mine.digest->Update(mine.data, mine.size);
        if (member == 1) Populate(mine.data, mine.size);
      },
      &bytes);
}

}  // namespace

std::string Xxh128OfMapping(const void* data, size_t size, ThreadPool* pool, const ProgressCallback& on_progress) {
  if (size < kWorthAHelper) return Xxh128(data, size);
  Xxh128Stream digest;
  const size_t step = on_progress ? kBytesPerDigestReport : size;
  for (size_t done = 0; done < size;) {
    const size_t bytes = std::min(step, size - done);
    UpdateFromMapping({static_cast<const char*>(data) + done, bytes, &digest}, pool);
    done += bytes;
    ReportProgress(on_progress, done, size, "comparing digests");
  }
  return digest.Finish();
}

struct Xxh128Stream::State {
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> xxh{XXH3_createState()};
};

Xxh128Stream::Xxh128Stream() : state_(std::make_unique<State>()) {
  if (state_->xxh == nullptr || XXH3_128bits_reset(state_->xxh.get()) != XXH_OK) {
    Fail(StatusCode::kFail, "no memory for a hash state");
  }
}

Xxh128Stream::~Xxh128Stream() = default;

void Xxh128Stream::Update(const void* data, size_t size) {
  if (size != 0) XXH3_128bits_update(state_->xxh.get(), data, size);
}

std::string Xxh128Stream::Finish() const { return Hex(XXH3_128bits_digest(state_->xxh.get())); }

struct Sha256Stream::State {
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> evp{EVP_MD_CTX_new()};
};

Sha256Stream::Sha256Stream() : state_(std::make_unique<State>()) {
  if (state_->evp == nullptr || EVP_DigestInit_ex(state_->evp.get(), EVP_sha256(), nullptr) != 1) {
    Fail(StatusCode::kFail, "SHA-256 is not available from libcrypto");
  }
}

Sha256Stream::~Sha256Stream() = default;

void Sha256Stream::Update(const void* data, size_t size) {
  if (EVP_DigestUpdate(state_->evp.get(), data, size) != 1) Fail(StatusCode::kFail, "SHA-256 failed in libcrypto");
}

std::string Sha256Stream::Finish() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (EVP_DigestFinal_ex(state_->evp.get(), digest, &size) != 1) {
    Fail(StatusCode::kFail, "SHA-256 failed in libcrypto; Finish is called once");
  }
  return Hex(digest, size);
}

std::string Sha256(const void* data, size_t size) {
  Sha256Stream stream;
  stream.Update(data, size);
  return stream.Finish();
}

std::string HmacSha256(std::string_view secret, std::string_view text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  if (HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), bytes, text.size(), digest, &size) ==
      nullptr) {
    Fail(StatusCode::kFail, "HMAC with SHA-256 is not available from libcrypto");
  }
  return Hex(digest, size);
}

bool SameDigest(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string Sha256OfFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) Fail(StatusCode::kNoSuchFile, "file '{}' can't be opened", path.string());
  Sha256Stream stream;
  std::vector<char> buffer(256 * 1024);
  while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || file.gcount() > 0) {
    stream.Update(buffer.data(), static_cast<size_t>(file.gcount()));
  }
  if (file.bad()) Fail(StatusCode::kFail, "file '{}' can't be read", path.string());
  return stream.Finish();
}

}  // namespace epiphyte::core
