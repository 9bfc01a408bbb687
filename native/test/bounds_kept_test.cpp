// What splits, merges, compact() and snapshots keep of stamps, pins, copies and figures.
#include <cstdio>

#include "test/feeding.hpp"

namespace {

using namespace kvidx;

void stamps_pins_and_counts_survive_splits_and_merges() {
  constexpr uint32_t kLong = 200;
  const Path a = chain(1, kLong);
  for (const bool keeps_block : {false, true}) {
    Index index(IndexOptions{.max_blocks = 5000});
    const SlotRef bounded = bounded_slot(index, kLong), counted = counted_slot(index);
    if (keeps_block) store(index, index.add_slot(), a);  // holes, then, instead of splits
    store(index, bounded, a);
    for (int n = 0; n < 3; ++n) store(index, counted, part(a, 0, kLong - 50u * static_cast<uint32_t>(n)));
    refresh(index, bounded, part(a, 0, 20));
    pin(index, bounded, part(a, 150, kLong));
    pin(index, counted, {a[0], a[120], a[120]});
    for (const size_t hole : {100u, 10u, 170u, 101u, 0u, 199u}) {
      remove(index, bounded, {a[hole]});
      for (int n = 0; n < 3; ++n) remove(index, counted, {a[hole]});
    }
    CHECK(index.slot_figures(bounded.slot).pinned == 48 && index.slot_figures(counted.slot).pinned == 1);
    CHECK(index.slot_figures(bounded.slot).resident == kLong - 6);
    CHECK(remove(index, counted, {a[99], a[99], a[99], a[99]}).applied == 3);
    CHECK(remove(index, counted, {a[149], a[149], a[149]}).applied == 2);
    CHECK(unpin(index, counted, {a[120], a[120], a[120]}).applied == 2);
    store(index, counted, a);
    CHECK(remove(index, counted, {a[98], a[98], a[98], a[98]}).applied == 4);
    CHECK(remove(index, counted, {a[0], a[0]}).applied == 1);
    // Refilled; what only the first store named is the oldest, its tail first, and the pinned tail stays.
    store(index, bounded, part(a, 0, 120));
    CHECK(index.slot_figures(bounded.slot).resident == kLong - 2);
    const FeedResult r = store(index, bounded, chain(2, 32));
    CHECK(r.evicted == 30 && r.applied == 32);
    const Path pinned = joined(part(a, 150, 170), part(a, 171, 199));
    CHECK(holds(index, bounded, joined(joined(part(a, 0, 120), pinned), chain(2, 32))));
    index.compact();
    CHECK(index.validate() == "");
  }
}

// Whole index
// -----------------------------------------------------------------------------------------------------

/// An index with all of it, and what is asked of it afterwards.
struct Zoo {
  Index index{IndexOptions{.max_blocks = 1000, .evicted_history = 100}};
  SlotRef bounded = bounded_slot(index, 10, 50), counted = counted_slot(index), plain = index.add_slot();
  Path a = chain(1, 8), b = chain(2, 8), c = chain(3, 985);
  uint32_t session = 0;

  Zoo() {
    FeedResult r;
    store(index, bounded, a, 10);
    store(index, bounded, b, 20);
    refresh(index, bounded, {a[1], a[0]}, 30);
    store(index, counted, a);
    store(index, counted, part(a, 0, 3));
    store(index, counted, joined(a, chain(4, 5)));
    store(index, plain, part(c, 0, 20));
    pin(index, bounded, b);
    session = index.own(0, c, 5, r);
    CHECK(r.evicted == 6 && index.slot_figures(counted.slot).degraded);
    CHECK(holds(index, bounded, joined(part(a, 0, 2), b)) && holds(index, counted, part(a, 0, 7)));
  }
};

void check_same_figures(const Index& index, const Index& other, bool pins) {
  CHECK(index.slot_numbers() == other.slot_numbers());
  for (const uint32_t slot : index.slot_numbers()) {
    const SlotFigures f = index.slot_figures(slot), g = other.slot_figures(slot);
    CHECK(index.enumerate(slot) == other.enumerate(slot));
    CHECK(f.mode == g.mode && f.capacity == g.capacity && f.ttl_ms == g.ttl_ms && f.degraded == g.degraded);
    CHECK(f.resident == g.resident && f.last_store_ms == g.last_store_ms && f.expired == g.expired);
    CHECK(f.evicted_by_capacity == g.evicted_by_capacity && f.evicted_by_bound == g.evicted_by_bound);
    CHECK(g.pinned == (pins ? f.pinned : 0));
  }
  const IndexStats s = index.stats(), t = other.stats();
  CHECK(s.blocks == t.blocks && s.sessions == t.sessions && s.orphans == t.orphans);
  CHECK(s.duplicates == t.duplicates && s.unknown_removes == t.unknown_removes && s.rejected == t.rejected);
  CHECK(s.evicted_by_capacity == t.evicted_by_capacity && s.evicted_by_bound == t.evicted_by_bound);
  CHECK(s.expired == t.expired);
}

/// Feeds both the same, so that stamps, times and copies show.
void check_same_future(Index& index, Index& other, const Zoo& zoo) {
  const auto ref = [&](const Index& x, SlotRef slot) { return SlotRef{slot.slot, x.incarnation(slot.slot)}; };
  for (uint64_t salt = 50; salt < 60; ++salt) {
    for (Index* x : {&index, &other}) {
      store(*x, ref(*x, zoo.bounded), chain(salt, 2), 32);
      if (salt == 50) CHECK(x->expire(80) == 8);
      remove(*x, ref(*x, zoo.counted), part(zoo.a, 0, 4));
      store(*x, ref(*x, zoo.plain), chain(salt + 100, 40));
      CHECK(x->known_blocks() <= 1000);
    }
    check_same_figures(index, other, false);
  }
}

void compact_keeps_all_of_it() {
  Zoo zoo, twin;
  zoo.index.compact();
  CHECK(zoo.index.validate() == "");
  check_same_figures(twin.index, zoo.index, true);
  CHECK(zoo.index.evicted_by(zoo.bounded.slot, zoo.a[7]) == Cause::kCapacity);
  for (Zoo* z : {&zoo, &twin}) unpin(z->index, z->bounded, z->b);
  check_same_future(twin.index, zoo.index, zoo);
}

void a_snapshot_keeps_all_but_pins_and_history() {
  Zoo zoo;
  const std::vector<uint8_t> bytes = zoo.index.snapshot();
  Index other(IndexOptions{.max_blocks = 1000, .evicted_history = 100});
  CHECK(other.restore(bytes) == "");
  CHECK(other.validate() == "");
  check_same_figures(zoo.index, other, false);
  CHECK(zoo.index.evicted_by(zoo.bounded.slot, zoo.a[7]) == Cause::kCapacity);
  CHECK(other.evicted_by(zoo.bounded.slot, zoo.a[7]) == Cause::kNone);
  unpin(zoo.index, zoo.bounded, zoo.b);
  check_same_future(zoo.index, other, zoo);
}

void a_snapshot_is_restored_under_another_bound() {
  Zoo zoo;
  const std::vector<uint8_t> bytes = zoo.index.snapshot();
  Index unbounded, tight(IndexOptions{.max_blocks = 10});
  CHECK(unbounded.restore(bytes) == "");
  CHECK(unbounded.validate() == "" && unbounded.known_blocks() == 1000);
  CHECK(tight.restore(bytes) == "");
  CHECK(tight.validate() == "" && tight.known_blocks() == 10);
  // The last call was own(c): its head is the newest.
  for (size_t i = 0; i < 10; ++i) CHECK(tight.contains(zoo.c[i]));
  CHECK(tight.stats().evicted_by_bound == zoo.index.stats().evicted_by_bound + 990);
  CHECK(tight.restore(unbounded.snapshot()) == "");
  CHECK(tight.validate() == "" && tight.known_blocks() == 10);
}

void an_emptied_index_is_the_empty_index() {
  Zoo zoo;
  Index& index = zoo.index;
  index.end_session(zoo.session);
  for (const SlotRef slot : {zoo.bounded, zoo.counted, zoo.plain}) {
    CHECK(index.remove_slot(slot) == Status::kOk);
    CHECK(index.validate() == "");
  }
  CHECK(index.stats().used_bytes ==
        Index(IndexOptions{.max_blocks = 1000, .evicted_history = 100}).stats().used_bytes);
  index.compact();
  CHECK(index.stats().reserved_bytes <= 2 * std::max<uint64_t>(index.stats().used_bytes, 1));
}

}  // namespace

int main() {
  stamps_pins_and_counts_survive_splits_and_merges();
  compact_keeps_all_of_it();
  a_snapshot_keeps_all_but_pins_and_history();
  a_snapshot_is_restored_under_another_bound();
  an_emptied_index_is_the_empty_index();
  std::printf("bounds_kept_test: passed\n");
}
