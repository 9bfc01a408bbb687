// Every conversion between JavaScript values and the core's: the other files of the binding only call.
//
// A value of the wrong dtype, length or range is a JavaScript TypeError or RangeError with a `code`, never a
// crash. Typed arrays are read and written where they lie: a span is good until the call returns.
//
// Costs: a typed array 35 ns, a fresh output array 300 (pass arrays to fill), a BigInt 10.
#pragma once

#include <napi.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/block_hash.hpp"
#include "core/types.hpp"

namespace kvidx::binding {

// Errors

template <class E>
[[noreturn]] void fail(Napi::Env env, const char* code, const std::string& message) {
  E error = E::New(env, message);
  error.Set("code", Napi::String::New(env, code));
  throw error;
}

[[noreturn]] inline void fail_type(Napi::Env env, const std::string& message) {
  fail<Napi::TypeError>(env, "ERR_KVIDX_INVALID_ARG_TYPE", message);
}

[[noreturn]] inline void fail_range(Napi::Env env, const std::string& message) {
  fail<Napi::RangeError>(env, "ERR_KVIDX_OUT_OF_RANGE", message);
}

[[noreturn]] inline void fail_length(Napi::Env env, const std::string& message) {
  fail<Napi::RangeError>(env, "ERR_KVIDX_LENGTH_MISMATCH", message);
}

[[noreturn]] inline void fail_closed(Napi::Env env, const std::string& what) {
  fail<Napi::Error>(env, "ERR_KVIDX_CLOSED", what + " is closed");
}

// Typed arrays

struct Dtype {
  napi_typedarray_type type;
  const char* name;
};

template <class T>
constexpr Dtype dtype() {
  if constexpr (std::is_same_v<T, uint8_t>) return {napi_uint8_array, "Uint8Array"};
  if constexpr (std::is_same_v<T, uint16_t>) return {napi_uint16_array, "Uint16Array"};
  if constexpr (std::is_same_v<T, int32_t>) return {napi_int32_array, "Int32Array"};
  if constexpr (std::is_same_v<T, uint32_t>) return {napi_uint32_array, "Uint32Array"};
  if constexpr (std::is_same_v<T, double>) return {napi_float64_array, "Float64Array"};
  if constexpr (std::is_same_v<T, uint64_t> || std::is_same_v<T, SeqHash> || std::is_same_v<T, LocalHash>) {
    return {napi_biguint64_array, "BigUint64Array"};
  }
}

/// The memory of a typed array of T's dtype. The data pointer of Node-API includes the byte offset already.
template <class T>
std::span<T> array(Napi::Value value, const char* what) {
  napi_typedarray_type type;
  size_t length;
  void* data;
  const napi_status status =
      napi_get_typedarray_info(value.Env(), value, &type, &length, &data, nullptr, nullptr);
  if (status != napi_ok || type != dtype<T>().type) {
    fail_type(value.Env(), std::string(what) + " must be a " + dtype<T>().name);
  }
  return {static_cast<T*>(data), length};
}

template <class T>
std::span<const T> input(Napi::Value value, const char* what) {
  return array<T>(value, what);
}

/// The memory of each typed array in a list; kept between calls, so that these do not allocate. A call that needs far less than
/// is kept gives it back.
template <class T>
struct InputList {
  std::vector<std::span<const T>> spans;
  std::vector<napi_value> elements;

  void read(Napi::Value value, const char* what) {
    uint32_t length;
    if (napi_get_array_length(value.Env(), value, &length) != napi_ok) {
      fail_type(value.Env(), std::string(what) + " must be an array");
    }
    constexpr size_t kKept = 4096, kFar = 8;
    if (spans.capacity() > kKept && spans.capacity() / kFar > length) *this = {};
    elements.resize(length);
    spans.resize(length);
    // All of them first: a getter among them may take the memory of another away.
    for (uint32_t k = 0; k < length; ++k) {
      if (napi_get_element(value.Env(), value, k, &elements[k]) != napi_ok)
        throw Napi::Error::New(value.Env());
    }
    for (uint32_t k = 0; k < length; ++k) spans[k] = input<T>({value.Env(), elements[k]}, what);
  }
};

/// An array that the call fills: exactly `length` elements.
template <class T>
std::span<T> output(Napi::Value value, size_t length, const char* what) {
  const std::span<T> out = array<T>(value, what);
  if (out.size() != length) {
    fail_length(value.Env(), std::string(what) + " must have " + std::to_string(length) + " elements, got " +
                                 std::to_string(out.size()));
  }
  return out;
}

inline bool is_absent(Napi::Value value) {
  return value.IsUndefined();
}

/// As `output`; an absent array is an empty span without memory.
template <class T>
std::optional<std::span<T>> optional_output(Napi::Value value, size_t length, const char* what) {
  if (is_absent(value)) return std::nullopt;
  return output<T>(value, length, what);
}

/// A fresh typed array of `length` elements, which fill(span) writes.
template <class T, class Fill>
Napi::Value fill_out(Napi::Env env, size_t length, Fill&& fill) {
  Napi::ArrayBuffer buffer = Napi::ArrayBuffer::New(env, length * sizeof(T));
  fill(std::span<T>(static_cast<T*>(buffer.Data()), length));
  napi_value result;
  if (napi_create_typedarray(env, dtype<T>().type, length, buffer, 0, &result) != napi_ok) {
    throw Napi::Error::New(env);
  }
  return {env, result};
}

/// A fresh typed array with a copy of `values`.
template <class T>
Napi::Value copy_out(Napi::Env env, std::span<const T> values) {
  return fill_out<T>(env, values.size(), [values](std::span<T> out) {
    if (!values.empty()) std::memcpy(out.data(), values.data(), values.size_bytes());
  });
}

// Single values

/// A BigInt from 0 to 2^64 − 1.
inline uint64_t u64(Napi::Value value, const char* what) {
  uint64_t result;
  bool lossless = false;
  if (napi_get_value_bigint_uint64(value.Env(), value, &result, &lossless) != napi_ok) {
    fail_type(value.Env(), std::string(what) + " must be a bigint");
  }
  if (!lossless) fail_range(value.Env(), std::string(what) + " must be from 0 to 2^64 - 1");
  return result;
}

inline Napi::Value bigint(Napi::Env env, uint64_t value) {
  return Napi::BigInt::New(env, value);
}

inline double number(Napi::Value value, const char* what) {
  double result;
  if (napi_get_value_double(value.Env(), value, &result) != napi_ok) {
    fail_type(value.Env(), std::string(what) + " must be a number");
  }
  return result;
}

inline bool boolean(Napi::Value value, const char* what) {
  bool result;
  if (napi_get_value_bool(value.Env(), value, &result) != napi_ok) {
    fail_type(value.Env(), std::string(what) + " must be a boolean");
  }
  return result;
}

/// A whole Number from `lo` to `hi`.
inline uint32_t integer(Napi::Value value, const char* what, uint32_t lo = 0, uint32_t hi = UINT32_MAX) {
  const double d = number(value, what);
  if (!(d >= lo && d <= hi) || d != static_cast<double>(static_cast<uint32_t>(d))) {
    fail_range(value.Env(), std::string(what) + " must be an integer from " + std::to_string(lo) + " to " +
                                std::to_string(hi));
  }
  return static_cast<uint32_t>(d);
}

constexpr uint32_t kMaxBlockSize = 4096;

inline uint32_t block_size(Napi::Value value) {
  return integer(value, "blockSize", 1, kMaxBlockSize);
}

/// The members of FlatExtraKeys of the seam, or absent. Reading them may run a program's code: all that is read so comes before
/// the first span.
struct ExtraKeysValue {
  Napi::Value blocks, keys;

  explicit ExtraKeysValue(Napi::Value value) {
    if (is_absent(value)) return;
    if (!value.IsObject()) fail_type(value.Env(), "extra must be an object with blocks and keys");
    blocks = value.As<Napi::Object>().Get("blocks");
    keys = value.As<Napi::Object>().Get("keys");
  }

  ExtraKeys spans() const {
    if (blocks.IsEmpty()) return {};
    const ExtraKeys extra{input<uint32_t>(blocks, "extra.blocks"), input<uint64_t>(keys, "extra.keys")};
    if (extra.blocks.size() != extra.keys.size()) {
      fail_length(blocks.Env(), "extra.blocks and extra.keys must have the same length");
    }
    return extra;
  }
};

inline ExtraKeys extra_keys(Napi::Value value) {
  return ExtraKeysValue(value).spans();
}

/// The elements of a plain array, `length` of them where that is given. Reading them may run a program's code.
inline std::vector<Napi::Value> elements(Napi::Value value, const char* what,
                                         std::optional<size_t> length = std::nullopt) {
  if (!value.IsArray()) fail_type(value.Env(), std::string(what) + " must be an array");
  const Napi::Array array = value.As<Napi::Array>();
  const uint32_t count = array.Length();
  if (length && count != *length) {
    fail_length(value.Env(), std::string(what) + " must have " + std::to_string(*length) + " elements, got " +
                                 std::to_string(count));
  }
  std::vector<Napi::Value> result;
  for (uint32_t i = 0; i < count; ++i) result.push_back(array.Get(i));
  return result;
}

}  // namespace kvidx::binding
