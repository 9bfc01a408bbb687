// What crossing into the addon costs: calls that convert their arguments as every other call does, and do nothing else.
#pragma once

#include <napi.h>

namespace kvidx::bench {

void init_boundary(Napi::Env env, Napi::Object exports);

}  // namespace kvidx::bench
