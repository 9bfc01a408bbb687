// Trace rows whole, cut and mutated, each in a buffer of exactly its size: under AddressSanitizer a read
// beyond the line ends the program.
#include "core/trace_row.hpp"

#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "check.hpp"

using kvidx::RowScan;
using kvidx::RowStatus;

namespace {

struct Answer {
  RowScan scan;
  std::vector<uint64_t> ids;
};

Answer scan(std::string_view text, size_t room = 16) {
  const std::vector<uint8_t> line(text.begin(), text.end());
  Answer answer{{}, std::vector<uint64_t>(room)};
  answer.scan = kvidx::scan_trace_row(line, answer.ids);
  CHECK(answer.scan.error_at <= line.size());
  if (answer.scan.status == RowStatus::kOk) {
    CHECK(answer.scan.array_start < answer.scan.array_end && answer.scan.array_end < line.size());
    CHECK(line[answer.scan.array_start] == '[' && line[answer.scan.array_end - 1] == ']');
    if (answer.scan.id_count < room) answer.ids.resize(answer.scan.id_count);
  }
  return answer;
}

void whole_rows() {
  const Answer plain =
      scan(R"({"a":{"hash_ids":[9]},"hash_ids":[ 1,22, 333 ,-1,18446744073709551615],"b":"]"})");
  CHECK(plain.scan.status == RowStatus::kOk);
  CHECK((plain.ids == std::vector<uint64_t>{1, 22, 333, ~uint64_t{0}, ~uint64_t{0}}));

  const Answer cramped = scan(R"({"hash_ids":[1,2,3,4,5,6,7,8,9]})", 3);
  CHECK(cramped.scan.id_count == 9 && (cramped.ids == std::vector<uint64_t>{1, 2, 3}));

  CHECK(scan("{}").scan.status == RowStatus::kNoMember);
  CHECK(scan(R"({"hash_ids":[1.0]})").scan.status == RowStatus::kBadIds);
  CHECK(scan(R"({"hash_ids":[18446744073709551616]})").scan.status == RowStatus::kBadIds);
  CHECK(scan(R"({"hash_ids":[-9223372036854775809]})").scan.status == RowStatus::kBadIds);
  CHECK(scan(R"({"hash_ids":[],"hash_ids":[]})").scan.status == RowStatus::kDuplicate);
  CHECK(scan("").scan.status == RowStatus::kNoObject);
}

void every_width() {
  for (size_t repeat = 1; repeat < 12; ++repeat) {
    std::string text = "{\"hash_ids\":[";
    std::vector<uint64_t> expected;
    for (size_t digits = 1; digits <= 19; ++digits) {
      for (size_t i = 0; i < repeat; ++i) {
        const std::string number = std::string("9182736450918273645").substr(0, digits);
        text += (expected.empty() ? "" : ",") + number;
        expected.push_back(std::stoull(number));
      }
    }
    CHECK(scan(text + "]}", 400).ids == expected);
  }
}

void cut_and_mutated_rows() {
  const std::string_view base =
      R"({"chat_id":1,"x":"a\"b","hash_ids":[1,23,456,7890123,12345678,-5,18446744073709551615],"y":[{}]})";
  for (size_t cut = 0; cut < base.size(); ++cut) {
    CHECK(scan(base.substr(0, cut)).scan.status == RowStatus::kNoObject);
  }
  std::mt19937 random(1);
  constexpr std::string_view kBytes = "{}[],:\"\\ 0123456789-.eE\tx";
  for (int round = 0; round < 300'000; ++round) {
    std::string text(base);
    for (unsigned n = 1 + random() % 4; n > 0; --n)
      text[random() % text.size()] = kBytes[random() % kBytes.size()];
    text.resize(text.size() - random() % 3 * (random() % 20));
    scan(text, random() % 8);
  }
}

}  // namespace

int main() {
  whole_rows();
  every_width();
  cut_and_mutated_rows();
  std::puts("trace rows: ok");
}
