#include <memory>
#include <utility>

#include "binding/index_object.hpp"
#include "binding/init.hpp"
#include "core/block_hash.hpp"

namespace kvidx::binding {
namespace {

using Info = const Napi::CallbackInfo&;

Index& open(IndexObject& self, Info info) {
  return self.open(info.Env());
}

SlotRef slot_ref(Info info) {
  return {integer(info[0], "slot"), integer(info[1], "incarnation")};
}

/// A slot that a query may name: its outputs have slot_count() places.
uint32_t live_slot(const Index& index, Info info) {
  const uint32_t slot = integer(info[0], "slot");
  if (slot >= index.slot_count()) fail_range(info.Env(), "slot must be below slotCount()");
  return slot;
}

Mode mode(Napi::Value value) {
  return integer(value, "mode", 0, 1) == 0 ? Mode::kPrefix : Mode::kSet;
}

Parent parent(Napi::Value value) {
  if (is_absent(value)) return Parent::root();
  if (value.IsNull()) return Parent::unknown();
  return Parent::of(SeqHash{u64(value, "parent")});
}

constexpr size_t kResultLength = 8;    // RESULT_LENGTH and RESULT of the seam
constexpr size_t kFiguresLength = 10;  // SLOT_FIGURES_LENGTH and SLOT_FIGURE

std::span<double> result_array(Napi::Value value) {
  return output<double>(value, kResultLength, "result");
}

void write_result(const FeedResult& result, std::span<double> out) {
  out[0] = static_cast<double>(result.applied);
  out[1] = static_cast<double>(result.duplicate);
  out[2] = static_cast<double>(result.unknown);
  out[3] = static_cast<double>(result.orphaned);
  out[4] = static_cast<double>(result.rejected);
  out[5] = static_cast<double>(result.first_bad);
  out[6] = static_cast<double>(result.ended_session);
  out[7] = static_cast<double>(result.evicted);
}

/// STATUS of the seam.
Napi::Value status_number(Napi::Env env, Status status) {
  return Napi::Number::New(env, static_cast<double>(status));
}

/// A call on one slot's blocks that is refused only when the slot's life is over.
using NamingCall = Status (Index::*)(SlotRef, SeqSpan, FeedResult&);
template <NamingCall kCall>
Napi::Value name_blocks(IndexObject& self, Info info) {
  const auto seq = input<SeqHash>(info[2], "seq");
  const auto out = result_array(info[3]);
  FeedResult result;
  const Status status = (open(self, info).*kCall)(slot_ref(info), seq, result);
  write_result(result, out);
  return Napi::Boolean::New(info.Env(), status == Status::kOk);
}

Napi::Value count(Napi::Env env, uint64_t n) {
  return Napi::Number::New(env, static_cast<double>(n));
}

// Slots

Napi::Value slot_count(IndexObject& self, Info info) {
  return count(info.Env(), open(self, info).slot_count());
}

Napi::Value add_slot(IndexObject& self, Info info) {
  return count(info.Env(), open(self, info).add_slot().slot);
}

Napi::Value incarnation(IndexObject& self, Info info) {
  const Index& index = open(self, info);
  return count(info.Env(), index.incarnation(live_slot(index, info)));
}

Napi::Value remove_slot(IndexObject& self, Info info) {
  return Napi::Boolean::New(info.Env(), open(self, info).remove_slot(slot_ref(info)) == Status::kOk);
}

Napi::Value slot_numbers(IndexObject& self, Info info) {
  const auto numbers = open(self, info).slot_numbers();
  return copy_out<uint32_t>(info.Env(), numbers);
}

Napi::Value set_capacity(IndexObject& self, Info info) {
  const uint32_t blocks = integer(info[2], "blocks", 1);
  const auto out = result_array(info[4]);
  FeedResult result;
  const Status status =
      open(self, info).set_capacity(slot_ref(info), blocks, number(info[3], "ttlMs"), result);
  write_result(result, out);
  return status_number(info.Env(), status);
}

Napi::Value count_references(IndexObject& self, Info info) {
  return status_number(info.Env(), open(self, info).count_references(slot_ref(info)));
}

void slot_figures(IndexObject& self, Info info) {
  const Index& index = open(self, info);
  const SlotFigures f = index.slot_figures(live_slot(index, info));
  const auto out = output<double>(info[1], kFiguresLength, "out");
  out[0] = static_cast<double>(f.mode);
  out[1] = f.capacity;
  out[2] = f.ttl_ms;
  out[3] = static_cast<double>(f.resident);
  out[4] = f.last_store_ms;
  out[5] = static_cast<double>(f.pinned);
  out[6] = static_cast<double>(f.evicted_by_capacity);
  out[7] = static_cast<double>(f.evicted_by_bound);
  out[8] = static_cast<double>(f.expired);
  out[9] = f.degraded ? 1 : 0;
}

// Residency

Napi::Value store(IndexObject& self, Info info) {
  const auto seq = input<SeqHash>(info[2], "seq");
  const auto out = result_array(info[5]);
  FeedResult result;
  const Status status =
      open(self, info).store(slot_ref(info), seq, parent(info[3]), number(info[4], "nowMs"), result);
  write_result(result, out);
  return status_number(info.Env(), status);
}

Napi::Value refresh(IndexObject& self, Info info) {
  const auto seq = input<SeqHash>(info[2], "seq");
  const auto out = result_array(info[4]);
  FeedResult result;
  const Status status = open(self, info).refresh(slot_ref(info), seq, number(info[3], "nowMs"), result);
  write_result(result, out);
  return Napi::Boolean::New(info.Env(), status == Status::kOk);
}

Napi::Value replace(IndexObject& self, Info info) {
  const auto seq = input<SeqHash>(info[2], "seq");
  const auto lengths = input<uint32_t>(info[3], "lengths");
  const auto kinds = input<uint8_t>(info[4], "kinds");
  const auto parents = input<SeqHash>(info[5], "parents");
  const auto out = result_array(info[7]);
  if (kinds.size() != lengths.size() || parents.size() != lengths.size())
    fail_range(info.Env(), "lengths, kinds and parents must be equally long");
  std::vector<ToldChain> chains;
  uint64_t from = 0;
  for (size_t k = 0; k < lengths.size(); ++k) {
    if (kinds[k] > static_cast<uint8_t>(PredKind::kUnknown))
      fail_range(info.Env(), "kinds must be of PARENT");
    if (lengths[k] > seq.size() - from) fail_range(info.Env(), "lengths must add up to the length of seq");
    const auto kind = static_cast<PredKind>(kinds[k]);
    chains.push_back(
        {seq.subspan(from, lengths[k]), {kind, kind == PredKind::kHash ? parents[k] : SeqHash{}}});
    from += lengths[k];
  }
  if (from != seq.size()) fail_range(info.Env(), "lengths must add up to the length of seq");
  FeedResult result;
  const Status status = open(self, info).replace(slot_ref(info), chains, number(info[6], "nowMs"), result);
  write_result(result, out);
  return status_number(info.Env(), status);
}

Napi::Value expire(IndexObject& self, Info info) {
  return count(info.Env(), open(self, info).expire(number(info[0], "nowMs")));
}

Napi::Value clear(IndexObject& self, Info info) {
  uint64_t removed = 0;
  const Status status = open(self, info).clear(slot_ref(info), removed);
  return status == Status::kOk ? count(info.Env(), removed) : Napi::Number::New(info.Env(), -1);
}

// Ownership

Napi::Value own(IndexObject& self, Info info) {
  const auto seq = input<SeqHash>(info[1], "seq");
  const auto out = result_array(info[3]);
  FeedResult result;
  const uint32_t session =
      open(self, info).own(integer(info[0], "session"), seq, number(info[2], "nowMs"), result);
  write_result(result, out);
  return count(info.Env(), session);
}

Napi::Value end_session(IndexObject& self, Info info) {
  return count(info.Env(), open(self, info).end_session(integer(info[0], "session")));
}

Napi::Value end_idle_sessions(IndexObject& self, Info info) {
  const auto ended = open(self, info).end_idle_sessions(number(info[0], "cutoffMs"));
  return copy_out<uint32_t>(info.Env(), ended);
}

Napi::Value session_numbers(IndexObject& self, Info info) {
  const auto numbers = open(self, info).session_numbers();
  return copy_out<uint32_t>(info.Env(), numbers);
}

// Queries

void overlap(IndexObject& self, Info info) {
  const Index& index = open(self, info);
  const auto seq = input<SeqHash>(info[0], "seq");
  index.overlap(seq, mode(info[1]), output<uint32_t>(info[2], index.slot_count(), "out"));
}

void overlap_many(IndexObject& self, Info info) {
  InputList<SeqHash> requests = std::exchange(self.requests(), {});
  requests.read(info[0], "requests");
  const Index& index = open(self, info);
  index.overlap_many(requests.spans, mode(info[1]),
                     output<uint32_t>(info[2], requests.spans.size() * index.slot_count(), "out"));
  self.requests() = std::move(requests);
}

void exclusive_overlap(IndexObject& self, Info info) {
  const Index& index = open(self, info);
  const auto seq = input<SeqHash>(info[1], "seq");
  index.exclusive_overlap(integer(info[0], "session"), seq, mode(info[2]), integer(info[3], "maxOwners", 1),
                          output<uint32_t>(info[4], index.slot_count(), "out"));
}

void fair_overlap(IndexObject& self, Info info) {
  const Index& index = open(self, info);
  const auto seq = input<SeqHash>(info[0], "seq");
  index.fair_overlap(seq, output<double>(info[1], index.slot_count(), "out"));
}

/// How many leading hashes of seq to look at, several times.
std::span<const uint32_t> lengths_within(Napi::Value value, SeqSpan seq) {
  const auto lengths = input<uint32_t>(value, "lengths");
  for (const uint32_t length : lengths) {
    if (length > seq.size()) fail_range(value.Env(), "lengths must not be above the length of seq");
  }
  return lengths;
}

void exclusive_within(IndexObject& self, Info info) {
  const Index& index = open(self, info);
  const auto seq = input<SeqHash>(info[1], "seq");
  const auto lengths = lengths_within(info[3], seq);
  index.exclusive_within(integer(info[0], "session"), seq, integer(info[2], "maxOwners", 1), lengths,
                         output<uint32_t>(info[4], lengths.size(), "out"));
}

void fair_within(IndexObject& self, Info info) {
  const Index& index = open(self, info);
  const auto seq = input<SeqHash>(info[0], "seq");
  const auto lengths = lengths_within(info[1], seq);
  index.fair_within(seq, lengths, output<double>(info[2], lengths.size(), "out"));
}

void lookup_tokens(IndexObject& self, const Arguments& info) {
  const ExtraKeys extra =
      extra_keys(info[3]);  // first, since reading an object's members may run a program's code
  const Index& index = self.open(info.Env());
  const auto tokens = input<Token>(info[0], "tokens");
  const uint32_t size = block_size(info[1]);
  const auto seq = output<SeqHash>(info[6], tokens.size() / size, "seqOut");
  const auto resident = output<uint32_t>(info[7], index.slot_count(), "overlapOut");
  const auto exclusive = optional_output<uint32_t>(info[8], index.slot_count(), "exclusiveOut");
  const auto fair = optional_output<double>(info[9], index.slot_count(), "fairOut");
  const uint32_t session = integer(info[4], "session");
  const uint32_t max_owners = integer(info[5], "maxOwners", 1);

  seq_hashes(tokens, size, SeqHash{u64(info[2], "root")}, extra, seq);
  // Hashes chained here: equal ones stand behind equal chains.
  index.overlap(seq, Mode::kPrefix, resident, Equal::kLast);
  if (exclusive) {
    index.exclusive_overlap(session, seq, Mode::kPrefix, max_owners, *exclusive, Equal::kLast);
  }
  if (fair) index.fair_overlap(seq, *fair, Equal::kLast);
}

Napi::Value contains(IndexObject& self, Info info) {
  return Napi::Boolean::New(info.Env(), open(self, info).contains(SeqHash{u64(info[0], "hash")}));
}

Napi::Value enumerate(IndexObject& self, Info info) {
  const Index& index = open(self, info);
  const auto hashes = index.enumerate(live_slot(index, info), boolean(info[1], "sorted"));
  return copy_out<SeqHash>(info.Env(), hashes);
}

Napi::Value enumerate_exclusive(IndexObject& self, Info info) {
  const Index& index = open(self, info);
  const auto hashes = index.enumerate_exclusive(live_slot(index, info), integer(info[1], "session"));
  return copy_out<SeqHash>(info.Env(), hashes);
}

Napi::Value evicted_by(IndexObject& self, Info info) {
  const Index& index = open(self, info);
  const Cause cause = index.evicted_by(live_slot(index, info), SeqHash{u64(info[1], "hash")});
  return Napi::Number::New(info.Env(), static_cast<double>(cause));
}

Napi::Value stats(IndexObject& self, Info info) {
  const IndexStats s = open(self, info).stats();
  const std::pair<const char*, uint64_t> figures[] = {
      {"blocks", s.blocks},
      {"runs", s.runs},
      {"runHolders", s.run_holders},
      {"slots", s.slots},
      {"sessions", s.sessions},
      {"usedBytes", s.used_bytes},
      {"reservedBytes", s.reserved_bytes},
      {"ownershipBytes", s.ownership_bytes},
      {"duplicates", s.duplicates},
      {"unknownRemoves", s.unknown_removes},
      {"rejected", s.rejected},
      {"orphans", s.orphans},
      {"evictedByCapacity", s.evicted_by_capacity},
      {"evictedByBound", s.evicted_by_bound},
      {"expired", s.expired},
  };
  Napi::Object object = Napi::Object::New(info.Env());
  for (const auto& [name, value] : figures) object.Set(name, count(info.Env(), value));
  return object;
}

// The whole index

Napi::Value snapshot(IndexObject& self, Info info) {
  const Index& index = open(self, info);
  return fill_out<uint8_t>(info.Env(), index.snapshot_bytes(),
                           [&index](std::span<uint8_t> bytes) { index.snapshot(bytes); });
}

Napi::Value restore(IndexObject& self, Info info) {
  return Napi::String::New(info.Env(), open(self, info).restore(input<uint8_t>(info[0], "bytes")));
}

void compact(IndexObject& self, Info info) {
  open(self, info).compact();
}

Napi::Value validate(IndexObject& self, Info info) {
  return Napi::String::New(info.Env(), open(self, info).validate());
}

Napi::Value dump(IndexObject& self, Info info) {
  return Napi::String::New(info.Env(), open(self, info).dump());
}

void close(IndexObject& self, Info) {
  self.close();
}

Napi::Value create_index(Info info) {
  if (!info[0].IsObject()) fail_type(info.Env(), "options must be an object");
  const auto option = [given = info[0].As<Napi::Object>()](const char* name) {
    return integer(given.Get(name), name);
  };
  const IndexOptions options{option("maxSessions"), option("maxBlocks"), option("evictedHistory")};
  auto object = std::make_shared<IndexObject>(info.Env(), options);
  return expose<IndexObject>(info.Env(), std::move(object),
                             {
                                 method<IndexObject, slot_count>("slotCount"),
                                 method<IndexObject, add_slot>("addSlot"),
                                 method<IndexObject, incarnation>("incarnation"),
                                 method<IndexObject, remove_slot>("removeSlot"),
                                 method<IndexObject, slot_numbers>("slotNumbers"),
                                 method<IndexObject, set_capacity>("setCapacity"),
                                 method<IndexObject, count_references>("countReferences"),
                                 method<IndexObject, slot_figures>("slotFigures"),
                                 method<IndexObject, store>("store"),
                                 method<IndexObject, refresh>("refresh"),
                                 method<IndexObject, replace>("replace"),
                                 method<IndexObject, name_blocks<&Index::pin>>("pin"),
                                 method<IndexObject, name_blocks<&Index::unpin>>("unpin"),
                                 method<IndexObject, expire>("expire"),
                                 method<IndexObject, name_blocks<&Index::remove>>("remove"),
                                 method<IndexObject, clear>("clear"),
                                 method<IndexObject, own>("own"),
                                 method<IndexObject, end_session>("endSession"),
                                 method<IndexObject, end_idle_sessions>("endIdleSessions"),
                                 method<IndexObject, session_numbers>("sessionNumbers"),
                                 method<IndexObject, overlap>("overlap"),
                                 method<IndexObject, overlap_many>("overlapMany"),
                                 method<IndexObject, exclusive_overlap>("exclusiveOverlap"),
                                 method<IndexObject, fair_overlap>("fairOverlap"),
                                 method<IndexObject, exclusive_within>("exclusiveWithin"),
                                 method<IndexObject, fair_within>("fairWithin"),
                                 method<IndexObject, lookup_tokens>("lookupTokens"),
                                 method<IndexObject, contains>("contains"),
                                 method<IndexObject, enumerate>("enumerate"),
                                 method<IndexObject, enumerate_exclusive>("enumerateExclusive"),
                                 method<IndexObject, evicted_by>("evictedBy"),
                                 method<IndexObject, stats>("stats"),
                                 method<IndexObject, create_engine_names>("createEngineNames"),
                                 method<IndexObject, snapshot>("snapshot"),
                                 method<IndexObject, restore>("restore"),
                                 method<IndexObject, compact>("compact"),
                                 method<IndexObject, validate>("validate"),
                                 method<IndexObject, dump>("dump"),
                                 method<IndexObject, close>("close"),
                             });
}

}  // namespace

void init_index(Napi::Env env, Napi::Object exports) {
  export_function<create_index>(env, exports, "createIndex");
}

}  // namespace kvidx::binding
