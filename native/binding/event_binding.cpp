#include "binding/entry.hpp"
#include "binding/init.hpp"

namespace kvidx::binding {

void init_events(Napi::Env, Napi::Object) {}

}  // namespace kvidx::binding
