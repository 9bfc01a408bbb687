// Bounded slots, pins and max_blocks, as single cases; core_fuzz has the crowd of them.
#include <cstdio>

#include "test/feeding.hpp"

namespace {

using namespace kvidx;

void a_prompt_longer_than_the_capacity_keeps_its_head() {
  Index index;
  const SlotRef slot = bounded_slot(index, 3);
  const Path a = chain(1, 5), b = chain(2, 2);
  FeedResult r = store(index, slot, a);
  CHECK(r.applied == 3 && r.rejected == 2 && r.first_bad == 3 && r.evicted == 0 && r.duplicate == 0);
  CHECK(holds(index, slot, part(a, 0, 3)));
  r = store(index, slot, b);
  CHECK(r.applied == 2 && r.rejected == 0 && r.evicted == 2 && r.first_bad == -1);
  CHECK(holds(index, slot, joined(part(a, 0, 1), b)));
  CHECK(index.slot_figures(slot.slot).evicted_by_capacity == 2 && index.stats().evicted_by_capacity == 2);
  CHECK(index.stats().rejected == 2 && index.known_blocks() == 3);
}

void a_refreshed_path_outlives_a_later_one() {
  Index index;
  const SlotRef slot = bounded_slot(index, 4);
  const Path a = chain(1, 2), b = chain(2, 2), c = chain(3, 2);
  store(index, slot, a);
  store(index, slot, b);
  const FeedResult r = refresh(index, slot, joined(a, c));
  CHECK(r.applied == 2 && r.unknown == 2 && r.first_bad == 2);
  store(index, slot, c);
  CHECK(holds(index, slot, joined(a, c)));
}

void a_bounded_slot_takes_chains_from_the_root_alone() {
  Index index;
  const SlotRef slot = bounded_slot(index, 4);
  const Path a = chain(1, 2);
  FeedResult r;
  for (const Parent parent : {Parent::unknown(), Parent::of(SeqHash{7})}) {
    CHECK(index.store(slot, a, parent, 1, r) == Status::kParentOnBounded);
    CHECK(index.store(slot, {}, parent, 1, r) == Status::kParentOnBounded);
    CHECK(index.replace(slot, std::vector<ToldChain>{{a, parent}}, 1, r) == Status::kParentOnBounded);
    CHECK(index.replace(slot, std::vector<ToldChain>{{{}, parent}}, 1, r) == Status::kOk);
  }
  CHECK(index.known_blocks() == 0 && index.stats().rejected == 0);
}

void a_slot_has_one_mode() {
  Index index;
  FeedResult r;
  const SlotRef full = index.add_slot(), bounded = bounded_slot(index, 4), counted = counted_slot(index);
  store(index, full, chain(1, 1));
  CHECK(index.set_capacity(full, 4, 0, r) == Status::kNotEmpty);
  CHECK(index.count_references(full) == Status::kNotEmpty);
  CHECK(index.count_references(bounded) == Status::kOtherMode);
  CHECK(index.set_capacity(counted, 4, 0, r) == Status::kOtherMode);
  CHECK(index.count_references(counted) == Status::kOk);
  uint64_t removed = 0;
  CHECK(index.clear(full, removed) == Status::kOk && removed == 1);
  CHECK(index.set_capacity(full, 4, 0, r) == Status::kOk);
  CHECK(index.clear(full, removed) == Status::kOk);
  CHECK(index.slot_figures(full.slot).mode == SlotMode::kBounded);
  CHECK(index.remove_slot(full) == Status::kOk);
  CHECK(index.set_capacity(full, 4, 0, r) == Status::kUnknownWorker);
  CHECK(index.slot_figures(index.add_slot().slot).mode == SlotMode::kPlain);
}

void a_lower_capacity_evicts_at_once() {
  Index index(IndexOptions{.evicted_history = 3});
  const SlotRef slot = bounded_slot(index, 10);
  const Path a = chain(1, 10);
  store(index, slot, a);
  FeedResult r;
  CHECK(index.set_capacity(slot, 4, 0, r) == Status::kOk);
  CHECK(r.evicted == 6 && holds(index, slot, part(a, 0, 4)) && index.validate() == "");
  // The history is shorter than what went: the last three that went are those next to the head.
  CHECK(index.evicted_by(slot.slot, a[4]) == Cause::kCapacity);
  CHECK(index.evicted_by(slot.slot, a[6]) == Cause::kCapacity);
  CHECK(index.evicted_by(slot.slot, a[7]) == Cause::kNone);
  CHECK(index.evicted_by(slot.slot, a[0]) == Cause::kNone);
  CHECK(index.set_capacity(slot, 5, 0, r) == Status::kOk && r.evicted == 0);
  store(index, slot, part(a, 0, 5));
  CHECK(index.evicted_by(slot.slot, a[4]) == Cause::kNone);
}

void expired_blocks_count_until_they_are_expired() {
  Index index(IndexOptions{.evicted_history = 10});
  const SlotRef slot = bounded_slot(index, 10, 100);
  const SlotRef other = bounded_slot(index, 10);
  const Path a = chain(1, 3);
  store(index, slot, a, 0);
  store(index, other, a, 0);
  refresh(index, slot, part(a, 0, 1), 50);
  pin(index, slot, part(a, 1, 2));
  CHECK(index.expire(99.5) == 0);
  CHECK(index.expire(100) == 1);
  CHECK(holds(index, slot, part(a, 0, 2)) && holds(index, other, a));
  CHECK(index.evicted_by(slot.slot, a[2]) == Cause::kTtl);
  CHECK(index.expire(150) == 1);
  unpin(index, slot, part(a, 1, 2));
  CHECK(index.expire(150) == 1 && holds(index, slot, {}));
  CHECK(index.slot_figures(slot.slot).expired == 3 && index.stats().expired == 3);
  CHECK(index.validate() == "");
}

// Pins
// ------------------------------------------------------------------------------------------------------------

void a_pinned_path_survives() {
  Index index;
  const SlotRef slot = bounded_slot(index, 4);
  const Path a = chain(1, 2);
  store(index, slot, a);
  CHECK(pin(index, slot, a).applied == 2 && pin(index, slot, a).applied == 2);
  for (uint64_t salt = 2; salt < 30; ++salt) store(index, slot, chain(salt, 3));
  CHECK(holds(index, slot, joined(a, part(chain(29, 3), 0, 2))));
  CHECK(unpin(index, slot, a).applied == 2);
  CHECK(index.slot_figures(slot.slot).pinned == 2);
  store(index, slot, chain(30, 4));
  CHECK(holds(index, slot, joined(a, part(chain(30, 4), 0, 2))));
  CHECK(unpin(index, slot, a).applied == 2);
  const FeedResult r = unpin(index, slot, a);
  CHECK(r.applied == 0 && r.unknown == 2 && r.first_bad == 0);
  store(index, slot, chain(31, 4));
  CHECK(holds(index, slot, chain(31, 4)));
}

void where_all_is_pinned_new_blocks_are_rejected() {
  Index index(IndexOptions{.max_blocks = 5});
  const SlotRef slot = bounded_slot(index, 2);
  const SlotRef plain = index.add_slot();
  const Path a = chain(1, 2), b = chain(2, 3), c = chain(3, 3);
  store(index, slot, a);
  pin(index, slot, a);
  FeedResult r = store(index, slot, c);
  CHECK(r.applied == 0 && r.rejected == 3 && r.first_bad == 0 && r.evicted == 0 && holds(index, slot, a));
  CHECK(index.set_capacity(slot, 1, 0, r) == Status::kPinned);
  CHECK(index.slot_figures(slot.slot).capacity == 2);

  store(index, plain, b);
  pin(index, plain, b);
  CHECK(!index.slot_figures(plain.slot).degraded);
  r = store(index, plain, c);
  CHECK(r.applied == 0 && r.rejected == 3 && r.first_bad == 0 && r.evicted == 0 && holds(index, plain, b));
  CHECK(index.slot_figures(plain.slot).degraded && index.slot_figures(plain.slot).evicted_by_bound == 0);
  const uint32_t session = index.own(0, c, 1, r);
  CHECK(session == 1 && r.applied == 0 && r.rejected == 3 && r.first_bad == 0);
  CHECK(index.stats().sessions == 1 && index.known_blocks() == 5);
  CHECK(index.validate() == "");
}

void pins_go_with_their_blocks() {
  Index index;
  const SlotRef slot = index.add_slot();
  const Path a = chain(1, 4);
  const auto pinned = [&] { return index.slot_figures(slot.slot).pinned; };
  store(index, slot, a);
  FeedResult r = pin(index, slot, joined(a, {SeqHash{3}, a[0]}));
  CHECK(r.applied == 5 && r.unknown == 1 && r.first_bad == 4 && pinned() == 4);
  remove(index, slot, {a[1]});
  CHECK(pinned() == 3);
  store(index, slot, a);
  CHECK(pinned() == 3);
  replace(index, slot, {part(a, 0, 2)});
  CHECK(pinned() == 1 && unpin(index, slot, {a[0], a[0], a[0]}).applied == 2);
  pin(index, slot, {a[1]});
  uint64_t removed = 0;
  CHECK(index.clear(slot, removed) == Status::kOk && removed == 2 && pinned() == 0);
  CHECK(index.validate() == "");
}

// max_blocks
// -----------------------------------------------------------------------------------------------------

void max_blocks_bounds_fifty_slots_together() {
  constexpr uint32_t kSlots = 50;
  constexpr uint64_t kMost = 60;
  Index index(IndexOptions{.max_blocks = kMost, .evicted_history = 1000});
  std::vector<SlotRef> slots;
  for (uint32_t i = 0; i < kSlots; ++i) {
    slots.push_back(i % 2 == 0 ? index.add_slot() : bounded_slot(index, 20));
  }
  const Path shared = chain(1, 10);
  for (uint32_t i = 0; i < kSlots; ++i) {
    const FeedResult r = store(index, slots[i], joined(shared, chain(2 + i, 10)));
    CHECK(r.applied == 20 && r.rejected == 0);
    CHECK(index.known_blocks() <= kMost);
  }
  // Every store names the shared head, which stays; of the tails those of the last five slots do.
  for (uint32_t i = 0; i < kSlots; ++i) {
    const SlotFigures f = index.slot_figures(slots[i].slot);
    const bool lost = i < kSlots - 5;
    CHECK(f.resident == (lost ? 10 : 20) && f.evicted_by_bound == (lost ? 10 : 0));
    CHECK(f.degraded == (lost && i % 2 == 0));
    CHECK(index.evicted_by(slots[i].slot, chain(2 + i, 10)[9]) == (lost ? Cause::kBound : Cause::kNone));
  }
  CHECK(index.stats().evicted_by_bound == 450 && index.stats().blocks == kMost);

  // One more call as long as the bound takes the head from all of them.
  const Path all = chain(100, kMost);
  FeedResult r;
  const uint32_t session = index.own(0, all, 1, r);
  CHECK(r.applied == kMost && r.evicted == kMost && session == 1);
  for (const SlotRef slot : slots) CHECK(index.slot_figures(slot.slot).resident == 0);
  CHECK(index.validate() == "");
  r = store(index, slots[0], joined(all, chain(101, 5)));
  CHECK(r.applied == kMost && r.rejected == 5 && r.first_bad == kMost);
}

// A store behind a parent names the tail alone: the head is older and goes first, from its owner too.
void a_head_may_go_before_its_tail() {
  Index index(IndexOptions{.max_blocks = 6});
  const SlotRef slot = index.add_slot();
  const Path a = chain(1, 6);
  FeedResult r;
  const uint32_t session = index.own(0, a, 1, r);
  store(index, slot, part(a, 0, 3));
  CHECK(index.store(slot, part(a, 3, 6), Parent::of(a[2]), 1, r) == Status::kOk);
  CHECK(r.applied == 3 && r.orphaned == 0 && index.validate() == "");
  store(index, slot, chain(2, 3));
  CHECK(holds(index, slot, joined(part(a, 3, 6), chain(2, 3))));
  CHECK(index.stats().orphans == 1 && index.slot_figures(slot.slot).degraded);
  std::vector<uint32_t> out(1);
  index.exclusive_overlap(session, a, Mode::kSet, 1, out);
  CHECK(out[0] == 3);
  CHECK(index.own(session, part(a, 0, 2), 1, r) == session);
  CHECK(r.applied == 2 && r.evicted == 2 && index.validate() == "");
  CHECK(holds(index, slot, joined({a[3]}, chain(2, 3))));
  CHECK(index.end_session(session) == 3 && index.validate() == "");
}

// The session has lost the head of its prompt. When it comes back with more, pins leave room for six blocks.
void a_call_may_evict_what_it_names() {
  Index index(IndexOptions{.max_blocks = 8});
  const SlotRef slot = index.add_slot();
  const Path a = chain(1, 12), pinned = chain(2, 2);
  FeedResult r;
  const uint32_t session = index.own(0, part(a, 0, 8), 1, r);
  CHECK(index.store(slot, part(a, 3, 9), Parent::of(a[2]), 1, r) == Status::kOk && r.evicted == 1);
  CHECK(store(index, slot, pinned).evicted == 2);
  pin(index, slot, pinned);
  CHECK(holds(index, slot, joined(part(a, 3, 9), pinned)));
  CHECK(index.own(session, a, 1, r) == session);
  CHECK(r.applied == 3 && r.duplicate == 5 && r.evicted == 2 && r.rejected == 4 && r.first_bad == 8);
  CHECK(holds(index, slot, joined(part(a, 3, 6), pinned)) && index.known_blocks() == 8);
  CHECK(index.slot_figures(slot.slot).evicted_by_bound == 3 && index.stats().evicted_by_bound == 5);
  CHECK(index.validate() == "" && index.end_session(session) == 6);
}

}  // namespace

int main() {
  a_prompt_longer_than_the_capacity_keeps_its_head();
  a_refreshed_path_outlives_a_later_one();
  a_bounded_slot_takes_chains_from_the_root_alone();
  a_slot_has_one_mode();
  a_lower_capacity_evicts_at_once();
  expired_blocks_count_until_they_are_expired();
  a_pinned_path_survives();
  where_all_is_pinned_new_blocks_are_rejected();
  pins_go_with_their_blocks();
  max_blocks_bounds_fifty_slots_together();
  a_head_may_go_before_its_tail();
  a_call_may_evict_what_it_names();
  std::printf("bounds_test: passed\n");
}
