// SPDX-License-Identifier: GPL-3.0-or-later
// What travels of the gradient: with compression other bytes than those of its buckets, in one
// collective of a bucket or in two.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/experiment/buckets.h"

namespace trainyard::experiment {

// What one collective of a bucket works on.
struct Payload {
  collective::Collective collective = collective::Collective::all_reduce;  // or all_gather
  base::DType dtype = base::DType::fp32;
  std::int64_t elements = 0;  // on every rank; of all_gather those of all ranks, equally many each

  std::int64_t bytes() const { return elements * base::size_of(dtype); }
};

// Whether gradients are compressed: several ranks reduce them, and that is asked for.
bool compresses(const Resolved& experiment);

// In the order in which they are carried out; the second is the other matrices of power_sgd.
std::vector<Payload> payloads(const Resolved& experiment, const Bucket& bucket);

// How many times smaller a rank's gradient is encoded, and how many times less all ranks send of
// gradients, by the algorithm, than they would without compression. What is summed is sent as many
// times less as it is smaller. What is gathered is not: of n ranks each sends n - 1 parts where an
// all-reduce sends 2 (n - 1) / n of the whole, so that by ring or direct sent = encoded 2 / n.
struct Savings {
  double encoded = 1;
  std::optional<double> sent;  // another engine does not say what it sends
  bool operator==(const Savings&) const = default;
};
std::optional<Savings> savings(const Resolved& experiment);  // nothing where nothing is compressed
std::string savings_said(
    const Savings& savings);  // "encoded 3.98x smaller, sent 1.99x less than uncompressed"

// Compression that does not go with the rest: fp64, or an algorithm that only adds up.
base::Problems compression_problems(const Experiment& experiment);

}  // namespace trainyard::experiment
