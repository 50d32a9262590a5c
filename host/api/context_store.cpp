#include "host/api/context_store.h"

#include <exception>
#include <utility>

#include "core/base/error.h"
#include "core/base/reason.h"
#include "core/base/watched_call.h"
#include "epiphyte/error.hpp"
#include "host/api/access.h"

namespace epiphyte {
namespace {

// Runs a function of the application and converts every exception to core::Error.
template <typename Body>
decltype(auto) Guarded(const std::string& name, Body&& body) {
  const core::WatchedCall::Callback callback;  // a plugin may be writing its payload
  try {
    return body();
  } catch (const core::Error&) {
    throw;
  } catch (const Error& error) {
    throw core::Error(static_cast<core::StatusCode>(error.code()), error.what(), static_cast<core::Hint>(error.hint()));
  } catch (const std::exception& error) {
    core::Fail(core::StatusCode::kFail, "the application's context store failed on '{}': {}", name,
               core::ReasonOf(error));
  } catch (...) {
    core::Fail(core::StatusCode::kFail, "the application's context store failed on '{}', without a reason", name);
  }
}

class WriterAdapter : public core::ContextStore::Writer {
 public:
  WriterAdapter(std::string name, std::unique_ptr<ContextStore::Writer> writer)
      : name_(std::move(name)), writer_(std::move(writer)) {}

  void Write(const void* data, uint64_t size) override {
    Guarded(name_, [&] { writer_->Write(data, size); });
  }
  void Commit() override {
    Guarded(name_, [&] { writer_->Commit(); });
  }

 private:
  std::string name_;
  std::unique_ptr<ContextStore::Writer> writer_;
};

}  // namespace

std::shared_ptr<core::ContextStore> Access::Share(std::shared_ptr<ContextStore> store) {
  core::ContextStore* adapter = store == nullptr ? nullptr : store->adapter_.get();
  return {std::move(store), adapter};
}

bool ContextStore::Adapter::StoresModel() const {
  return Guarded("the model", [&] { return store_.StoresModel(); });
}

bool ContextStore::Adapter::Exists(const std::string& name) {
  return Guarded(name, [&] { return store_.Exists(name); });
}

std::unique_ptr<core::ContextStore::Writer> ContextStore::Adapter::Create(const std::string& name) {
  return Guarded(name, [&]() -> std::unique_ptr<core::ContextStore::Writer> {
    std::unique_ptr<epiphyte::ContextStore::Writer> writer = store_.Create(name);
    if (writer == nullptr) return nullptr;
    return std::make_unique<WriterAdapter>(name, std::move(writer));
  });
}

core::ContextStore::Bytes ContextStore::Adapter::Open(const std::string& name) {
  return Guarded(name, [&]() -> core::ContextStore::Bytes {
    epiphyte::ContextStore::Bytes bytes = store_.Open(name);
    if (bytes.data == nullptr && bytes.size != 0) {
      core::Fail(core::StatusCode::kFail, "the application's context store gave {} bytes of '{}' at a null address",
                 bytes.size, name);
    }
    return {bytes.data, bytes.size, std::move(bytes.owner)};
  });
}

ContextStore::ContextStore() : adapter_(std::make_unique<Adapter>(*this)) {}
ContextStore::~ContextStore() = default;
ContextStore::Writer::Writer() = default;
ContextStore::Writer::~Writer() = default;

}  // namespace epiphyte
