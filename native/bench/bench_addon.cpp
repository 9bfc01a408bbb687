#include <memory>

#include "bench/flat_table.hpp"
#include "binding/entry.hpp"

namespace kvidx::bench {
namespace {

using namespace kvidx::binding;

struct FlatTableObject {
  static constexpr napi_type_tag kTag{0x6b76696478626e63, 0x666c61745f746162};
  static constexpr const char* kName = "FlatTable";
  FlatTable table;
};

Napi::Value create_flat_table(const Napi::CallbackInfo& info) {
  return instantiate(info.Env(), std::make_unique<FlatTableObject>());
}

void insert(FlatTableObject& self, const Napi::CallbackInfo& info) {
  self.table.insert(integer(info[0], "slot", 0, FlatTable::kSlots - 1), input<SeqHash>(info[1], "seq"));
}

void overlap(FlatTableObject& self, const Napi::CallbackInfo& info) {
  self.table.overlap(input<SeqHash>(info[0], "seq"), output<uint32_t>(info[1], FlatTable::kSlots, "out"));
}

Napi::Value size(FlatTableObject& self, const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(self.table.size()));
}

Napi::Value bytes(FlatTableObject& self, const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(self.table.bytes()));
}

napi_value init(napi_env raw_env, napi_value raw_exports) {
  return guarded(raw_env, [&]() -> napi_value {
    const Napi::Env env(raw_env);
    env.SetInstanceData(new AddonData);
    define_class<FlatTableObject>(
        env, {method<FlatTableObject, insert>("insert"), method<FlatTableObject, overlap>("overlap"),
              method<FlatTableObject, size>("size"), method<FlatTableObject, bytes>("bytes")});
    export_function<create_flat_table>(env, Napi::Object(raw_env, raw_exports), "createFlatTable");
    return raw_exports;
  });
}

}  // namespace
}  // namespace kvidx::bench

NAPI_MODULE(NODE_GYP_MODULE_NAME, kvidx::bench::init)
