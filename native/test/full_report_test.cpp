// Full reports, and slots that count the copies of a block.
#include <cstdio>

#include "test/feeding.hpp"

namespace {

using namespace kvidx;

void the_last_copy_makes_the_block_go() {
  Index index;
  const SlotRef slot = counted_slot(index);
  const Path a = chain(1, 4);
  store(index, slot, a);
  const FeedResult again = store(index, slot, part(a, 0, 2));
  CHECK(again.applied == 0 && again.duplicate == 2);
  CHECK(remove(index, slot, a).applied == 4 && holds(index, slot, part(a, 0, 2)));
  const FeedResult r = remove(index, slot, {a[0], a[0], a[1]});
  CHECK(r.applied == 2 && r.unknown == 1 && r.first_bad == 1 && holds(index, slot, {}));
}

void a_full_report_is_no_store() {
  Index index;
  const SlotRef slot = counted_slot(index);
  const Path a = chain(1, 4), b = chain(2, 3);
  store(index, slot, a);
  store(index, slot, a);
  const FeedResult r = replace(index, slot, {part(a, 0, 2), part(a, 0, 3), {}, b}, 7);
  CHECK(r.applied == 3 && r.duplicate == 0 && r.rejected == 0 && r.first_bad == -1 && r.evicted == 0);
  CHECK(index.stats().duplicates == 4 && index.slot_figures(slot.slot).last_store_ms == 7);
  CHECK(holds(index, slot, joined(part(a, 0, 3), b)));
  CHECK(remove(index, slot, joined(a, b)).applied == 6 && holds(index, slot, {}));
}

void a_chain_that_lies_is_left_out_of_a_full_report() {
  Index index;
  const SlotRef slot = index.add_slot();
  const Path a = chain(1, 4), b = chain(2, 3);
  store(index, slot, a);
  pin(index, slot, a);
  const FeedResult r = replace(index, slot, {b, {a[2], a[3]}, part(a, 0, 2), {a[1]}});
  CHECK(r.applied == 3 && r.rejected == 3 && r.first_bad == 1 && r.orphaned == 0);
  CHECK(holds(index, slot, joined(part(a, 0, 2), b)) && index.slot_figures(slot.slot).pinned == 2);
  CHECK(index.stats().rejected == 3 && index.stats().unknown_removes == 0);
  CHECK(replace(index, slot, {}, 9).applied == 0 && index.known_blocks() == 0);
  CHECK(index.slot_figures(slot.slot).last_store_ms == 9);
}

void a_full_report_stamps_chain_by_chain() {
  Index index;
  const SlotRef slot = bounded_slot(index, 4);
  const Path a = chain(1, 3), b = chain(2, 3);
  store(index, slot, part(a, 0, 1));
  const FeedResult r = replace(index, slot, {a, b});
  CHECK(r.applied == 3 && r.rejected == 2 && r.evicted == 0 && r.first_bad == -1);
  CHECK(holds(index, slot, joined(part(a, 0, 1), b)));
}

}  // namespace

int main() {
  the_last_copy_makes_the_block_go();
  a_full_report_is_no_store();
  a_chain_that_lies_is_left_out_of_a_full_report();
  a_full_report_stamps_chain_by_chain();
  std::printf("full_report_test: passed\n");
}
