#include "binding/entry.hpp"
#include "binding/init.hpp"
#include "core/event_batch.hpp"

namespace kvidx::binding {
namespace {

/// Places in `batch`, as in the seam.
enum BatchPlace : size_t { kTime, kRank, kEvents, kHashes, kTokens, kBatchPlaces };

Napi::Value read_event_batch(const Napi::CallbackInfo& info) {
  const auto payload = input<uint8_t>(info[0], "payload");
  const EventColumns columns = event_columns(info[1]);
  const auto out = output<double>(info[2], kBatchPlaces, "batch");

  EventBatch batch;
  const bool is_usual = read_events(payload, columns, batch);
  if (is_usual) {
    out[kTime] = batch.time;
    out[kRank] = batch.rank;
    out[kEvents] = static_cast<double>(batch.events);
    out[kHashes] = static_cast<double>(batch.hashes);
    out[kTokens] = static_cast<double>(batch.tokens);
  }
  return Napi::Boolean::New(info.Env(), is_usual);
}

}  // namespace

void init_events(Napi::Env env, Napi::Object exports) {
  export_function<read_event_batch>(env, exports, "readEvents");
}

}  // namespace kvidx::binding
