// An index as JavaScript holds it, for the files of the binding that need one.
#pragma once

#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "binding/entry.hpp"
#include "core/index.hpp"

namespace kvidx::binding {

/// How much memory of an object the collector knows of: without that, a dropped object waits for a collection that nothing
/// provokes.
class ToldMemory {
 public:
  explicit ToldMemory(Napi::Env env) : env_(env) {}
  ToldMemory(const ToldMemory&) = delete;
  ToldMemory& operator=(const ToldMemory&) = delete;
  ~ToldMemory() { tell(0); }

  void tell(uint64_t reserved) {
    const auto bytes = static_cast<int64_t>(reserved);
    if (bytes != 0 && std::abs(bytes - told_) < kGrain) return;
    int64_t all;
    if (bytes != told_ && napi_adjust_external_memory(env_, bytes - told_, &all) == napi_ok) told_ = bytes;
  }

 private:
  static constexpr int64_t kGrain = 1 << 20;

  napi_env env_;
  int64_t told_ = 0;
};

class IndexObject : public std::enable_shared_from_this<IndexObject> {
 public:
  IndexObject(Napi::Env env, IndexOptions options) : memory_(env), index_(std::in_place, options) {}

  /// Fails when it is closed.
  Index& open(Napi::Env env) {
    if (!index_) fail_closed(env, "the index");
    memory_.tell(index_->reserved_bytes());
    return *index_;
  }
  /// Room for the requests of a call. Who uses it takes it away meanwhile: reading a list may run code that calls again.
  InputList<SeqHash>& requests() { return requests_; }
  void close() {
    index_.reset();
    requests_ = {};
    memory_.tell(0);
  }

 private:
  ToldMemory memory_;
  std::optional<Index> index_;
  InputList<SeqHash> requests_;
};

/// names_binding.cpp: CoreIndex.createEngineNames.
Napi::Value create_engine_names(IndexObject& self, const Napi::CallbackInfo& info);

}  // namespace kvidx::binding
