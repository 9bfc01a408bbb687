#include <memory>

#include "bench/boundary.hpp"
#include "bench/cold_copies.hpp"
#include "bench/counted_memory.hpp"
#include "bench/flat_table.hpp"
#include "binding/entry.hpp"
#include "binding/init.hpp"

namespace kvidx::bench {
namespace {

using namespace kvidx::binding;

void insert(FlatTable& self, const Napi::CallbackInfo& info) {
  self.insert(integer(info[0], "slot", 0, FlatTable::kSlots - 1), input<SeqHash>(info[1], "seq"));
}

void overlap(FlatTable& self, const Napi::CallbackInfo& info) {
  self.overlap(input<SeqHash>(info[0], "seq"), output<uint32_t>(info[1], FlatTable::kSlots, "out"));
}

Napi::Value size(FlatTable& self, const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(self.size()));
}

Napi::Value bytes(FlatTable& self, const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(self.bytes()));
}

Napi::Value create_flat_table(const Napi::CallbackInfo& info) {
  return expose(info.Env(), std::make_shared<FlatTable>(),
                {
                    method<FlatTable, insert>("insert"),
                    method<FlatTable, overlap>("overlap"),
                    method<FlatTable, size>("size"),
                    method<FlatTable, bytes>("bytes"),
                });
}

void add_copy(ColdCopies& self, const Napi::CallbackInfo& info) {
  self.add(input<SeqHash>(info[0], "seq"));
}

void compare(ColdCopies& self, const Napi::CallbackInfo& info) {
  const auto request = input<SeqHash>(info[0], "request");
  if (!self.compare(request, output<uint32_t>(info[1], 1, "out"))) fail_range(info.Env(), "no such copy");
}

Napi::Value create_cold_copies(const Napi::CallbackInfo& info) {
  return expose(info.Env(), std::make_shared<ColdCopies>(),
                {
                    method<ColdCopies, add_copy>("add"),
                    method<ColdCopies, compare>("compare"),
                });
}

#if defined(KVIDX_COUNTED_MEMORY)
Napi::Value count_allocated(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(allocated_bytes()));
}

Napi::Value count_peak(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(peak_bytes()));
}

void start_new_peak(const Napi::CallbackInfo&) {
  restart_peak();
}

Napi::Value count_allocations(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(allocations()));
}
#endif

napi_value init(napi_env env, napi_value exports) {
  return guarded(env, [&] {
    Napi::Object target(env, exports);
    target.Set("seamVersion", binding::kSeamVersion);
    export_function<create_flat_table>(env, target, "createFlatTable");
    init_boundary(env, target);
    export_function<create_cold_copies>(env, target, "createColdCopies");
    binding::init_index(env, target);
#if defined(KVIDX_COUNTED_MEMORY)
    export_function<count_allocated>(env, target, "allocatedBytes");
    export_function<count_peak>(env, target, "peakBytes");
    export_function<start_new_peak>(env, target, "restartPeak");
    export_function<count_allocations>(env, target, "allocations");
#endif
    return exports;
  });
}

}  // namespace
}  // namespace kvidx::bench

NAPI_MODULE(NODE_GYP_MODULE_NAME, kvidx::bench::init)
