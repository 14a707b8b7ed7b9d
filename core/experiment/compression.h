// SPDX-License-Identifier: GPL-3.0-or-later
// Payloads of the collectives that reduce gradient buckets. With compression, a payload has fewer
// bytes than its bucket, and a bucket may need two collectives.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/experiment/buckets.h"

namespace trainyard::experiment {

// Payload of one of the collectives that reduce a bucket.
struct Payload {
  // all_reduce or all_gather.
  collective::Collective collective = collective::Collective::all_reduce;
  base::DType dtype = base::DType::fp32;
  // Number of elements on every rank. For all_gather: the sum over all ranks, each of which has an
  // equal part.
  std::int64_t elements = 0;

  std::int64_t bytes() const { return elements * base::size_of(dtype); }
};

// True if the experiment requests compression and several ranks reduce gradients.
bool compresses(const Resolved& experiment);

// Returns the payloads of a bucket in execution order. Only power_sgd has a second payload: the
// right matrices of its low-rank factors.
std::vector<Payload> payloads(const Resolved& experiment, const Bucket& bucket);

// Compression ratios, relative to no compression. `encoded`: ratio for the size of a rank's encoded
// gradient. `sent`: ratio for the gradient bytes that all ranks send. For all-reduced encodings
// both are equal. For gathered encodings each of n ranks sends n - 1 parts, while an all-reduce
// sends 2 (n - 1) / n of the full gradient. So with ring or direct, sent = encoded 2 / n.
struct Savings {
  double encoded = 1;
  std::optional<double> sent;  // Unset for engines other than own, which do not report sent bytes.
  bool operator==(const Savings&) const = default;
};
// Returns the compression ratios; nothing if gradients are not compressed.
std::optional<Savings> savings(const Resolved& experiment);
// Returns a text such as "encoded 3.98x smaller, traffic 1.99x less than uncompressed".
std::string savings_line(const Savings& savings);

// Returns a problem if compression conflicts with another setting: with fp64, with a strategy that
// does not all-reduce gradients, or with an algorithm that supports only all-reduce.
base::Problems compression_problems(const Experiment& experiment);

}  // namespace trainyard::experiment
