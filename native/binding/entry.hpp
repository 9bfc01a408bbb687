// How JavaScript enters the binding: functions, and classes whose `this` is checked.
//
// Idea: an entry turns every C++ exception into a JavaScript one. A wrapped object carries its class's type
// tag, so a method that is called on anything else is a TypeError. Constructors are kept per environment (a
// worker thread has its own) and cannot be used from JavaScript: only `instantiate` hands an object over.
//
//   struct IndexObject { static constexpr napi_type_tag kTag{…, …}; static constexpr const char* kName =
//   "Index"; … }; Napi::Value overlap(IndexObject& self, const Napi::CallbackInfo& info);
//   define_class<IndexObject>(env, {method<IndexObject, overlap>("overlap"), …});
//   return instantiate(env, std::make_unique<IndexObject>(…));
#pragma once

#include <napi.h>

#include <exception>
#include <initializer_list>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "binding/convert.hpp"

namespace kvidx::binding {

/// State of one environment.
struct AddonData {
  std::unordered_map<std::string, Napi::FunctionReference> constructors;  // by class name
  void* handed_over = nullptr;  // the object that a constructor running now shall wrap
};

/// Runs `body` and leaves any C++ exception pending as a JavaScript one.
template <class Body>
napi_value guarded(Napi::Env env, Body body) {
  const auto pend = [&](const char* code, const std::string& message) {
    Napi::Error error = Napi::Error::New(env, message);
    error.Set("code", Napi::String::New(env, code));
    error.ThrowAsJavaScriptException();
  };
  try {
    return body();
  } catch (const Napi::Error& error) {
    error.ThrowAsJavaScriptException();
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

// Functions
// ---------------------------------------------------------------------------------------------------------

template <auto Fn>
napi_value function_entry(napi_env env, napi_callback_info raw) {
  return guarded(env, [&] {
    const Napi::CallbackInfo info(env, raw);
    return call(Fn, info);
  });
}

/// A property of the exports: `Fn(const Napi::CallbackInfo&)`.
template <auto Fn>
void export_function(Napi::Env env, Napi::Object exports, const char* name) {
  napi_value function;
  if (napi_create_function(env, name, NAPI_AUTO_LENGTH, function_entry<Fn>, nullptr, &function) != napi_ok) {
    throw Napi::Error::New(env);
  }
  exports.Set(name, Napi::Value(env, function));
}

// Classes
// -----------------------------------------------------------------------------------------------------------

/// The T behind `this`.
template <class T>
T& self(const Napi::CallbackInfo& info) {
  bool ours = false;
  void* object = nullptr;
  if (napi_check_object_type_tag(info.Env(), info.This(), &T::kTag, &ours) != napi_ok || !ours ||
      napi_unwrap(info.Env(), info.This(), &object) != napi_ok) {
    fail_type(info.Env(), std::string("this must be a native ") + T::kName);
  }
  return *static_cast<T*>(object);
}

template <class T, auto Fn>
napi_value method_entry(napi_env env, napi_callback_info raw) {
  return guarded(env, [&] {
    const Napi::CallbackInfo info(env, raw);
    return call(Fn, self<T>(info), info);
  });
}

/// A method `Fn(T&, const Napi::CallbackInfo&)`.
template <class T, auto Fn>
napi_property_descriptor method(const char* name) {
  return {name, nullptr, method_entry<T, Fn>, nullptr, nullptr, nullptr, napi_default_method, nullptr};
}

template <class T>
napi_value construct(napi_env raw_env, napi_callback_info raw) {
  return guarded(raw_env, [&]() -> napi_value {
    const Napi::CallbackInfo info(raw_env, raw);
    const Napi::Env env = info.Env();
    AddonData& data = *env.GetInstanceData<AddonData>();
    if (data.handed_over == nullptr) fail_type(env, std::string(T::kName) + " has no public constructor");
    std::unique_ptr<T> object(static_cast<T*>(std::exchange(data.handed_over, nullptr)));
    const auto finalize = [](napi_env, void* p, void*) { delete static_cast<T*>(p); };
    if (napi_type_tag_object(env, info.This(), &T::kTag) != napi_ok ||
        napi_wrap(env, info.This(), object.get(), finalize, nullptr, nullptr) != napi_ok) {
      throw Napi::Error::New(env);
    }
    object.release();
    return info.This();
  });
}

template <class T>
void define_class(Napi::Env env, std::initializer_list<napi_property_descriptor> methods) {
  const std::vector<napi_property_descriptor> list(methods);
  napi_value constructor;
  if (napi_define_class(env, T::kName, NAPI_AUTO_LENGTH, construct<T>, nullptr, list.size(), list.data(),
                        &constructor) != napi_ok) {
    throw Napi::Error::New(env);
  }
  env.GetInstanceData<AddonData>()->constructors[T::kName] =
      Napi::Persistent(Napi::Function(env, constructor));
}

/// A JavaScript object that owns `object`.
template <class T>
Napi::Value instantiate(Napi::Env env, std::unique_ptr<T> object) {
  AddonData& data = *env.GetInstanceData<AddonData>();
  data.handed_over = object.release();
  try {
    return data.constructors.at(T::kName).New({});
  } catch (...) {
    delete static_cast<T*>(std::exchange(data.handed_over, nullptr));
    throw;
  }
}

}  // namespace kvidx::binding
