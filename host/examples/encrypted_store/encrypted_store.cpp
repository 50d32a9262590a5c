#include "encrypted_store.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <epiphyte/error.hpp>
#include <fstream>
#include <new>
#include <vector>

namespace encrypted_store {
namespace {

using epiphyte::Error;
using epiphyte::StatusCode;

constexpr size_t kSealedSize = kChunkSize + kTagSize;

[[noreturn]] void FailWith(const std::filesystem::path& path, const char* what) {
  throw Error(StatusCode::kFail, "'" + path.string() + "' can't be " + what + ": " + std::strerror(errno));
}

// Buffers one chunk before it is sealed, so that the last chunk can be marked as the last.
class EncryptingWriter : public epiphyte::ContextStore::Writer {
 public:
  EncryptingWriter(std::filesystem::path target, const Key& key, const std::string& name)
      : target_(std::move(target)), staged_(target_.string() + ".partial-XXXXXX"), cipher_(key, name) {
    file_ = mkstemp(staged_.data());
    if (file_ < 0) FailWith(target_, "created");
    plain_.reserve(kChunkSize);
    WriteOut(cipher_.header().data(), cipher_.header().size());
  }
  ~EncryptingWriter() override {
    OPENSSL_cleanse(plain_.data(), plain_.size());
    if (file_ < 0) return;
    close(file_);
    unlink(staged_.c_str());
  }

  void Write(const void* data, uint64_t size) override {
    const auto* next = static_cast<const unsigned char*>(data);
    while (size > 0) {
      if (plain_.size() == kChunkSize) SealChunk(/*last=*/false);
      const size_t step = static_cast<size_t>(std::min<uint64_t>(size, kChunkSize - plain_.size()));
      plain_.insert(plain_.end(), next, next + step);
      next += step;
      size -= step;
    }
  }

  void Commit() override {
    SealChunk(/*last=*/true);
    if (fsync(file_) != 0) FailWith(target_, "made durable");
    if (rename(staged_.c_str(), target_.c_str()) != 0) FailWith(target_, "put in place");
    close(file_);
    file_ = -1;
  }

 private:
  void SealChunk(bool last) {
    sealed_.resize(plain_.size() + kTagSize);
    cipher_.Seal(plain_.data(), plain_.size(), last, sealed_.data());
    WriteOut(sealed_.data(), sealed_.size());
    OPENSSL_cleanse(plain_.data(), plain_.size());
    plain_.clear();
  }

  void WriteOut(const unsigned char* data, size_t size) {
    while (size > 0) {
      const ssize_t written = write(file_, data, size);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) FailWith(target_, "written");
      data += written;
      size -= static_cast<size_t>(written);
    }
  }

  std::filesystem::path target_;
  std::string staged_;
  ChunkCipher cipher_;
  int file_ = -1;
  std::vector<unsigned char> plain_;  // the chunk that is being filled
  std::vector<unsigned char> sealed_;
};

// Allocates memory for plaintext, aligned as plugins expect payloads. The memory is wiped before it is freed.
std::shared_ptr<void> Allocate(size_t size) {
  constexpr size_t kAlignment = 64;
  void* memory = std::aligned_alloc(kAlignment, (size + kAlignment - 1) / kAlignment * kAlignment);
  if (memory == nullptr) throw std::bad_alloc();
  return std::shared_ptr<void>(memory, [size](void* data) {
    OPENSSL_cleanse(data, size);
    std::free(data);
  });
}

}  // namespace

std::filesystem::path EncryptedStore::PathOf(const std::string& name) const {
  if (name.empty() || name.find('/') != std::string::npos) {
    throw Error(StatusCode::kInvalidArgument, "'" + name + "' can't be stored; expected a file name without folders");
  }
  return folder_ / (name + ".enc");
}

bool EncryptedStore::Exists(const std::string& name) { return std::filesystem::exists(PathOf(name)); }

std::unique_ptr<epiphyte::ContextStore::Writer> EncryptedStore::Create(const std::string& name) {
  return std::make_unique<EncryptingWriter>(PathOf(name), key_, name);
}

epiphyte::ContextStore::Bytes EncryptedStore::Open(const std::string& name) {
  const std::filesystem::path path = PathOf(name);
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw Error(StatusCode::kNoSuchFile, "the store has no '" + name + "' (looked for '" + path.string() + "')");
  Header header;
  file.read(reinterpret_cast<char*>(header.data()), kHeaderSize);
  const uint64_t file_size = std::filesystem::file_size(path);
  const std::string cut_off = "'" + name + "' is cut off; restore the file or compile the model again";
  if (!file || file_size < kHeaderSize + kTagSize) throw Error(StatusCode::kFail, cut_off);
  ChunkCipher cipher(key_, name, header);

  const uint64_t body = file_size - kHeaderSize;
  const uint64_t chunks = (body + kSealedSize - 1) / kSealedSize;
  if (body - (chunks - 1) * kSealedSize < kTagSize) throw Error(StatusCode::kFail, cut_off);
  const uint64_t size = body - chunks * kTagSize;
  const std::shared_ptr<void> plain = Allocate(static_cast<size_t>(size));
  std::vector<unsigned char> sealed(static_cast<size_t>(std::min<uint64_t>(body, kSealedSize)));
  auto* out = static_cast<unsigned char*>(plain.get());
  for (uint64_t left = body; left > 0;) {
    const size_t step = static_cast<size_t>(std::min<uint64_t>(left, kSealedSize));
    file.read(reinterpret_cast<char*>(sealed.data()), static_cast<std::streamsize>(step));
    if (!file) throw Error(StatusCode::kFail, cut_off);
    left -= step;
    cipher.Open(sealed.data(), step, left == 0, out);
    out += step - kTagSize;
  }
  return {plain.get(), size, plain};
}

}  // namespace encrypted_store
