#include "binding/entry.hpp"
#include "binding/event_memory.hpp"
#include "binding/init.hpp"

namespace kvidx::binding {
namespace {

Napi::Value read_event_batch(const Napi::CallbackInfo& info) {
  const auto payload = input<uint8_t>(info[0], "payload");
  const EventMemory memory = event_memory(info[1]);
  EventBatch batch;
  const bool is_usual = read_events(payload, memory.columns, batch);
  if (is_usual) {
    EventHead& head = *memory.head;
    head.time = batch.time;
    head.rank = batch.rank;
    // None is above the payload's size, which the reader keeps below 2^31.
    head.events = static_cast<int32_t>(batch.events);
    head.hashes = static_cast<int32_t>(batch.hashes);
    head.tokens = static_cast<int32_t>(batch.tokens);
  }
  return Napi::Boolean::New(info.Env(), is_usual);
}

}  // namespace

void init_events(Napi::Env env, Napi::Object exports) {
  export_function<read_event_batch>(env, exports, "readEvents");
}

}  // namespace kvidx::binding
