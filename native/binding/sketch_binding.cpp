#include <memory>

#include "binding/entry.hpp"
#include "binding/init.hpp"
#include "core/bloom.hpp"
#include "core/sketch_frame.hpp"

namespace kvidx::binding {
namespace {

using Info = const Napi::CallbackInfo&;

/// Whole blocks, at least one.
FilterWords filter_words(Napi::Value value) {
  const FilterWords words = array<uint32_t>(value, "words");
  if (words.empty() || words.size() % kBlockWords != 0) {
    fail_range(value.Env(), "words.length must be a positive multiple of 8");
  }
  return words;
}

void add(const BloomKernel& kernel, Info info) {
  kernel.add(filter_words(info[0]), input<SeqHash>(info[1], "keys"));
}

Napi::Value test(const BloomKernel& kernel, Info info) {
  const ConstFilterWords words = filter_words(info[0]);
  const auto keys = input<SeqHash>(info[1], "keys");
  const auto out = optional_output<uint8_t>(info[2], keys.size(), "out");
  return Napi::Number::New(info.Env(),
                           static_cast<double>(kernel.test(words, keys, out.value_or(std::span<uint8_t>()))));
}

Napi::Value leading(const BloomKernel& kernel, Info info) {
  const size_t count = kernel.leading(filter_words(info[0]), input<SeqHash>(info[1], "keys"));
  return Napi::Number::New(info.Env(), static_cast<double>(count));
}

/// Places in `fields`, as in the seam.
enum FieldPlace : size_t {
  kKind,
  kEpoch,
  kSequence,
  kTimestampMs,
  kKeys,
  kTargetFpp,
  kScheme,
  kBlockSize,
  kZ,
  kWorkerBegin,
  kWorkerEnd,
  kSessionBegin,
  kSessionEnd,
  kPayloadBegin,
  kPayloadEnd,
  kFieldCount
};

Napi::Value read_sketch_frame(Info info) {
  const auto bytes = input<uint8_t>(info[0], "bytes");
  const uint32_t max_blocks = integer(info[1], "maxBlocks");
  const auto fields = output<double>(info[2], kFieldCount, "fields");

  SketchFrame frame{};
  const FrameFault fault = read_frame(bytes, max_blocks, frame);
  if (fault == FrameFault::kOk) {
    fields[kKind] = static_cast<double>(frame.kind);
    fields[kEpoch] = static_cast<double>(frame.epoch);
    fields[kSequence] = static_cast<double>(frame.sequence);
    fields[kTimestampMs] = static_cast<double>(frame.timestamp_ms);
    fields[kKeys] = static_cast<double>(frame.keys);
    fields[kTargetFpp] = frame.target_fpp;
    fields[kScheme] = frame.scheme;
    fields[kBlockSize] = frame.block_size;
    fields[kZ] = frame.z;
    const auto put = [fields](FieldPlace begin, FrameRange range) {
      fields[begin] = static_cast<double>(range.begin);
      fields[begin + 1] = static_cast<double>(range.end);
    };
    put(kWorkerBegin, frame.worker);
    put(kSessionBegin, frame.session);
    put(kPayloadBegin, frame.payload);
  }
  return Napi::Number::New(info.Env(), static_cast<double>(fault));
}

Napi::Value bloom_paths(Napi::Env env) {
  Napi::Array paths = Napi::Array::New(env);
  for (const BloomKernel& kernel : bloom_kernels()) {
    const auto shared = std::make_shared<const BloomKernel>(kernel);
    Napi::Object path = expose(env, shared,
                               {
                                   method<const BloomKernel, add>("add"),
                                   method<const BloomKernel, test>("test"),
                                   method<const BloomKernel, leading>("leading"),
                               })
                            .As<Napi::Object>();
    path.Set("isa", kernel.isa);
    paths.Set(paths.Length(), path);
  }
  return paths;
}

}  // namespace

void init_sketch(Napi::Env env, Napi::Object exports) {
  exports.Set("bloomPaths", bloom_paths(env));
  export_function<read_sketch_frame>(env, exports, "readFrame");
}

}  // namespace kvidx::binding
