// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/exchange/exchange.h"

#include "core/base/clock.h"

namespace trainyard::run {

Exchange::Exchange() { under_way_.reserve(128); }

void Exchange::start(const BoundOp& op, const plan::Frontier::Ready& ready) {
  const std::int64_t now = base::now_nanoseconds();
  under_way_.push_back({&op, ready, now, now, false, op.bytes_moved(), 0});
}

base::Result<bool> Exchange::poll(std::vector<Transfer>& done, std::int64_t& busy_ns) {
  bool moved = false;
  std::size_t kept = 0;
  ++pass_;
  for (std::size_t i = 0; i < under_way_.size(); ++i) {
    const bool was_posted = under_way_[i].posted;
    const auto complete = advance(under_way_[i], busy_ns);
    if (!complete) return failed_ = i, base::fail(complete.error());
    moved = moved || *complete || under_way_[i].posted != was_posted;
    if (*complete) done.push_back(under_way_[i]);
    else under_way_[kept++] = under_way_[i];
  }
  under_way_.resize(kept);
  return moved;
}

}  // namespace trainyard::run
