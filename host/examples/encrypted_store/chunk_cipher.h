// ChunkCipher: AES-256-GCM over a stream, in chunks. A changed, omitted, repeated or moved chunk is detected.
//
// A file is a header and chunks:
//   header   magic (8 bytes), salt (32, random), check (16: tells a wrong key from damage)
//   chunk    cipher text of kChunkSize bytes (the last one may be shorter, also empty), tag (16)
// The nonce of a chunk is its number. Each file has its own key, derived from the application's key and the salt, so
// that nonces never repeat under one key. Each chunk authenticates the file's name, the chunk's number, and whether it
// is the last. A file that is renamed or truncated, even between chunks, is therefore refused.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

struct evp_cipher_ctx_st;

namespace encrypted_store {

using Key = std::array<unsigned char, 32>;

inline constexpr size_t kChunkSize = size_t{1} << 20;
inline constexpr size_t kTagSize = 16;
inline constexpr size_t kMagicSize = 8;
inline constexpr size_t kSaltSize = 32;
inline constexpr size_t kCheckSize = 16;
inline constexpr size_t kHeaderSize = kMagicSize + kSaltSize + kCheckSize;
using Header = std::array<unsigned char, kHeaderSize>;

// All functions throw epiphyte::Error (FAIL).
class ChunkCipher {
 public:
  // Constructor for a new file, with a random salt.
  ChunkCipher(const Key& key, std::string name);
  // Constructor for an existing file. Throws when the header is invalid or belongs to another key.
  ChunkCipher(const Key& key, std::string name, const Header& header);
  const Header& header() const { return header_; }

  // Seals the next chunk; chunks come in order. `out` has room for size + kTagSize bytes.
  void Seal(const void* plain, size_t size, bool last, unsigned char* out);
  // Opens the next chunk. `size` includes the tag. `out` has room for size - kTagSize bytes.
  void Open(const unsigned char* sealed, size_t size, bool last, void* out);

 private:
  void DeriveKeys(const Key& key);
  void Begin(bool encrypt, bool last);

  // Both members clean up by themselves, also when a constructor throws.
  struct FreeCipher {
    void operator()(evp_cipher_ctx_st* cipher) const;
  };
  struct WipedKey {
    Key bytes{};
    ~WipedKey();
  };

  std::string name_;
  Header header_{};
  WipedKey file_key_;
  std::array<unsigned char, kCheckSize> check_{};
  uint64_t next_chunk_ = 0;
  std::unique_ptr<evp_cipher_ctx_st, FreeCipher> cipher_;
};

}  // namespace encrypted_store
