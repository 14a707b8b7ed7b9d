// SPDX-License-Identifier: GPL-3.0-or-later
// Cost of preparing 4,096 digits for a step: as bytes, as a GPU takes them; as numbers; and copying
// the same number of bytes. The three alternate, so that all meet the same load; prints the best of
// each.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "core/base/clock.h"
#include "core/data/dataset.h"
#include "core/data/input_pipeline.h"

namespace {

using namespace trainyard;

constexpr std::int64_t kSamples = 4096, kTurns = 60;

struct Best {
  double nanoseconds = 1e18;
  template <class Work>
  void of(const Work& work) {
    const std::int64_t begin = base::now_nanoseconds();
    work();
    nanoseconds = std::min(nanoseconds, static_cast<double>(base::now_nanoseconds() - begin));
  }
};

data::MicroBatch taken_at(std::int64_t turn) {
  data::MicroBatch taken;
  for (std::int64_t i = 0; i < kSamples; ++i)
    taken.indices.push_back((i * 5'003 + turn * 17) % (2 * kSamples));  // no neighbors
  taken.own = kSamples;
  return taken;
}

}  // namespace

int main() {
  data::DataSpec spec;
  spec.train_samples = 2 * kSamples, spec.held_out_samples = 0;
  const auto digits = data::open(spec, "").value();
  const auto make_room = [](std::int64_t bytes) {
    return std::shared_ptr<std::byte>(new std::byte[static_cast<std::size_t>(bytes)],
                                      std::default_delete<std::byte[]>());
  };
  const auto size = static_cast<std::size_t>(kSamples * digits->summary().features());
  std::vector<std::byte> from(size), to(size);
  data::Batch numbers, bytes;
  Best as_numbers, as_bytes, copied;
  for (std::int64_t turn = 0; turn < kTurns; ++turn) {
    const data::MicroBatch taken = taken_at(turn);
    as_numbers.of([&] { data::fill(*digits, taken, numbers); });
    as_bytes.of([&] { data::fill(*digits, taken, bytes, make_room); });
    copied.of([&] { std::memcpy(to.data(), from.data(), size); });
  }
  std::printf(
      "%lld digits: %.2f ms as bytes, %.1f times faster than as numbers (%.2f ms); %.2f times a "
      "copy of them (%.2f ms)\n",
      static_cast<long long>(kSamples), as_bytes.nanoseconds / 1e6,
      as_numbers.nanoseconds / as_bytes.nanoseconds, as_numbers.nanoseconds / 1e6,
      as_bytes.nanoseconds / copied.nanoseconds, copied.nanoseconds / 1e6);
}
