// What each file of the binding adds to the addon's exports.
#pragma once

#include <napi.h>

namespace kvidx::binding {

void init_hash(Napi::Env env, Napi::Object exports);
[[gnu::weak]] void init_index(Napi::Env env, Napi::Object exports);
[[gnu::weak]] void init_apc(Napi::Env env, Napi::Object exports);
[[gnu::weak]] void init_trace(Napi::Env env, Napi::Object exports);

}  // namespace kvidx::binding
