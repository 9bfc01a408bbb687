// How JavaScript enters the binding: functions, and objects with methods.
//
// Idea: an entry turns every C++ exception into a JavaScript one. A native object is a plain JavaScript
// object whose methods are functions bound to the C++ object: each function shares the ownership of it, so
// that a method may outlive the object it was read from; `this` is never looked at, so that no foreign `this`
// can do harm.
//
// Costs: a call 13 ns; taking the C++ object from a wrapped, type-tagged `this` would add 95. A new object
// costs one function a method.
//
//   void overlap(Index& self, const Napi::CallbackInfo& info);
//   return expose(env, std::make_shared<Index>(), {method<Index, overlap>("overlap"), …});
#pragma once

#include <napi.h>

#include <cassert>
#include <exception>
#include <initializer_list>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "binding/convert.hpp"

namespace kvidx::binding {

/// Runs `body` and leaves any C++ exception pending as a JavaScript one. In a thread that is being stopped every call
/// into JavaScript fails, the throwing of errors too: then the exception ends here, and so does the JavaScript below.
template <class Body>
napi_value guarded(Napi::Env env, Body body) noexcept {
  const auto pend = [&](const char* code, const char* message) {
    (void)napi_throw_error(env, code, message);
  };
  try {
    try {
      return body();
    } catch (const Napi::Error& error) {
      (void)napi_throw(env, error.Value());
    }
  } catch (const Napi::Error&) {
  } catch (const std::bad_alloc&) {
    pend("ERR_KVIDX_OUT_OF_MEMORY", "not enough memory for this call");
  } catch (const std::length_error& error) {
    pend("ERR_KVIDX_CAPACITY", error.what());
  } catch (const std::exception& error) {
    pend("ERR_KVIDX_INTERNAL", error.what());
  }
  return nullptr;
}

/// Calls `fn`, whose result is a Napi::Value (or any class of it) or nothing.
template <class Fn, class... A>
napi_value call(Fn fn, A&... arguments) {
  if constexpr (std::is_void_v<std::invoke_result_t<Fn, A&...>>) {
    fn(arguments...);
    return nullptr;
  } else {
    return fn(arguments...);
  }
}

template <auto Fn>
napi_value function_entry(napi_env env, napi_callback_info raw) {
  return guarded(env, [&] {
    const Napi::CallbackInfo info(env, raw);
    return call(Fn, info);
  });
}

/// The arguments of a call. Napi::CallbackInfo asks for memory in each call that has more than six of them.
class Arguments {
 public:
  Arguments(napi_env env, napi_callback_info raw) : env_(env) {
    size_t n = kMost;  // places behind those that the call gives become undefined
    if (napi_get_cb_info(env, raw, &n, values_, nullptr, &data_) != napi_ok) throw Napi::Error::New(env);
  }
  Napi::Env Env() const { return env_; }
  void* Data() const { return data_; }
  Napi::Value operator[](size_t i) const {
    assert(i < kMost);
    return {env_, values_[i]};
  }

 private:
  static constexpr size_t kMost = 10;

  napi_env env_;
  void* data_ = nullptr;
  napi_value values_[kMost];
};

/// A property of the exports: `Fn(const Napi::CallbackInfo&)`.
template <auto Fn>
void export_function(Napi::Env env, Napi::Object exports, const char* name) {
  napi_value function;
  if (napi_create_function(env, name, NAPI_AUTO_LENGTH, function_entry<Fn>, nullptr, &function) != napi_ok) {
    throw Napi::Error::New(env);
  }
  exports.Set(name, Napi::Value(env, function));
}

template <class T, auto Fn>
napi_value method_entry(napi_env env, napi_callback_info raw) {
  return guarded(env, [&] {
    constexpr bool kMany = std::is_invocable_v<decltype(Fn), T&, const Arguments&>;
    const std::conditional_t<kMany, Arguments, Napi::CallbackInfo> info(env, raw);
    return call(Fn, **static_cast<std::shared_ptr<T>*>(info.Data()), info);
  });
}

template <class T>
struct Method {
  const char* name;
  napi_callback entry;
};

/// `Fn(T&, const Napi::CallbackInfo&)`, or `Fn(T&, const Arguments&)`.
template <class T, auto Fn>
constexpr Method<T> method(const char* name) {
  return {name, method_entry<T, Fn>};
}

/// A JavaScript object with these methods of `object`.
template <class T>
Napi::Value expose(Napi::Env env, std::shared_ptr<T> object, std::initializer_list<Method<T>> methods) {
  Napi::Object result = Napi::Object::New(env);
  const auto finalize = [](napi_env, void* data, void*) { delete static_cast<std::shared_ptr<T>*>(data); };
  for (const Method<T>& method : methods) {
    auto owner = std::make_unique<std::shared_ptr<T>>(object);
    napi_value function;
    if (napi_create_function(env, method.name, NAPI_AUTO_LENGTH, method.entry, owner.get(), &function) !=
            napi_ok ||
        napi_add_finalizer(env, function, owner.get(), finalize, nullptr, nullptr) != napi_ok) {
      throw Napi::Error::New(env);
    }
    owner.release();
    result.Set(method.name, Napi::Value(env, function));
  }
  return result;
}

}  // namespace kvidx::binding
