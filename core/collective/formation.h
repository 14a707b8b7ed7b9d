// SPDX-License-Identifier: GPL-3.0-or-later
// How the members of a group stand: which of them share a host, and the grid that they form.
// Members are named by position.
#pragma once

#include <vector>

namespace trainyard::collective {

struct Formation {
  int members = 1;
  std::vector<std::vector<int>>
      hosts;        // the positions on each host, ascending; hosts by their first position
  int columns = 1;  // of the grid: position = row * columns + column; divides `members`

  int rows() const { return members / columns; }
  bool even() const;  // all hosts hold equally many
  const std::vector<int>& host_of(
      int position) const;  // the positions that share its host, itself included
};

// All on one host; the grid is the one nearest to a square, with no more rows than columns.
Formation formation(int members);

// By position: the number of its host. Where hosts hold equally many, one after the other, a row of
// the grid is a host.
Formation formation(const std::vector<int>& host_of);

}  // namespace trainyard::collective
