// The traffic that the fuzz body plays: conversations that grow turn by turn, fork, share boilerplate, and
// now and then meet hashes of the past under another predecessor.
#pragma once

#include <algorithm>
#include <vector>

#include "core/index.hpp"
#include "test/byte_source.hpp"

namespace kvidx {

using Path = std::vector<SeqHash>;

/// A chain as one call tells it.
struct Chain {
  Path seq;
  Parent parent;
};

class World {
 public:
  explicit World(ByteSource& choose)
      : choose_(choose),
        // Few names, so that they come round again while the index still knows them.
        names_(choose.one_of<uint32_t>({24, 64, 512, 4096, 1 << 20})),
        raw_names_(choose.one_in(4)),
        long_(choose.one_in(16)),
        growth_(long_ ? 2500 : choose.one_of<uint32_t>({1, 4, 12, 90})) {
    if (long_) names_ = 1 << 20;
    paths_.push_back(fresh(choose.between(1, growth_)));
  }

  /// Are there runs beyond the 4,096 blocks that the core allows one?
  bool is_long() const { return long_; }

  const Path& pick() { return paths_[choose_.below(paths_.size())]; }

  /// One more turn of a conversation, or a new one: a fork, or one after the common boilerplate.
  const Path& turn() {
    constexpr size_t kPaths = 24;
    const uint32_t kind = choose_.below(8);
    if (kind >= 2) {
      Path& path = paths_[choose_.below(paths_.size())];
      if (path.size() > std::min<size_t>(names_ / 2, 12000)) path.clear();
      append(path, choose_.between(1, growth_));
      return path;
    }
    const Path& from = kind == 0 ? paths_[0] : pick();
    Path path(from.begin(), from.begin() + choose_.below(from.size() + 1));
    append(path, choose_.between(1, growth_));
    if (paths_.size() == kPaths) {
      return paths_[1 + choose_.below(kPaths - 1)] = std::move(path);
    }
    return paths_.emplace_back(std::move(path));
  }

  /// A part of a conversation, told as it is.
  Chain part() {
    const Path& path = pick();
    size_t begin = 0, end = path.size();
    switch (choose_.below(5)) {
      case 0:
        break;
      case 1:
        end = choose_.below(path.size() + 1);
        break;
      case 2:
        begin = choose_.below(path.size());
        break;
      case 3:
        begin = choose_.below(path.size()), end = begin + 1;
        break;
      default:
        begin = choose_.below(path.size()), end = choose_.between(begin, path.size());
    }
    return cut(path, begin, std::min(end, path.size()));
  }

  /// A leading part of a conversation, often all of it.
  Chain head() {
    const Path& path = pick();
    return cut(path, 0, choose_.one_in(2) ? path.size() : choose_.below(path.size() + 1));
  }

  /// The blocks of a path from begin on.
  Chain cut(const Path& path, size_t begin, size_t end) {
    Chain chain;
    chain.seq.assign(path.begin() + static_cast<ptrdiff_t>(begin),
                     path.begin() + static_cast<ptrdiff_t>(end));
    chain.parent = begin == 0 ? Parent::root() : Parent::of(path[begin - 1]);
    if (choose_.one_in(12)) chain.parent = Parent::unknown();
    return chain;
  }

  /// A part that lies about its order, its parent, or a block.
  Chain lie() {
    Chain chain = part();
    Path& seq = chain.seq;
    const size_t at = choose_.below(seq.size());
    switch (choose_.below(7)) {
      case 0:
        chain.parent = Parent::of(any_block());
        break;
      case 1:
        chain.parent = Parent::root();
        break;
      case 2:
        seq.push_back(any_block());
        break;
      case 3:
        if (!seq.empty()) seq[at] = any_block();
        break;
      case 4:
        if (!seq.empty()) std::swap(seq[at], seq[choose_.below(seq.size())]);
        break;
      case 5:
        if (!seq.empty()) chain.parent = Parent::of(seq[at]);
        break;
      default:
        std::rotate(seq.begin(), seq.begin() + static_cast<ptrdiff_t>(at), seq.end());
    }
    return chain;
  }

  SeqHash any_block() {
    const Path& path = pick();
    return choose_.one_in(8) ? name(choose_.below(names_)) : path[choose_.below(path.size())];
  }

  /// Some blocks of a path, in some order.
  Path handful() {
    Path some;
    for (uint32_t n = choose_.below(10); n > 0; --n) some.push_back(any_block());
    return some;
  }

 private:
  void append(Path& path, size_t count) {
    for (; count > 0; --count) path.push_back(name(next_name_++ % names_));
  }
  Path fresh(size_t count) {
    Path path;
    append(path, count);
    return path;
  }
  /// Both ends of the range are legal hashes. Raw names are close together, which tables dislike.
  SeqHash name(uint32_t number) const {
    if (number == 0) return SeqHash{0};
    if (number == 1) return SeqHash{UINT64_MAX};
    return SeqHash{raw_names_ ? number : mixed(number)};
  }

  ByteSource& choose_;
  uint32_t names_;
  bool raw_names_;
  bool long_;
  uint32_t growth_;
  uint32_t next_name_ = 0;
  std::vector<Path> paths_;
};

}  // namespace kvidx
