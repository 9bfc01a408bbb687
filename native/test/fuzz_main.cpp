// core_fuzz [--seed N] [--operations N] [--verbose] [--shrink FILE] [file …]
//
// Plays random bytes of seed N, N + 1, … until that many operations were done, or the bytes of the files. A
// difference ends the program with status 1. --shrink writes a smaller input that still fails; replay it with
// --verbose.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "test/fuzz_body.hpp"

using kvidx::Difference;
using kvidx::FuzzBody;
using Bytes = std::vector<uint8_t>;

#ifdef KVIDX_LIBFUZZER

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzBody body({data, size});
  if (const auto difference = body.run()) {
    std::fprintf(stderr, "%s\n", difference->text.c_str());
    std::abort();
  }
  return 0;
}

#else

namespace {

constexpr size_t kBytesPerSeed = 12000;

/// Leaves out ever smaller pieces as long as the rest still fails.
Bytes shrunk(Bytes bytes) {
  for (size_t piece = bytes.size() / 2; piece > 0; piece /= 2) {
    for (size_t at = 0; at + piece <= bytes.size();) {
      Bytes fewer = bytes;
      fewer.erase(fewer.begin() + static_cast<ptrdiff_t>(at),
                  fewer.begin() + static_cast<ptrdiff_t>(at + piece));
      if (FuzzBody(fewer).run()) {
        bytes = std::move(fewer);
      } else {
        at += piece;
      }
    }
  }
  return bytes;
}

/// Answers the number of operations, 0 after a difference.
uint64_t play(const Bytes& bytes, const std::string& name, bool verbose, const char* shrink_to) {
  FuzzBody body(bytes, verbose);
  const auto difference = body.run();
  if (!difference) return body.operations() + 1;
  std::fprintf(stderr, "%s, operation %llu: %s\n", name.c_str(),
               static_cast<unsigned long long>(difference->operation), difference->text.c_str());
  if (shrink_to) {
    const Bytes small = shrunk(bytes);
    std::ofstream(shrink_to, std::ios::binary)
        .write(reinterpret_cast<const char*>(small.data()), static_cast<std::streamsize>(small.size()));
    std::fprintf(stderr, "%s: %zu bytes\n", shrink_to, small.size());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t seed = 1;
  uint64_t operations = 300000;
  bool verbose = false;
  const char* shrink_to = nullptr;
  std::vector<const char*> files;
  for (int i = 1; i < argc; ++i) {
    const bool has_value = i + 1 < argc;
    if (std::strcmp(argv[i], "--seed") == 0 && has_value) {
      seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (std::strcmp(argv[i], "--operations") == 0 && has_value) {
      operations = std::strtoull(argv[++i], nullptr, 10);
    } else if (std::strcmp(argv[i], "--shrink") == 0 && has_value) {
      shrink_to = argv[++i];
    } else if (std::strcmp(argv[i], "--verbose") == 0) {
      verbose = true;
    } else {
      files.push_back(argv[i]);
    }
  }
  for (const char* file : files) {
    std::ifstream in(file, std::ios::binary);
    const Bytes bytes{std::istreambuf_iterator<char>(in), {}};
    if (play(bytes, file, verbose, shrink_to) == 0) return 1;
  }
  if (!files.empty()) return 0;
  std::printf("core_fuzz: %llu operations from seed %llu\n", static_cast<unsigned long long>(operations),
              static_cast<unsigned long long>(seed));
  for (uint64_t done = 0; done < operations; ++seed) {
    const uint64_t more =
        play(kvidx::random_bytes(seed, kBytesPerSeed), "seed " + std::to_string(seed), verbose, shrink_to);
    if (more == 0) return 1;
    done += more;
  }
  return 0;
}

#endif
