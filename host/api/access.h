// Access: converts between the public classes and the core's objects, for the files of host/api only.
#pragma once

#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/cache/open_session.h"
#include "core/context/context_store.h"
#include "core/graph/type.h"
#include "core/graph/value.h"
#include "core/partition/placement.h"
#include "core/runtime/session_memory.h"
#include "core/runtime/session_options.h"
#include "epiphyte/context_store.hpp"
#include "epiphyte/environment.hpp"
#include "epiphyte/error.hpp"
#include "epiphyte/memory.hpp"
#include "epiphyte/options.hpp"
#include "epiphyte/placement.hpp"
#include "epiphyte/session.hpp"
#include "epiphyte/type.hpp"
#include "epiphyte/value.hpp"
#include "host/api/async_runs.h"

namespace epiphyte {

struct SessionOptions::Impl {
  core::SessionOptions options;
};

struct Session::Impl {
  Impl(std::shared_ptr<core::Environment> owner, const core::ModelSource& model, const core::SessionOptions& options)
      : environment(std::move(owner)), session(core::OpenSession(*environment, model, options)) {}
  ~Impl() { async_runs->Wait(environment->async_runner()); }

  std::shared_ptr<core::Environment> environment;  // outlives the session
  core::Session session;
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> overridable_initializers;
  std::vector<ValueInfo> outputs;
  std::optional<ContextFiles> files;
  std::shared_ptr<AsyncRuns> async_runs = std::make_shared<AsyncRuns>();  // shared with the runs
};

struct Memory::Impl {
  std::shared_ptr<core::Environment> environment;  // outlives the memory
  std::shared_ptr<core::DeviceMemory> memory;      // never null
  std::shared_ptr<core::DeviceAccount> account;    // account of values made through this handle; null: none
};

struct TypeInfo::Impl {
  std::shared_ptr<const core::Type> type;
  std::optional<std::vector<Dimension>> shape;
  TypeInfo element;
};

class Access {
 public:
  static const std::shared_ptr<core::Environment>& Of(const Environment& environment) {
    return environment.environment_;
  }
  static const core::SessionOptions& Of(const SessionOptions& options) { return options.impl_->options; }
  // Returns views of `options`; valid as long as `options`.
  static core::RunSettings SettingsOf(const RunOptions& options) {
    return {options.stop, options.tag, options.provider_options.empty() ? nullptr : &options.provider_options};
  }
  static Session::Impl& Of(const Session& session) { return *session.impl_; }
  // Returns null for an unknown type.
  static std::shared_ptr<const core::Type> Of(const TypeInfo& type) { return type.impl_ ? type.impl_->type : nullptr; }
  static core::Value* Of(const Value& value) { return value.value_; }
  // Returns null for host memory.
  static const Memory::Impl* Of(const Memory& memory) { return memory.impl_.get(); }
  // Shares the store's ownership. The core sees one object for one store, in every call.
  static std::shared_ptr<core::ContextStore> Share(std::shared_ptr<ContextStore> store);
  // Returns null for an empty value.
  static core::ValuePtr Share(const Value& value) { return core::ValuePtr::Share(value.value_); }
  // Returns the value in host memory: a copy of a value in device memory, otherwise the value itself.
  static core::ValuePtr ShareOnHost(const Value& value);
  static Memory Wrap(std::shared_ptr<core::Environment> environment, core::SessionMemory memory) {
    Memory wrapped;
    wrapped.impl_ = std::make_shared<Memory::Impl>(
        Memory::Impl{std::move(environment), std::move(memory.memory), std::move(memory.account)});
    return wrapped;
  }
  static Value Wrap(core::ValuePtr value) {
    Value wrapped;
    wrapped.value_ = value.Detach();
    return wrapped;
  }
  static TypeInfo Wrap(std::shared_ptr<const core::Type> type) { return TypeInfo(std::move(type)); }
  static Placement Wrap(std::shared_ptr<const core::Placement> placement) { return Placement(std::move(placement)); }
};

// Runs `body` and converts every exception to epiphyte::Error.
template <typename Body>
decltype(auto) WithPublicErrors(Body&& body) {
  try {
    try {
      return body();
    } catch (const Error&) {
      throw;
    } catch (const core::Error& error) {
      throw Error(static_cast<StatusCode>(error.code()), error.message(), static_cast<Hint>(error.hint()));
    } catch (const std::bad_alloc&) {
      throw Error(StatusCode::kOutOfMemory, "out of memory; close other programs or use a smaller model");
    } catch (const std::exception& error) {
      throw Error(StatusCode::kRuntimeException, error.what());
    }
  } catch (const std::bad_alloc&) {
    // No memory is left for the message. A message as short as this one needs no allocation.
    throw Error(StatusCode::kOutOfMemory, "out of memory");
  }
}

}  // namespace epiphyte
