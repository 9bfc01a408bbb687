#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "binding/event_memory.hpp"
#include "binding/index_object.hpp"
#include "core/engine_names.hpp"

namespace kvidx::binding {
namespace {

using Info = const Napi::CallbackInfo&;

/// Names, and the index that they speak of, which lives as long as they do.
class NamesObject {
 public:
  NamesObject(Napi::Env env, std::shared_ptr<IndexObject> index, bool counts_copies, uint64_t seed)
      : index_(std::move(index)), memory_(env), names_(counts_copies, seed) {}

  /// Both fail when the index is closed.
  Index& index(Info info) { return index_->open(info.Env()); }
  EngineNames& names(Info info) {
    (void)index(info);
    memory_.tell(names_.reserved_bytes());
    return names_;
  }

 private:
  std::shared_ptr<IndexObject> index_;
  ToldMemory memory_;
  EngineNames names_;
};

/// APPLIED of the seam.
void write_applied(const EngineResult& result, EventHead& head) {
  const uint64_t counts[] = {result.stored,   result.duplicate, result.orphaned,
                             result.rejected, result.evicted,   result.unresolved,
                             result.removed,  result.unknown,   result.cleared};
  static_assert(std::size(counts) == std::extent_v<decltype(head.applied)>);
  std::transform(std::begin(counts), std::end(counts), head.applied,
                 [](uint64_t n) { return static_cast<int32_t>(std::min<uint64_t>(n, INT32_MAX)); });
}

Napi::Value apply(NamesObject& self, Info info) {
  const Napi::Env env = info.Env();
  // First, since reading an object's members may run a program's code.
  const ExtraKeys extra = extra_keys(info[1]);
  const EventMemory memory = event_memory(info[0]);
  EventHead& head = *memory.head;
  if (head.first < 0 || head.end < 0 || head.block_size < 1 || head.block_size > int32_t{kMaxBlockSize})
    fail_range(env, "first, end and blockSize must be in range");
  EngineCall call{memory.columns,
                  static_cast<size_t>(head.first),
                  static_cast<size_t>(head.end),
                  {},
                  SeqHash{head.root},
                  static_cast<uint32_t>(head.block_size),
                  extra,
                  head.now_ms};
  for (size_t tier = 0; tier < kTiers; ++tier)
    call.slots[tier] = {head.slots[2 * tier], head.slots[2 * tier + 1]};
  if (const std::string why = misfit(call); !why.empty()) fail_range(env, why);

  EngineResult result;
  const Status status = self.names(info).apply(self.index(info), call, result);
  if (status == Status::kOtherMode) fail_range(env, "slots must have no capacity");
  write_applied(result, head);
  return Napi::Number::New(env, static_cast<double>(status));
}

Napi::Value size(NamesObject& self, Info info) {
  return Napi::Number::New(info.Env(), static_cast<double>(self.names(info).size()));
}

Napi::Value used_bytes(NamesObject& self, Info info) {
  return Napi::Number::New(info.Env(), static_cast<double>(self.names(info).used_bytes()));
}

Napi::Value entries(NamesObject& self, Info info) {
  const std::vector<NameTable::Entry> all = self.names(info).entries();
  std::vector<uint64_t> names;
  std::vector<SeqHash> seqs;
  std::vector<uint16_t> copies;
  names.reserve(all.size());
  seqs.reserve(all.size());
  copies.reserve(all.size() * kTiers);
  for (const NameTable::Entry& entry : all) {
    names.push_back(entry.name);
    seqs.push_back(entry.seq);
    copies.insert(copies.end(), entry.copies.begin(), entry.copies.end());
  }
  Napi::Object object = Napi::Object::New(info.Env());
  object.Set("names", copy_out<uint64_t>(info.Env(), names));
  object.Set("seqs", copy_out<SeqHash>(info.Env(), seqs));
  object.Set("copies", copy_out<uint16_t>(info.Env(), copies));
  return object;
}

void load(NamesObject& self, Info info) {
  const Napi::Env env = info.Env();
  if (!info[0].IsObject()) fail_type(env, "entries must be an object with names, seqs and copies");
  const Napi::Object object = info[0].As<Napi::Object>();
  const Napi::Value members[] = {object.Get("names"), object.Get("seqs"), object.Get("copies")};
  const auto names = input<uint64_t>(members[0], "entries.names");
  const auto seqs = input<SeqHash>(members[1], "entries.seqs");
  const auto copies = input<uint16_t>(members[2], "entries.copies");
  if (seqs.size() != names.size() || copies.size() != names.size() * kTiers)
    fail_length(env, "entries.seqs must be as long as names, and copies 4 times as long");
  std::vector<NameTable::Entry> all(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    all[i] = {names[i], seqs[i], {}};
    std::copy_n(copies.begin() + static_cast<std::ptrdiff_t>(i * kTiers), kTiers, all[i].copies.begin());
    if (i > 0 && names[i] <= names[i - 1]) fail_range(env, "entries.names must rise");
    if (all[i].copies == decltype(all[i].copies){}) fail_range(env, "each of entries.names must have a copy");
  }
  self.names(info).load(all);
}

uint64_t nobodys_guess() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

}  // namespace

Napi::Value create_engine_names(IndexObject& self, const Napi::CallbackInfo& info) {
  (void)self.open(info.Env());
  const bool counts_copies = boolean(info[0], "countsCopies");
  auto object =
      std::make_shared<NamesObject>(info.Env(), self.shared_from_this(), counts_copies, nobodys_guess());
  return expose<NamesObject>(info.Env(), std::move(object),
                             {
                                 method<NamesObject, apply>("apply"),
                                 method<NamesObject, size>("size"),
                                 method<NamesObject, used_bytes>("usedBytes"),
                                 method<NamesObject, entries>("entries"),
                                 method<NamesObject, load>("load"),
                             });
}

}  // namespace kvidx::binding
