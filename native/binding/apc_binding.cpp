#include <memory>
#include <optional>
#include <utility>

#include "binding/entry.hpp"
#include "binding/init.hpp"
#include "core/apc_counter.hpp"

namespace kvidx::binding {
namespace {

struct ApcObject {
  std::optional<ApcCounter> counter;
  size_t capacities = 0;
};

using Info = const Napi::CallbackInfo&;

ApcCounter& open(ApcObject& self, Info info) {
  if (!self.counter) fail_closed(info.Env(), "the counter");
  return *self.counter;
}

void add(ApcObject& self, Info info) {
  ApcCounter& counter = open(self, info);
  const uint32_t session = integer(info[0], "session");
  const auto ids = input<uint64_t>(info[1], "ids");
  counter.add(session, ids, output<uint32_t>(info[2], 2 + self.capacities, "hits"));
}

Napi::Value unique_blocks(ApcObject& self, Info info) {
  return Napi::Number::New(info.Env(), static_cast<double>(open(self, info).unique_blocks()));
}

void close(ApcObject& self, Info) {
  self.counter.reset();
}

Napi::Value create_apc_counter(Info info) {
  const auto capacities = input<double>(info[0], "capacities");
  auto object = std::make_unique<ApcObject>();
  object->counter.emplace(capacities);
  object->capacities = capacities.size();
  return expose<ApcObject>(info.Env(), std::move(object),
                           {
                               method<ApcObject, add>("add"),
                               method<ApcObject, unique_blocks>("uniqueBlocks"),
                               method<ApcObject, close>("close"),
                           });
}

}  // namespace

void init_apc(Napi::Env env, Napi::Object exports) {
  export_function<create_apc_counter>(env, exports, "createApcCounter");
}

}  // namespace kvidx::binding
