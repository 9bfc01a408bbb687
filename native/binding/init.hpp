// What each file of the binding adds to the addon's exports.
#pragma once

#include <napi.h>

#include <cstdint>

namespace kvidx::binding {

/// SEAM_VERSION of src/native/seam.ts; the loader refuses an addon with another number.
constexpr uint32_t kSeamVersion = 5;

void init_hash(Napi::Env env, Napi::Object exports);
void init_index(Napi::Env env, Napi::Object exports);
void init_apc(Napi::Env env, Napi::Object exports);
void init_trace(Napi::Env env, Napi::Object exports);
void init_sketch(Napi::Env env, Napi::Object exports);
void init_events(Napi::Env env, Napi::Object exports);

}  // namespace kvidx::binding
