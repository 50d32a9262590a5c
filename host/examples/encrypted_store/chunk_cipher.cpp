#include "chunk_cipher.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cstring>
#include <epiphyte/error.hpp>

namespace encrypted_store {
namespace {

using epiphyte::Error;
using epiphyte::StatusCode;

constexpr std::array<unsigned char, kMagicSize> kMagic = {'E', 'P', 'I', 'E', 'N', 'C', '0', '1'};

void Require(bool worked, const char* what) {
  if (!worked) throw Error(StatusCode::kFail, std::string("OpenSSL: ") + what + " failed");
}

// Derives a key for one purpose and one file.
Key Derive(const Key& key, const std::string& purpose, const unsigned char* salt) {
  std::string message = purpose;
  message.append(reinterpret_cast<const char*>(salt), kSaltSize);
  Key derived;
  unsigned int size = 0;
  Require(
      HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(message.data()), message.size(), derived.data(), &size) != nullptr,
      "HMAC");
  return derived;
}

void PutNumber(uint64_t number, unsigned char* out) {
  for (int i = 0; i < 8; ++i) out[i] = static_cast<unsigned char>(number >> (8 * (7 - i)));
}

}  // namespace

ChunkCipher::ChunkCipher(const Key& key, std::string name) : name_(std::move(name)), cipher_(EVP_CIPHER_CTX_new()) {
  Require(cipher_ != nullptr, "making a cipher");
  std::copy(kMagic.begin(), kMagic.end(), header_.begin());
  Require(RAND_bytes(header_.data() + kMagicSize, kSaltSize) == 1, "making random bytes");
  DeriveKeys(key);
  std::copy(check_.begin(), check_.end(), header_.begin() + kMagicSize + kSaltSize);
}

ChunkCipher::ChunkCipher(const Key& key, std::string name, const Header& header)
    : name_(std::move(name)), header_(header), cipher_(EVP_CIPHER_CTX_new()) {
  Require(cipher_ != nullptr, "making a cipher");
  if (!std::equal(kMagic.begin(), kMagic.end(), header_.begin())) {
    throw Error(StatusCode::kFail, "'" + name_ + "' is no file of this store");
  }
  DeriveKeys(key);
  if (CRYPTO_memcmp(check_.data(), header_.data() + kMagicSize + kSaltSize, kCheckSize) != 0) {
    throw Error(StatusCode::kFail, "'" + name_ + "' was encrypted with another key, or its header is damaged");
  }
}

void ChunkCipher::FreeCipher::operator()(evp_cipher_ctx_st* cipher) const { EVP_CIPHER_CTX_free(cipher); }

ChunkCipher::WipedKey::~WipedKey() { OPENSSL_cleanse(bytes.data(), bytes.size()); }

void ChunkCipher::DeriveKeys(const Key& key) {
  const unsigned char* salt = header_.data() + kMagicSize;
  file_key_.bytes = Derive(key, "epiphyte example: chunks", salt);
  const Key check = Derive(key, "epiphyte example: check", salt);
  std::copy_n(check.begin(), kCheckSize, check_.begin());
}

void ChunkCipher::Begin(bool encrypt, bool last) {
  std::array<unsigned char, 12> nonce{};
  PutNumber(next_chunk_, nonce.data() + 4);
  Require(EVP_CipherInit_ex(cipher_.get(), EVP_aes_256_gcm(), nullptr, file_key_.bytes.data(), nonce.data(),
                            encrypt ? 1 : 0) == 1,
          "setting up AES-256-GCM");
  std::array<unsigned char, 9> place{};
  PutNumber(next_chunk_, place.data());
  place[8] = last ? 1 : 0;
  int size = 0;
  const auto* name = reinterpret_cast<const unsigned char*>(name_.data());
  Require(EVP_CipherUpdate(cipher_.get(), nullptr, &size, place.data(), static_cast<int>(place.size())) == 1 &&
              EVP_CipherUpdate(cipher_.get(), nullptr, &size, name, static_cast<int>(name_.size())) == 1,
          "authenticating a chunk's place");
}

void ChunkCipher::Seal(const void* plain, size_t size, bool last, unsigned char* out) {
  Begin(/*encrypt=*/true, last);
  int written = 0;
  Require(EVP_CipherUpdate(cipher_.get(), out, &written, static_cast<const unsigned char*>(plain),
                           static_cast<int>(size)) == 1 &&
              EVP_CipherFinal_ex(cipher_.get(), out + written, &written) == 1 &&
              EVP_CIPHER_CTX_ctrl(cipher_.get(), EVP_CTRL_GCM_GET_TAG, static_cast<int>(kTagSize), out + size) == 1,
          "encrypting");
  ++next_chunk_;
}

void ChunkCipher::Open(const unsigned char* sealed, size_t size, bool last, void* out) {
  const size_t plain_size = size - kTagSize;
  auto* plain = static_cast<unsigned char*>(out);
  Begin(/*encrypt=*/false, last);
  std::array<unsigned char, kTagSize> tag;
  std::memcpy(tag.data(), sealed + plain_size, kTagSize);
  int written = 0;
  Require(EVP_CipherUpdate(cipher_.get(), plain, &written, sealed, static_cast<int>(plain_size)) == 1 &&
              EVP_CIPHER_CTX_ctrl(cipher_.get(), EVP_CTRL_GCM_SET_TAG, static_cast<int>(kTagSize), tag.data()) == 1,
          "decrypting");
  if (EVP_CipherFinal_ex(cipher_.get(), plain + written, &written) != 1) {
    OPENSSL_cleanse(out, plain_size);  // no caller may use unauthenticated plaintext
    throw Error(StatusCode::kFail, "'" + name_ +
                                       "' is damaged, cut off or not what was stored under this name (chunk " +
                                       std::to_string(next_chunk_) + "); restore the file or compile the model again");
  }
  ++next_chunk_;
}

}  // namespace encrypted_store
