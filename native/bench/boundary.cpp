#include "bench/boundary.hpp"

#include "binding/entry.hpp"

namespace kvidx::bench {
namespace {

using namespace kvidx::binding;

void empty_call(const Napi::CallbackInfo&) {}

/// The conversions of a query, without the query.
void two_arrays(const Napi::CallbackInfo& info) {
  input<SeqHash>(info[0], "seq");
  array<uint32_t>(info[1], "out");
}

/// An output that the call makes, instead of one that it is given.
Napi::Value fresh_array(const Napi::CallbackInfo& info) {
  const auto seq = input<SeqHash>(info[0], "seq");
  return copy_out<SeqHash>(info.Env(), seq);
}

}  // namespace

void init_boundary(Napi::Env env, Napi::Object exports) {
  export_function<empty_call>(env, exports, "emptyCall");
  export_function<two_arrays>(env, exports, "twoArrays");
  export_function<fresh_array>(env, exports, "freshArray");
}

}  // namespace kvidx::bench
