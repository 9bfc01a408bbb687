#include "binding/entry.hpp"
#include "binding/init.hpp"
#include "core/trace_row.hpp"

namespace kvidx::binding {
namespace {

/// Places in `row`, as in the seam.
enum RowPlace : size_t { kIds, kArrayStart, kArrayEnd, kErrorAt, kRowLength };

void scan_row(const Napi::CallbackInfo& info) {
  const auto bytes = input<uint8_t>(info[0], "bytes");
  if (bytes.size() > INT32_MAX) fail_range(info.Env(), "bytes must be shorter than 2^31");
  const auto size = static_cast<uint32_t>(bytes.size());
  const uint32_t end = integer(info[2], "end", 0, size);
  const uint32_t start = integer(info[1], "start", 0, end);
  const auto ids = array<uint64_t>(info[3], "ids");
  const auto row = output<int32_t>(info[4], kRowLength, "row");

  const RowScan scan = scan_trace_row(bytes.subspan(start, end - start), ids);
  const auto place = [start](size_t at) { return static_cast<int32_t>(start + at); };
  row[kIds] =
      scan.status == RowStatus::kOk ? static_cast<int32_t>(scan.id_count) : static_cast<int32_t>(scan.status);
  row[kArrayStart] = place(scan.array_start);
  row[kArrayEnd] = place(scan.array_end);
  row[kErrorAt] = place(scan.error_at);
}

}  // namespace

void init_trace(Napi::Env env, Napi::Object exports) {
  export_function<scan_row>(env, exports, "scanTraceRow");
}

}  // namespace kvidx::binding
