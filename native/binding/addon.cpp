#include "binding/entry.hpp"
#include "binding/init.hpp"
#include "core/bloom.hpp"

namespace {

using namespace kvidx::binding;

napi_value init(napi_env raw_env, napi_value raw_exports) {
  return guarded(raw_env, [&]() -> napi_value {
    const Napi::Env env(raw_env);
    Napi::Object exports(raw_env, raw_exports);
    exports.Set("name", "native");
    exports.Set("seamVersion", kSeamVersion);
    exports.Set("isa", kvidx::bloom_kernels().back().isa);
    init_hash(env, exports);
    init_index(env, exports);
    init_apc(env, exports);
    init_trace(env, exports);
    init_sketch(env, exports);
    init_events(env, exports);
    return exports;
  });
}

}  // namespace

NAPI_MODULE(NODE_GYP_MODULE_NAME, init)
