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

void hash_locals(const Napi::CallbackInfo& info) {
  const ExtraKeys extra = extra_keys(info[2]);  // first: reading an object's members may run a program's code
  const auto tokens = input<Token>(info[0], "tokens");
  const uint32_t size = block_size(info[1]);
  local_hashes(tokens, size, extra, output<LocalHash>(info[3], tokens.size() / size, "out"));
}

void hash_seqs(const Napi::CallbackInfo& info) {
  const ExtraKeys extra = extra_keys(info[3]);
  const auto tokens = input<Token>(info[0], "tokens");
  const uint32_t size = block_size(info[1]);
  const SeqHash parent{u64(info[2], "parent")};
  seq_hashes(tokens, size, parent, extra, output<SeqHash>(info[4], tokens.size() / size, "out"));
}

void hash_chain(const Napi::CallbackInfo& info) {
  const auto locals = input<LocalHash>(info[0], "locals");
  const SeqHash parent{u64(info[1], "parent")};
  chain_hashes(locals, parent, output<SeqHash>(info[2], locals.size(), "out"));
}

}  // namespace

void init_hash(Napi::Env env, Napi::Object exports) {
  export_function<xxh64_of_bytes>(env, exports, "xxh64");
  export_function<hash_locals>(env, exports, "localHashes");
  export_function<hash_seqs>(env, exports, "seqHashes");
  export_function<hash_chain>(env, exports, "chainHashes");
}

}  // namespace kvidx::binding
