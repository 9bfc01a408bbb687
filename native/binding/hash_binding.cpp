#include <memory>
#include <vector>

#include "binding/entry.hpp"
#include "binding/init.hpp"
#include "core/block_hash.hpp"
#include "core/xxh64.hpp"

namespace kvidx::binding {
namespace {

Napi::Value xxh64_of_bytes(const Napi::CallbackInfo& info) {
  const auto bytes = input<uint8_t>(info[0], "bytes");
  return bigint(info.Env(), xxh64(bytes.data(), bytes.size(), u64(info[1], "seed")));
}

using Info = const Napi::CallbackInfo&;

void hash_locals(const HashKernel& kernel, Info info) {
  const ExtraKeys extra = extra_keys(info[2]);  // first: reading an object's members may run a program's code
  const auto tokens = input<Token>(info[0], "tokens");
  const uint32_t size = block_size(info[1]);
  local_hashes(tokens, size, extra, output<LocalHash>(info[3], tokens.size() / size, "out"), kernel);
}

void hash_seqs(const HashKernel& kernel, Info info) {
  const ExtraKeys extra = extra_keys(info[3]);
  const auto tokens = input<Token>(info[0], "tokens");
  const uint32_t size = block_size(info[1]);
  const SeqHash parent{u64(info[2], "parent")};
  seq_hashes(tokens, size, parent, extra, output<SeqHash>(info[4], tokens.size() / size, "out"), kernel);
}

void hash_seqs_of_many(const HashKernel& kernel, Info info) {
  const std::vector<Napi::Value> tokens = elements(info[0], "prompts");
  const std::vector<Napi::Value> outs = elements(info[4], "outs", tokens.size());
  std::vector<ExtraKeysValue> extras;
  if (!is_absent(info[3])) {
    for (const Napi::Value& extra : elements(info[3], "extras", tokens.size())) extras.emplace_back(extra);
  }
  const uint32_t size = block_size(info[1]);
  const auto parents = input<SeqHash>(info[2], "parents");
  if (parents.size() != tokens.size())
    fail_length(info.Env(), "parents and prompts must have the same length");
  std::vector<Prompt> prompts(tokens.size());
  for (size_t i = 0; i < prompts.size(); ++i) {
    Prompt& prompt = prompts[i];
    prompt.tokens = input<Token>(tokens[i], "a prompt");
    prompt.parent = parents[i];
    if (!extras.empty()) prompt.extra = extras[i].spans();
    prompt.out = output<SeqHash>(outs[i], prompt.tokens.size() / size, "the out of a prompt");
  }
  seq_hashes_of_many(prompts, size, kernel);
}

/// The same with the kernel in use.
template <void (*hash)(const HashKernel&, Info)>
void fastest(Info info) {
  hash(hash_kernels().back(), info);
}

void hash_chain(const Napi::CallbackInfo& info) {
  const auto locals = input<LocalHash>(info[0], "locals");
  const SeqHash parent{u64(info[1], "parent")};
  chain_hashes(locals, parent, output<SeqHash>(info[2], locals.size(), "out"));
}

Napi::Value hash_paths(Napi::Env env) {
  Napi::Array paths = Napi::Array::New(env);
  for (const HashKernel& kernel : hash_kernels()) {
    Napi::Object path = expose(env, std::make_shared<const HashKernel>(kernel),
                               {
                                   method<const HashKernel, hash_locals>("localHashes"),
                                   method<const HashKernel, hash_seqs>("seqHashes"),
                                   method<const HashKernel, hash_seqs_of_many>("seqHashesMany"),
                               })
                            .As<Napi::Object>();
    path.Set("isa", kernel.isa);
    paths.Set(paths.Length(), path);
  }
  return paths;
}

}  // namespace

void init_hash(Napi::Env env, Napi::Object exports) {
  exports.Set("hashPaths", hash_paths(env));
  export_function<xxh64_of_bytes>(env, exports, "xxh64");
  export_function<fastest<hash_locals>>(env, exports, "localHashes");
  export_function<fastest<hash_seqs>>(env, exports, "seqHashes");
  export_function<fastest<hash_seqs_of_many>>(env, exports, "seqHashesMany");
  export_function<hash_chain>(env, exports, "chainHashes");
}

}  // namespace kvidx::binding
