// Sessions, and what they own. Ownership is global, not per slot. Every own starts at the root, so in each run a session
// owns a prefix; where a bound has taken a block out of the middle, the run was parted there.
#include <algorithm>
#include <functional>

#include "core/index.hpp"

namespace kvidx {

uint32_t Index::own(uint32_t session, SeqSpan seq, double now_ms, FeedResult& result) {
  result = {};
  const bool known = session != 0 && session < sessions_.size() && sessions_[session].live;
  if (seq.empty()) return known ? session : 0;
  if (!place(seq, Parent::root())) {
    reject(seq, Parent::root(), result);
    return known ? session : 0;
  }
  uint32_t opened = 0;
  try {  // whatever may fail for want of memory, before anything changes
    if (!known) session = opened = open_session();
    sessions_[session].runs.reserve_more(placed_.size());
    for (const Placed& p : placed_) prepare_own(runs_[p.run], session, {p.at, p.end()});
    newcomers_.clear();
    if (bounds_all()) {
      newcomers_.reserve(placed_.size());
      prepare_stamps(kEverybody);
    }
  } catch (...) {
    roll_back(seq);
    if (opened != 0) close_session(opened);
    throw;
  }
  settle(seq, Parent::root());
  for (const Placed& p : placed_) {
    bool came = false;
    const uint64_t fresh = own_range(runs_[p.run], session, {p.at, p.end()}, came);
    if (came) sessions_[session].runs.gained(p.run);
    result.applied += fresh;
    if (bounds_all() && fresh > 0) newcomers_.push_back({p.i + p.n - fresh, p.i + p.n});
  }
  result.duplicate = seq.size() - result.applied;
  sessions_[session].owned += result.applied;
  touch(session, now_ms);
  Call call{result};
  call.n = seq.size();
  call.base = take_stamps(call.n);
  if (bounds_all()) stamp_placed(kEverybody, call.base, call.n, 0);
  merge_placed(seq, Parent::root());
  prune_if_overgrown(sessions_[session].runs, &Run::owners, session);
  if (options_.max_sessions != 0 && live_sessions_ > options_.max_sessions) {
    result.ended_session = oldest_;
    end_session(oldest_);
  }
  enforce(call);
  return session;
}

/// Makes room for own_range().
void Index::prepare_own(Run& run, uint32_t session, Range range) {
  // The one owner's step, and a known and a fresh stretch of the call in this run.
  constexpr uint32_t kMostNewSteps = 1 + 2 * OwnerSteps::kMostNew;
  run.owners.prepare_add(session, range.begin, range.end);
  const bool alone = run.owners.empty() || (run.owners.size() == 1 && run.owners.has(session));
  if (!alone) run.steps.reserve(static_cast<uint32_t>(run.steps.view().size()) + kMostNewSteps);
}

/// Owns [range) of a run on top of what the session owns there; answers how many blocks are new to it.
uint64_t Index::own_range(Run& run, uint32_t session, Range range, bool& came) {
  const auto had = run.owners.of(session);
  const Pos from = had.empty() ? range.begin : std::max(range.begin, had.front().end);
  if (from >= range.end) return 0;
  if (run.owners.size() > 1) {
    run.steps.apply(session, true, run.first, from, range.end);
  } else if (run.owners.size() == 1 && had.empty()) {
    run.each_step([&](const OwnerStep& only) { run.steps.append(only); });
    run.steps.apply(session, true, run.first, from, range.end);
  }
  came = run.owners.add(session, from, range.end).edge;
  return static_cast<uint64_t>(range.end - from);
}

/// Nobody owns the blocks of `range` any more, nor those behind it: who owned some of these is told, for attach_owners().
void Index::disown(uint32_t id, Range range, std::vector<Interval>& behind, std::vector<OwnerStep>& steps) {
  Run& run = runs_[id];
  IntervalList stay;
  OwnerSteps stay_steps;
  run.each_step([&](const OwnerStep& step) {
    if (step.end > range.end) steps.push_back(step);
    if (stay_steps.view().empty() ? run.first < range.begin : stay_steps.view().back().end < range.begin)
      stay_steps.append({step.count, step.owners_xor, std::min(step.end, range.begin)});
  });
  for (const Interval& v : run.owners.view()) {
    Session& session = sessions_[v.id];
    if (v.end > range.begin) session.owned -= static_cast<uint64_t>(v.end - range.begin);
    if (v.end > range.end) behind.push_back({v.id, range.end, v.end});
    if (range.begin > run.first) {
      stay.append({v.id, run.first, std::min(v.end, range.begin)});
    } else {
      session.runs.lost();
    }
  }
  if (stay.size() < 2) stay_steps.clear();
  run.owners = std::move(stay);
  run.steps = std::move(stay_steps);
}

/// Gives a run that nobody owns its owners, in the positions of the run that they were in; the run's blocks begin with theirs.
void Index::attach_owners(uint32_t id, std::span<const Interval> owners, std::span<const OwnerStep> steps) {
  Run& run = runs_[id];
  if (owners.empty()) return;
  const int delta = run.first - owners.front().begin;
  const auto moved = [delta](Pos at) { return pos(static_cast<uint64_t>(at + delta)); };
  for (const Interval& v : owners) {
    run.owners.append({v.id, moved(v.begin), moved(v.end)});
    sessions_[v.id].owned += static_cast<uint64_t>(v.end - v.begin);
    sessions_[v.id].runs.gained(id);
  }
  if (owners.size() < 2) return;
  for (const OwnerStep& step : steps) run.steps.append({step.count, step.owners_xor, moved(step.end)});
}

uint64_t Index::end_session(uint32_t number) {
  if (number == 0 || number >= sessions_.size() || !sessions_[number].live) return 0;
  unlink(number);
  const Session ended = std::exchange(sessions_[number], Session{});
  close_session(number);
  for (const uint32_t id : ended.runs.ids()) {
    if (id >= runs_.used()) continue;
    Run& run = runs_[id];
    const auto had = run.owners.of(number);
    if (had.empty()) continue;
    const Range range{had.front().begin, had.front().end};
    run.owners.subtract(number, range.begin, range.end);
    if (run.owners.size() > 1) {
      run.steps.apply(number, false, run.first, range.begin, range.end);
    } else {
      run.steps.clear();
    }
    bury_uncovered(id, range);
  }
  return ended.owned;
}

std::vector<uint32_t> Index::end_idle_sessions(double cutoff_ms) {
  std::vector<uint32_t> ended;
  for (uint32_t number = 1; number < sessions_.size(); ++number) {
    if (sessions_[number].live && sessions_[number].last_own_ms <= cutoff_ms) ended.push_back(number);
  }
  for (const uint32_t number : ended) end_session(number);
  return ended;
}

std::vector<uint32_t> Index::session_numbers() const {
  std::vector<uint32_t> numbers;
  for (uint32_t number = oldest_; number != 0; number = sessions_[number].newer) numbers.push_back(number);
  return numbers;
}

uint32_t Index::open_session() {
  uint32_t number = static_cast<uint32_t>(sessions_.size());
  if (free_sessions_.empty()) {
    sessions_.emplace_back();
    try {
      free_sessions_.reserve(sessions_.capacity());  // so that close_session() cannot fail
    } catch (...) {
      sessions_.pop_back();
      throw;
    }
  } else {
    std::pop_heap(free_sessions_.begin(), free_sessions_.end(), std::greater<>());
    number = free_sessions_.back();
    free_sessions_.pop_back();
  }
  sessions_[number].live = true;
  ++live_sessions_;
  return number;
}

void Index::close_session(uint32_t number) {
  sessions_[number] = Session{};
  --live_sessions_;
  free_sessions_.push_back(number);
  std::push_heap(free_sessions_.begin(), free_sessions_.end(), std::greater<>());
}

/// The session owns most recently from now on.
void Index::touch(uint32_t number, double now_ms) {
  sessions_[number].last_own_ms = now_ms;
  if (number == newest_) return;
  unlink(number);
  sessions_[number].older = newest_;
  (newest_ == 0 ? oldest_ : sessions_[newest_].newer) = number;
  newest_ = number;
}

void Index::unlink(uint32_t number) {
  Session& s = sessions_[number];
  if (s.older == 0 && oldest_ != number) return;  // not in the order yet
  (s.older == 0 ? oldest_ : sessions_[s.older].newer) = s.newer;
  (s.newer == 0 ? newest_ : sessions_[s.newer].older) = s.older;
  s.older = s.newer = 0;
}

}  // namespace kvidx
